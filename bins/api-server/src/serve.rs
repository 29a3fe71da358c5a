//! Composition: from a configuration to a running server.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use alloy_primitives::Address;
use credit::{Cost, Refill, Rules};
use custody::{Custody, CustodyError, Guarded, LocalCustody, SigningPolicy};
use custody_turnkey::TurnkeyCustody;
use data_sources::{Clock, SystemClock};
use fence_sending::Sendings;
use fence_server::Delegations;
use gas_funding::GasFunding;
use http_edge::{Drained, Server, announce, shutdown_signal};
use ledger::{Allowance, Journal, SqliteLedger};
use route_catalog::{Catalog, CatalogConfig, Offering};
use settlement::{
    AnySettler, ChainOptions, GasPolicy, OkxCredentials, SettlementConfig, Settler, Timeouts,
};
use storage::sqlite::path_of;
use storage::{SqliteStore, StoreOptions};
use tx_sender::{SqliteStore as TransactionRecords, TransactionSigner};
use watch_server::{Checks, Mover, Pace, SqliteStore as MandateStore, Watcher};
use x402_wire::Terms;

use crate::Sources;
use crate::api::{Api, Operations};
use crate::config::{
    Config, CreditSection, DelegationSection, Problem, SettlementMode, SettlementSection,
};
use crate::delegation::{self, Endpoints, Routes};
use crate::error::ServeError;
use crate::observe;
use crate::offering::offering;
use crate::payment::{CreditPolicy, PaymentPolicy, PaymentProcessor};
use crate::signing;
use crate::wallets::{self, Sending};

/// What a server is composed of, for those who bring their own parts.
pub struct Parts<S, J> {
    /// Who settles.
    pub settler: S,
    /// The payment journal.
    pub journal: J,
    /// The upstreams.
    pub sources: Sources,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// A server that listens.
pub struct Service<S, J> {
    server: Server,
    api: Api<S, J>,
    /// Sends the plans that were ordered.
    sendings: Option<Sendings>,
    /// Checks mandates, where yields are gathered.
    watcher: Option<Watcher>,
    processor: PaymentProcessor<S, J, Operations>,
    sources: Arc<Sources>,
    /// Time between two probes of each upstream.
    probe_every: Option<Duration>,
    reconcile_every: Duration,
    /// From the signal to the end: the drain time, then the grace.
    closing_time: Duration,
}

impl Service<AnySettler, SqliteLedger> {
    /// Opens what a configuration names, and listens.
    ///
    /// # Errors
    /// A [`ServeError`] that names the key. A facilitator, broker or RPC that is down is not one.
    pub async fn open(config: &Config) -> Result<Self, ServeError> {
        Self::open_at(config, Arc::new(SystemClock)).await
    }

    /// The same with a signer of the program's own: settlement is `onchain`, the configuration
    /// names no key, and `settlement.gas_account` is the signer's account.
    ///
    /// # Errors
    /// As [`Self::open`], and [`ServeError::Signer`].
    pub async fn open_signed_by(
        config: &Config,
        signer: Arc<dyn TransactionSigner>,
    ) -> Result<Self, ServeError> {
        check_signer(&config.settlement, signer.account())?;
        let signer = Some(signer);
        Box::pin(Self::open_as(config, signer, Arc::new(SystemClock))).await
    }

    /// [`Self::open`] with a clock of its own for the data: recorded answers are of the time of
    /// their recording.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_at(config: &Config, data_clock: Arc<dyn Clock>) -> Result<Self, ServeError> {
        check_key(&config.settlement)?;
        Box::pin(Self::open_as(config, None, data_clock)).await
    }

