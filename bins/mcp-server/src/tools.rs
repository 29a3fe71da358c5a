//! The tools of the agent rail: the four constructors and the fence's public record.
//!
//! A call reads the arguments, takes the caller's share, builds a plan and returns it or a refusal.
//! The tools sign and send nothing.

mod fence;
mod output;
mod rails;

use std::sync::{Arc, OnceLock};

use calldata_checks::Rail;
use data_sources::Clock;
use plan_builder::ports::{Accounts, BridgeFees, PerpVenue, PmVenue, Simulator, SwapQuotes};
use plan_builder::{Moment, Policy, Refusal, Request, Sealed, bridge, perp_order, pm_order, swap};

use crate::limits_file::LimitsFile;
use crate::mcp::{ToolCall, ToolDescription, ToolResult, Toolbox};
use crate::monotonic::monotonic;
use crate::shares::{ShareRules, Shares};
use fence::FenceStatus;
pub(crate) use fence::Pinned;

/// The ports that the constructors read through.
pub trait Ports:
    SwapQuotes + BridgeFees + Accounts + PmVenue + PerpVenue + Simulator + 'static
{
}

impl<T> Ports for T where
    T: SwapQuotes + BridgeFees + Accounts + PmVenue + PerpVenue + Simulator + 'static
{
}

/// Gives fresh random bytes for each plan; `None` when the system has none.
pub type Entropy = fn() -> Option<[u8; 32]>;

/// The tools over their ports.
pub struct Tools<P> {
    descriptions: Vec<ToolDescription>,
    constructors: [(String, Rail); Rail::ALL.len()],
    fence: FenceStatus,
    ports: P,
    policy: Policy,
    clock: Arc<dyn Clock>,
    entropy: Entropy,
    shares: Option<Arc<Shares>>,
    /// The file of the shares; unset when they are in memory only.
    kept: OnceLock<LimitsFile>,
}

impl<P: Ports> Tools<P> {
    /// The tools under the names of a brand, for one caller without a share.
    pub fn new(
        brand: &str,
        ports: P,
        policy: Policy,
        clock: Arc<dyn Clock>,
        entropy: Entropy,
    ) -> Self {
        Self {
            descriptions: describe(brand),
            constructors: Rail::ALL.map(|rail| (rails::name(brand, rail), rail)),
            fence: FenceStatus::new(brand),
            ports,
            policy,
            clock,
            entropy,
            shares: None,
            kept: OnceLock::new(),
        }
    }

    /// Gives each of many callers a share of the upstreams' limits. A call beyond the share is
    /// refused as `rate_limited` before it causes a request.
    #[must_use]
    pub fn shared(mut self, rules: impl Fn(Rail) -> ShareRules) -> Self {
        self.shares = Some(Arc::new(Shares::new(rules, monotonic())));
        self
    }

    /// Sets the fence of the status record.
    #[must_use]
    pub(crate) fn fenced(mut self, pinned: Option<Pinned>) -> Self {
        if let Some(pinned) = pinned {
            self.fence.pin(pinned);
        }
        self
    }

    /// The callers' shares; `None` when there is only one caller.
    pub(crate) fn shares(&self) -> Option<Arc<Shares>> {
        self.shares.clone()
    }

    /// From now on writes the callers' shares into `file` before they are used.
    pub(crate) fn keep_shares(&self, file: LimitsFile) {
        // A file that was set before stays.
        let _ = self.kept.set(file);
    }

    /// The ports of the constructors.
    pub(crate) fn ports(&self) -> &P {
        &self.ports
    }

    /// Builds one plan; its requests count against the caller's share.
    async fn prepare(&self, rail: Rail, call: &ToolCall<'_>) -> Result<Sealed, Refusal> {
        let request = Request::parse(rail, call.arguments.json())?;
        match &self.shares {
            None => self.build(&request).await,
            Some(shares) => {
                let share = shares.take(&request, call.client)?;
                if let Some(kept) = self.kept.get() {
                    kept.save().await;
                }
                share.spend(self.build(&request)).await
            }
        }
    }

    async fn build(&self, request: &Request) -> Result<Sealed, Refusal> {
        let entropy = (self.entropy)().ok_or_else(|| {
            Refusal::new(
                Refusal::ENTROPY_UNAVAILABLE,
                "the system gave no random bytes; try again later",
            )
        })?;
        let moment = Moment {
            now_millis: u64::try_from(self.clock.now().as_millisecond()).unwrap_or(0),
            entropy,
        };
        let (ports, policy, moment) = (&self.ports, &self.policy, &moment);
        match request {
            Request::Swap(request) => swap::build(request, ports, ports, policy, moment).await,
            Request::Bridge(request) => {
                Box::pin(bridge::build(request, ports, ports, ports, policy, moment)).await
            }
            Request::PmOrder(request) => pm_order::build(request, ports, policy, moment).await,
            Request::PerpOrder(request) => perp_order::build(request, ports, policy, moment).await,
        }
    }
}

impl<P: Ports> Toolbox for Tools<P> {
    fn tools(&self) -> &[ToolDescription] {
        &self.descriptions
    }

    async fn call(&self, call: &ToolCall<'_>) -> Option<ToolResult> {
        let name = call.name;
        let found = self.constructors.iter().find(|(found, _)| found == name);
        let Some((_, rail)) = found else {
            if name != self.fence.name() {
                return None;
            }
            return Some(Box::pin(self.fence.call(&call.arguments)).await);
        };
        // Boxed: the future that builds a plan is large, and other messages do not need it.
        Some(match Box::pin(self.prepare(*rail, call)).await {
            Ok(plan) => ToolResult {
                structured: plan.into_json(),
                is_error: false,
            },
            Err(refusal) => {
                tracing::debug!(tool = name, check = %refusal.check, "refused");
                refused(&refusal)
            }
        })
    }
}

/// The entries of `tools/list`, in their order.
pub(crate) fn describe(brand: &str) -> Vec<ToolDescription> {
    let constructors = Rail::ALL.iter().map(|rail| rails::describe(brand, *rail));
    let fence = FenceStatus::new(brand).describe();
    constructors.chain([fence]).collect()
}

/// A refusal as a result.
pub(crate) fn refused(refusal: &Refusal) -> ToolResult {
    ToolResult {
        structured: refusal.to_json(),
        is_error: true,
    }
}

#[cfg(test)]
mod tests {
    use data_sources::SystemClock;
    use plan_builder::FeeDocument;

    use super::*;
    use crate::{Config, RawArguments, Upstreams};

    const FEES: &str = include_str!("../../../fixtures/vectors/plans/fees.toml");
    const SWAP: &str = include_str!("../../../fixtures/vectors/plans/swap.request.json");

    #[tokio::test]
    async fn without_random_bytes_there_is_no_plan() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let upstreams = Upstreams::new(&Config::default(), &clock).unwrap();
        let document: FeeDocument = toml::from_str(FEES).unwrap();
        let policy = Policy::new(document.review().unwrap());
        let tools = Tools::new("svc", upstreams, policy, clock, || None);
        let arguments = RawArguments::read(SWAP).unwrap();
        let call = ToolCall {
            name: "svc_prepare_swap",
            arguments,
            client: None,
        };
        let result = tools.call(&call).await.unwrap();
        assert!(result.is_error);
        let refusal: serde_json::Value = serde_json::from_str(&result.structured).unwrap();
        assert_eq!(refusal["refused"]["check"], Refusal::ENTROPY_UNAVAILABLE);
        assert!(
            Refusal::NAMES
                .iter()
                .any(|(name, _)| *name == Refusal::ENTROPY_UNAVAILABLE)
        );
    }
}
