//! The engine of every adapter: one upstream with its addresses and keys. It asks the upstream
//! within its limits, pauses while the upstream fails, and records its health.

mod ask;
mod breaker;
mod call;
mod conduct;
mod declare;
mod spec;

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use secrecy::SecretString;

use self::breaker::Breaker;
pub(crate) use self::{ask::Ask, call::Fault, declare::upstream};
pub use self::{
    conduct::Conduct,
    spec::{KeyRule, SourceConfig, UpstreamSpec},
};
use crate::{
    budget::{BudgetState, Gate, QuotaSpec, QuotaState, QuotaStore, QuotaStoreError, Quotas, Rate},
    provenance::{Clock, Mode},
    transport::{
        HealthBoard, HealthState, Limits, SourceHealth, Transport, TransportError, Upstream,
    },
};

/// One upstream. Clones share everything.
#[derive(Clone)]
pub struct Source {
    inner: Arc<Inner>,
}

struct Inner {
    spec: &'static UpstreamSpec,
    upstreams: Vec<(&'static str, Upstream)>,
    config: SourceConfig,
    limits: Limits,
    clock: Arc<dyn Clock>,
    /// In the order of [`Families::each`](crate::Families::each).
    families: Vec<FamilyState>,
    quotas: Quotas,
    health: HealthBoard,
}

/// The state that the sources of one limit share.
struct FamilyState {
    gate: Gate,
    breaker: Breaker,
}

impl Source {
    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] when an address or a key cannot be used.
    pub fn new(
        transport: &Transport,
        spec: &'static UpstreamSpec,
        config: SourceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let mut limits = spec.limits;
        limits.timeout = config.timeout.unwrap_or(limits.timeout);
        Self::limited(transport, spec, config, limits, clock)
    }

    /// [`Self::new`] with limits that replace those of `spec`.
    pub(crate) fn limited(
        transport: &Transport,
        spec: &'static UpstreamSpec,
        config: SourceConfig,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let upstream = |&(key, public): &(&'static str, &'static str)| {
            let url = config.urls.get(key).map_or(public, String::as_str);
            Ok((key, transport.upstream(url)?))
        };
        let upstreams = spec.urls.iter().map(upstream).collect::<Result<_, _>>()?;
        Ok(Self::over(upstreams, spec, config, limits, clock))
    }

    /// A source at one endpoint: `url` is the whole address, and may carry a key.
    pub(crate) fn endpoint(
        transport: &Transport,
        spec: &'static UpstreamSpec,
        url: &str,
        mode: Mode,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let upstreams = vec![("", transport.endpoint(url)?)];
        let config = SourceConfig {
            mode,
            ..SourceConfig::default()
        };
        Ok(Self::over(upstreams, spec, config, limits, clock))
    }

    fn over(
        upstreams: Vec<(&'static str, Upstream)>,
        spec: &'static UpstreamSpec,
        config: SourceConfig,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> Self {
        // A recording has no limits.
        let live = config.mode == Mode::Live;
        let family = |(name, rate): (&'static str, Option<Rate>)| {
            let name = match name {
                "" => spec.name.to_owned(),
                name => format!("{}.{name}", spec.name),
            };
            let rate = rate.filter(|_| live);
            let rate = rate.map(|rate| rate.divided(config.servers));
            FamilyState {
                gate: Gate::new(name, rate, config.reserved_percent, clock.clone()),
                breaker: Breaker::default(),
            }
        };
        let addresses = spec.urls.iter().map(|(key, _)| *key);
        let limited = spec.families.each(addresses);
        let mut families: Vec<_> = limited
            .map(|(name, rate)| family((name, Some(rate))))
            .collect();
        if families.is_empty() {
            // No budget limits it, but the upstream may still ask for a pause.
            families.push(family(("", None)));
        }
        let quota = QuotaSpec {
            daily: config.daily_quota.unwrap_or(spec.quota.daily),
            monthly: config.monthly_quota.unwrap_or(spec.quota.monthly),
        };
        let quota = if live { quota } else { QuotaSpec::NONE };
        let quota = match config.quotas_are_shared {
            true => quota,
            false => quota.divided(config.servers),
        };
        let quotas = Quotas::new(spec.name, quota, config.reserved_percent, clock.clone());
        Self {
            inner: Arc::new(Inner {
                spec,
                upstreams,
                config,
                limits,
                clock,
                families,
                quotas,
                health: HealthBoard::default(),
            }),
        }
    }

    /// The addresses, limits and quotas of the upstream.
    pub fn spec(&self) -> &'static UpstreamSpec {
        self.inner.spec
    }

    /// Whether answers come from the upstream or from a recording.
    pub fn mode(&self) -> Mode {
        self.inner.config.mode
    }

    /// The reason why the upstream is not asked at all; `None` if it may be asked.
    pub fn disabled(&self) -> Option<&'static str> {
        let config = &self.inner.config;
        if !config.enabled {
            return Some("switched off in the configuration");
        }
        let keyless = self.inner.spec.key == KeyRule::Required
            && config.api_key.is_none()
            && config.mode == Mode::Live;
        keyless.then_some("no api key")
    }