    /// Its future is large: callers box it, so that theirs and their stack frames stay small.
    async fn open_as(
        config: &Config,
        signer: Option<Arc<dyn TransactionSigner>>,
        data_clock: Arc<dyn Clock>,
    ) -> Result<Self, ServeError> {
        let terms = config.payment.terms().ok_or(ServeError::NoPayee)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        // Reading the system's certificates takes longer than everything else, and each client
        // reads them.
        let sources = {
            let config = config.clone();
            tokio::task::spawn_blocking(move || Sources::connect(&config, data_clock))
        };
        let storage = &config.storage;
        let journal = SqliteLedger::open(&storage.url, ledger_options(config))?;
        let options = StoreOptions {
            max_artifact_bytes: storage.artifact_max_bytes,
        };
        let store = SqliteStore::beside(&storage.url, options)?;
        let mut settlement = settlement_config(config);
        settlement.signer = signer.or(settlement.signer);
        if settlement.mode == settlement::Mode::Onchain {
            // Beside the ledger, which this server has claimed for itself.
            let path = path_of(&storage.url).map_err(ServeError::Records)?;
            let path = path.with_extension("sender.db");
            let records = TransactionRecords::open(path).map_err(ServeError::Records)?;
            settlement.records = Some(Arc::new(records));
        }
        // The settler's series exist from here on.
        observe::metrics();
        observe::count_tolerated_of(Sources::specs().into_iter().map(|spec| spec.name));
        let settler = AnySettler::connect(settlement, &terms).await?;
        // Read without custody, too: a list that cannot be used is never passed over.
        let policy = signing::policy(config)?;
        let custody = open_custody(config, policy.clone()).await?;
        let paid = journal.paid_sums();
        let sources = sources.await.map_err(ServeError::Interrupted)??;
        let sources = wallets::with_products(sources, config, &policy)?;
        let keys = custody.as_ref();
        let routes = Routes::new(config, keys)?;
        let sources = match keys {
            Some(custody) => sources.with_custody(Arc::clone(custody)),
            None => sources,
        };
        let sources = sources.with_store(Arc::new(store));
        let path = path_of(&storage.url).map_err(ServeError::Mandates)?;
        let mandates = MandateStore::open(path.with_extension("watch.db"));
        let mandates = mandates.map_err(ServeError::Mandates)?;
        let sources = sources.with_mandates(Arc::new(mandates));
        sources.keep_limits().await;
        let prices = sources.accounts.defillama.clone();
        let delegations = delegation::open(config, &routes, prices, clock.clone()).await?;
        let fence = delegation::chain_to_send_on(delegations.as_ref(), &routes).await?;
        let sending = Sending::open(config, fence)?;
        let funding = match &sending {
            Some(sending) => sending.funding(config, &sources, paid, &clock)?,
            None => GasFunding::nobody(),
        };
        let sendings = match (&delegations, &config.delegation, &sending) {
            (Some(delegations), Some(section), Some(sending)) if fence.is_some() => {
                let start = delegation::start;
                Some(start(
                    config,
                    section,
                    delegations,
                    routes,
                    sending,
                    funding.clone(),
                    &clock,
                )?)
            }
            _ => None,
        };
        let actions = match (&custody, &sending) {
            (Some(custody), Some(sending)) => {
                wallets::open(config, custody, &policy, sending, &sources, funding, &clock)?
            }
            _ => None,
        };
        let sources = sources.with_actions(actions);
        let parts = Parts {
            settler,
            journal,
            sources,
            clock,
        };
        let service = Self::compose(config, &terms, parts).await?;
        let mover = wallets::mover(&service.sources);
        let service = match mover {
            Some(mover) => service.with_mover(Arc::new(mover)),
            None => service,
        };
        Ok(match (delegations, &config.delegation) {
            (Some(delegations), Some(section)) => {
                let mut service = service.with_delegations(delegations, section);
                service.sendings = sendings;
                service
            }
            _ => service,
        })
    }
}

impl<S: Settler, J: Journal> Service<S, J> {
    /// Listens with the given parts.
    ///
    /// # Errors
    /// The address, the public URL, or a journal that cannot be read.
    pub async fn compose(
        config: &Config,
        terms: &Terms,
        parts: Parts<S, J>,
    ) -> Result<Self, ServeError> {
        observe::metrics();
        let Parts {
            settler,
            journal,
            sources,
            clock,
        } = parts;
        let now = u64::try_from(clock.now().as_second()).unwrap_or_default();
        let recovered = journal.recover(now).await?;
        if recovered.released + recovered.unknown > 0 {
            tracing::info!(
                released = recovered.released,
                unknown = recovered.unknown,
                "the previous run left payments open"
            );
        }
        let address = config.listen();
        let limits = config.limits();
        let server = Server::bind(address, limits.clone())
            .await
            .map_err(|error| ServeError::Listen { address, error })?;
        let public_url = config.server.public_url.clone();
        let catalog = CatalogConfig {
            public_url: public_url.unwrap_or_else(|| format!("http://{}", server.local_addr())),
            brand: config.server.brand.clone(),
            contact: config.server.contact.clone(),
            terms: terms.clone(),
        };
        let catalog = Arc::new(Catalog::offering(&catalog, offering(config, &sources))?);
        let sources = Arc::new(sources);
        let policy = PaymentPolicy {
            settle_budget_seconds: config.payment.settle_budget_seconds,
            settle_guard: settle_guard(&config.settlement),
            transaction_retention: Duration::from_secs(
                u64::from(config.storage.payment_retention_days).saturating_mul(86_400),
            ),
            private_answer_seconds: config.storage.private_answer_seconds,
            credit: credit_policy(&config.credit),
        };
        let processor = PaymentProcessor::new(
            Arc::clone(&catalog),
            settler,
            journal,
            Operations::over(Arc::clone(&sources)),
            policy,
            clock.clone(),
        );
        processor.restore_newcomers().await?;
        let server_section = &config.server;
        let api = Api::new(
            catalog,
            processor.clone(),
            sources.clone(),
            server_section,
            server.draining(),
            clock.as_ref(),
        );
        Ok(Self {
            server,
            api,
            sendings: None,
            watcher: watcher(&sources),
            processor,
            sources,
            probe_every: config.server.probe_every(),
            reconcile_every: Duration::from_secs(config.settlement.reconcile_seconds),
            closing_time: limits.drain.saturating_add(limits.shutdown_grace),
        })
    }

    /// Also serves the endpoints below `/delegation/`.
    #[must_use]
    pub fn with_delegations(
        mut self,
        delegations: Arc<Delegations>,
        section: &DelegationSection,
    ) -> Self {
        let (bytes, time) = self.api.body_bounds();
        let endpoints = Endpoints::new(delegations, section, bytes, time);
        self.api.serve_delegations(endpoints);
        self
    }

    /// Names who moves the money of mandates that act. Without one, a mandate that would act is
    /// refused.
    #[must_use]
    pub fn with_mover(self, mover: Arc<dyn Mover>) -> Self {
        if let Some(mandates) = self.sources.mandates() {
            mandates.move_with(mover);
        }
        self
    }

    /// The address it listens on.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// Serves until `shutdown` resolves; then requests in flight are finished.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Drained {
        let Self {
            server,
            api,
            sendings,
            watcher,
            processor,
            sources,
            probe_every,
            reconcile_every,
            closing_time,
        } = self;
        let api = Arc::new(api);
        let background = [
            tokio::spawn({
                let processor = processor.clone();
                async move { processor.keep_reconciling(reconcile_every).await }
            }),
            tokio::spawn({
                let processor = processor.clone();
                async move { processor.keep_sweeping(reconcile_every).await }
            }),
        ];
        let actions = sources.wallets.actions.clone();
        let cut_off = actions.clone().map(|actions| {
            let processor = processor.clone();
            tokio::spawn(async move { wallets::answer_again(&actions, &processor).await })
        });
        let checks = watcher.map(Checks::start);
        let upkeep = tokio::spawn(observe::keep_metrics());
        let probes =
            probe_every.map(|every| tokio::spawn(async move { sources.keep_probing(every).await }));
        let signalled = Arc::new(OnceLock::new());
        let noted = signalled.clone();
        let drained = server
            .serve(api, async move {
                shutdown.await;
                noted.get_or_init(Instant::now);
            })
            .await;
        upkeep.abort();
        if let Some(checks) = checks {
            checks.close().await;
        }
        if let Some(sendings) = sendings {
            sendings.close().await;
        }
        if let Some(cut_off) = cut_off {
            cut_off.abort();
        }
        if let Some(probes) = probes {
            probes.abort();
        }
        // Calls whose caller hung up, and payments being reconciled, go on without a connection,
        // within the same time.
        let used = signalled.get().map_or(closing_time, Instant::elapsed);
        if tokio::time::timeout(closing_time.saturating_sub(used), processor.close())
            .await
            .is_err()
        {
            tracing::warn!("paid calls are still open; the next start decides them");
        }
        for task in background {
            drop(task.await);
        }
        // Calls that waited for an action were answered above; what goes on is on disk.
        if let Some(actions) = actions {
            actions.close().await;
        }
        drained
    }
}