    /// The health of each of its sources, with the remaining budgets and quotas that they share. A
    /// source with several addresses shows the address with the least left.
    pub fn health(&self) -> Vec<SourceHealth> {
        let now = self.now();
        let disabled = self.disabled();
        let quota = self.inner.quotas.state();
        let of = |source: &&'static str| {
            let families = || self.families_of(source);
            let budgets = families().filter_map(|family| family.gate.state());
            let budget = budgets.min_by_key(|budget| budget.left);
            let mut health = self.inner.health.of(source, now).within(budget.as_ref());
            health.quota_left = quota.map(|quota| quota.left);
            health.quota_resets_at = quota.map(|quota| quota.resets_at);
            if families().any(|family| family.gate.is_unpaid()) {
                health.state = HealthState::PaymentRequired;
            }
            if let Some(reason) = disabled {
                health.state = HealthState::Disabled;
                health.reason = Some(reason.to_owned());
            }
            health
        };
        self.inner.spec.sources.iter().map(of).collect()
    }

    /// The remaining budget of each of its families; empty for a recording.
    pub fn budget(&self) -> Vec<BudgetState> {
        let families = self.inner.families.iter();
        families.filter_map(|family| family.gate.state()).collect()
    }

    /// The remaining quota; of two quotas, the one with fewer calls left.
    pub fn quota(&self) -> Option<QuotaState> {
        self.inner.quotas.state()
    }

    /// From now on, keeps the counters of its quotas and the use of its budgets of a minute or
    /// longer in `store`, and continues from the stored values. Before this call they are counted
    /// in memory. Budgets are also kept in memory, so a failing store stops no call because of a
    /// budget.
    ///
    /// # Errors
    ///
    /// The error of the store. Calls that a quota covers are refused until the store works again.
    pub async fn keep_limits(&self, store: Arc<dyn QuotaStore>) -> Result<(), QuotaStoreError> {
        for family in &self.inner.families {
            family.gate.keep_in(store.clone()).await?;
        }
        self.inner.quotas.keep_in(store).await
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.inner.clock.clone()
    }

    /// The key, if there is one.
    pub(crate) fn api_key(&self) -> Option<&SecretString> {
        self.inner.config.api_key.as_ref()
    }

    /// The operator's choice under `key`.
    pub(crate) fn option(&self, key: &str) -> Option<&str> {
        self.inner.config.options.get(key).map(String::as_str)
    }

    pub(crate) fn secret_key(&self) -> Option<&SecretString> {
        self.inner.config.secret_key.as_ref()
    }

    /// The families of a source's calls.
    fn families_of(&self, source: &str) -> impl Iterator<Item = &FamilyState> {
        let addresses = 0..self.inner.upstreams.len();
        let mut places: Vec<usize> = addresses
            .map(|address| self.inner.spec.families.of(source, address))
            .collect();
        places.dedup();
        places
            .into_iter()
            .filter_map(|place| self.inner.families.get(place))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.inner.spec.name)
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}