/// What checks the mandates, where they are kept and yields are gathered.
fn watcher(sources: &Arc<Sources>) -> Option<Watcher> {
    let mandates = sources.mandates().filter(|_| sources.gathers_yields())?;
    let yields = Arc::clone(sources);
    Some(Watcher::new(mandates, yields, Pace::default()))
}

/// Whoever holds the keys of sub-wallets, behind the policy of what they sign. A wrong secret ends
/// the start.
async fn open_custody(
    config: &Config,
    policy: SigningPolicy,
) -> Result<Option<Arc<dyn Custody>>, ServeError> {
    let Some(section) = &config.custody else {
        return Ok(None);
    };
    if let Some(turnkey) = section.turnkey() {
        // The system's certificates are read, which takes a moment. Nothing is asked: a service
        // that is down ends no start.
        let connected =
            tokio::task::spawn_blocking(move || TurnkeyCustody::connect(&turnkey)).await;
        let connected = connected
            .map_err(ServeError::Interrupted)?
            .map_err(|fault| {
                let key = format!("custody.{}", fault.member());
                ServeError::Provider(Problem::new(&key, fault.to_string()))
            })?;
        let guarded = Guarded::new(connected, policy.clone());
        return Ok(Some(Arc::new(guarded)));
    }
    let (Some(folder), Some(secret)) = (section.directory.clone(), section.secret.clone()) else {
        return Err(ServeError::Custody(CustodyError::EmptySecret));
    };
    // A key is derived, which takes a second.
    let opened = tokio::task::spawn_blocking(move || LocalCustody::open(&folder, secret)).await;
    let custody = opened.map_err(ServeError::Interrupted)?;
    let custody = custody.map_err(ServeError::Custody)?;
    // Nothing else of the server reaches the keys.
    Ok(Some(Arc::new(Guarded::new(custody, policy))))
}

/// Serves a configuration until SIGTERM or Ctrl-C.
///
/// # Errors
/// As [`Service::open`].
pub async fn serve(config: &Config) -> Result<Drained, ServeError> {
    run(Service::open(config).await?).await
}

/// The same with a signer of the program's own: see [`Service::open_signed_by`].
///
/// # Errors
/// As [`Service::open_signed_by`].
pub async fn serve_signed_by(
    config: &Config,
    signer: Arc<dyn TransactionSigner>,
) -> Result<Drained, ServeError> {
    run(Service::open_signed_by(config, signer).await?).await
}

async fn run(service: Service<AnySettler, SqliteLedger>) -> Result<Drained, ServeError> {
    let shutdown = shutdown_signal();
    announce(service.local_addr());
    Ok(service.run(shutdown).await)
}

/// Whether there is a key for the account that pays the gas.
fn check_key(section: &SettlementSection) -> Result<(), ServeError> {
    match section.gas_account {
        Some(account) if section.mode == SettlementMode::Onchain && !section.has_key() => {
            Err(ServeError::NoSigner { account })
        }
        _ => Ok(()),
    }
}

/// Whether a signer for this account is what the configuration asks for.
fn check_signer(section: &SettlementSection, observed: Address) -> Result<(), ServeError> {
    let wrong = |key, message: String| Err(ServeError::Signer { key, message });
    if section.mode != SettlementMode::Onchain {
        let mode = section.mode;
        return wrong(
            "mode",
            format!("expected \"onchain\", observed \"{mode}\": this program brings a signer"),
        );
    }
    if section.has_key() {
        return wrong(
            "private_key",
            "a key beside the signer that this program brings".to_owned(),
        );
    }
    match section.gas_account {
        Some(expected) if expected == observed => Ok(()),
        Some(expected) => wrong(
            "gas_account",
            format!("the signer signs for {observed}, expected {expected}"),
        ),
        None => wrong(
            "gas_account",
            format!("is missing; the signer signs for {observed}"),
        ),
    }
}

/// What of [`Service::open`] can be judged without opening anything; gives the terms that would be
/// offered, and what would not be served.
///
/// # Errors
/// A [`ServeError`] that names the key.
pub(crate) fn check(config: &Config) -> Result<(Terms, Offering), ServeError> {
    check_key(&config.settlement)?;
    let terms = config.payment.terms().ok_or(ServeError::NoPayee)?;
    let public_url = config.server.public_url.clone();
    Catalog::new(&CatalogConfig {
        public_url: public_url.unwrap_or_else(|| format!("http://{}", config.listen())),
        brand: config.server.brand.clone(),
        contact: config.server.contact.clone(),
        terms: terms.clone(),
    })?;
    let policy = signing::policy(config)?;
    Routes::new(config, None)?;
    let sources = Sources::connect(config, Arc::new(SystemClock))?;
    let sources = wallets::with_products(sources, config, &policy)?;
    Ok((terms, offering(config, &sources)))
}

fn credit_policy(section: &CreditSection) -> CreditPolicy {
    let cost = Cost::micro_usd;
    CreditPolicy {
        upstream_call: cost(section.upstream_call_micro_usd),
        model_call: cost(section.model_call_micro_usd),
        verification: cost(section.verification_micro_usd),
        transaction: cost(section.transaction_micro_usd),
        newcomers: Rules {
            pool: Refill {
                capacity: cost(section.pool_micro_usd),
                per_second: cost(section.pool_refill_micro_usd_per_second),
            },
            address: Refill {
                capacity: cost(section.address_share_micro_usd),
                per_second: cost(section.address_refill_micro_usd_per_second),
            },
        },
        cap: cost(section.cap_micro_usd),
    }
}

/// Longer than a settlement takes by its own limits: the call, an identical second one, reading the
/// chain.
fn settle_guard(section: &SettlementSection) -> Duration {
    Duration::from_millis(section.timeout_ms)
        .saturating_mul(3)
        .saturating_add(Duration::from_secs(30))
}

/// How the ledger of a configuration is kept.
pub(crate) fn ledger_options(config: &Config) -> ledger::Options {
    let storage = &config.storage;
    let days = u64::from(storage.payment_retention_days);
    ledger::Options {
        max_bytes: storage.max_bytes,
        retention_seconds: storage.answer_retention_seconds,
        private_retention_seconds: storage.private_answer_seconds,
        entry_retention_seconds: days.saturating_mul(86_400),
        credit_cap_micro_usd: config.credit.cap_micro_usd,
        pool: Allowance {
            capacity: config.credit.pool_micro_usd,
            per_second: config.credit.pool_refill_micro_usd_per_second,
        },
        address_share: Allowance {
            capacity: config.credit.address_share_micro_usd,
            per_second: config.credit.address_refill_micro_usd_per_second,
        },
    }
}

/// The settler that the section describes.
pub(crate) fn settlement_config(config: &Config) -> SettlementConfig {
    let section = &config.settlement;
    let chain_id = config.payment.terms().map(|terms| terms.network.chain_id());
    let of_chain = chain_id.and_then(|id| config.chains.confirmations(id));
    let okx = match (
        &section.okx_api_key,
        &section.okx_secret_key,
        &section.okx_passphrase,
    ) {
        (Some(api_key), Some(secret_key), Some(passphrase)) => Some(OkxCredentials {
            api_key: api_key.clone(),
            secret_key: secret_key.clone(),
            passphrase: passphrase.clone(),
        }),
        _ => None,
    };
    let mut endpoints = config.settlement_endpoints().into_iter();
    let limit = Duration::from_millis(section.timeout_ms);
    let usual = Timeouts::default();
    SettlementConfig {
        mode: match section.mode {
            SettlementMode::Facilitator => settlement::Mode::Facilitator,
            SettlementMode::Okx => settlement::Mode::Okx,
            SettlementMode::Onchain => settlement::Mode::Onchain,
        },
        facilitator_url: section.facilitator_url.clone(),
        okx_base_url: Some(section.okx_base_url.clone()),
        okx,
        rpc_url: endpoints.next().map(Into::into),
        more_rpc_urls: endpoints.map(Into::into).collect(),
        private_key: section.private_key.clone(),
        signer: section.signer(),
        timeouts: Timeouts {
            connect: usual.connect.min(limit),
            verify: usual.verify.min(limit),
            settle: limit,
            rpc: usual.rpc.min(limit),
            receipt: limit,
            ..usual
        },
        gas: GasPolicy {
            gas_cap: section.gas_cap,
            contract_wallets: section.contract_wallets,
            max_fee_per_gas: u128::from(section.max_fee_gwei).saturating_mul(1_000_000_000),
        },
        records: None,
        chain: ChainOptions {
            // The purpose's number wins over the chain's.
            confirmations: section.confirmations.or(of_chain).unwrap_or(0),
            block_time: chain_id.and_then(|id| config.chains.block_time(id)),
            ..ChainOptions::default()
        },
    }
}

/// Where the ledger of a demo lives.
pub(crate) fn ledger_url(folder: &std::path::Path) -> String {
    let file: PathBuf = folder.join("service.db");
    format!("sqlite://{}", file.display())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;
    use server_config::{ChainTable, UpstreamMode};

    use super::*;

    #[test]
    fn the_confirmations_of_the_purpose_win_over_those_of_the_chain() {
        let mut config = Config::default();
        config.payment.pay_to = Some(Address::repeat_byte(7).into());
        assert_eq!(settlement_config(&config).chain.confirmations, 0);
        let table = |confirmations| ChainTable {
            confirmations,
            ..ChainTable::default()
        };
        config.chains.0.insert("196".to_owned(), table(Some(5)));
        config.chains.0.insert("8453".to_owned(), table(Some(9)));
        assert_eq!(settlement_config(&config).chain.confirmations, 5);
        config.settlement.confirmations = Some(0);
        assert_eq!(settlement_config(&config).chain.confirmations, 0);
    }

    /// In the order in which they are asked, and each once.
    #[test]
    fn a_settler_asks_the_nodes_of_its_chain_after_its_own() {
        let urls = |config: &Config| {
            let config = settlement_config(config);
            let all = config.rpc_url.iter().chain(&config.more_rpc_urls);
            all.map(|url| url.expose_secret().to_owned())
                .collect::<Vec<_>>()
        };
        let mut config = Config::default();
        config.payment.pay_to = Some(Address::repeat_byte(7).into());
        let table = |rpc_urls: &[&str]| ChainTable {
            rpc_urls: rpc_urls.iter().map(|&url| url.to_owned()).collect(),
            ..ChainTable::default()
        };
        let nodes = table(&["https://b", "https://a", "https://c"]);
        config.chains.0.insert("196".to_owned(), nodes);
        let elsewhere = table(&["https://d"]);
        config.chains.0.insert("8453".to_owned(), elsewhere);
        // A facilitator settles: the chain is read when that is asked for.
        assert_eq!(urls(&config), [""; 0]);
        config.settlement.rpc_url = Some("https://a".to_owned());
        assert_eq!(urls(&config), ["https://a", "https://b", "https://c"]);
        config.settlement.mode = SettlementMode::Onchain;
        config.settlement.rpc_url = None;
        assert_eq!(urls(&config), ["https://b", "https://a", "https://c"]);
        if let Some(table) = config.chains.0.get_mut("196") {
            table.mode = Some(UpstreamMode::Replay);
        }
        assert_eq!(urls(&config), [""; 0]);
    }
}
