//! Plans of swaps and bridges. Each is built from a quote, judged by the checks of its rail, and
//! judged again from its own bytes. Only the steps of the second judgement are returned. A swap or
//! deposit whose worth does not hold has no plan.

mod bridge;
mod home_swap;
mod refused;
mod swap;
mod worth;

use std::sync::Arc;

use alloy_primitives::Bytes;
use calldata_checks::{CheckReport, Rail, Step, UtcSeconds};
use data_sources::Clock;
use data_sources::okx::Okx;
use data_sources::worth::{WorthJudge, stated};
use plan_builder::{Moment, Policy, Refusal, Request, Verified};
use serde_json::{Value, json};
use wallet_actions::{
    Attested, BridgeAsk, BridgePlan, Burn, DepositAsk, PlanRefused, PlannedStep, Plans, PortFuture,
    StepKind, SwapAsk, SwapPlan,
};

use crate::Sources;
use crate::config::Config;
use crate::error::ServeError;
use crate::fees;
use crate::reviewed::Unreviewed;
use crate::sources::Rails;

/// [`Plans`] over the plan builder: the home chain's aggregator on the home chain, LI.FI on every
/// other one, Circle for bridges.
pub struct WalletPlans {
    okx: Okx,
    worth: WorthJudge,
    rails: Arc<Rails>,
    unreviewed: Arc<Unreviewed>,
    /// Without a policy only swaps on the home chain are planned.
    policy: Option<Policy>,
    clock: Arc<dyn Clock>,
}

impl WalletPlans {
    /// Makes plans with the upstreams of a configuration and its `[plans]`.
    ///
    /// # Errors
    /// [`ServeError`] names the key of the fee configuration, or of another rule of plans, that
    /// cannot be used.
    pub fn new(config: &Config, sources: &Sources) -> Result<Self, ServeError> {
        let policy = fees::policy(config).map_err(ServeError::Fees)?;
        Ok(Self {
            okx: sources.tokens.okx.clone(),
            worth: sources.worth.clone(),
            rails: Arc::clone(&sources.rails),
            unreviewed: Arc::clone(&sources.unreviewed),
            policy,
            clock: Arc::clone(sources.context.clock()),
        })
    }

    fn now(&self) -> UtcSeconds {
        UtcSeconds::from_timestamp(self.clock.now())
    }

    fn moment(&self) -> Result<Moment, Refusal> {
        let mut entropy = [0; 32];
        getrandom::fill(&mut entropy).map_err(|_| {
            let message = "the system has no random bytes";
            Refusal::new(Refusal::ENTROPY_UNAVAILABLE, message)
        })?;
        let millis = u64::try_from(self.clock.now().as_millisecond());
        Ok(Moment {
            now_millis: millis.unwrap_or_default(),
            entropy,
        })
    }

    fn policy(&self, rail: Rail) -> Result<&Policy, Refusal> {
        self.policy.as_ref().ok_or_else(|| {
            let message = format!(
                "this server plans no {}: plans.fee_config is not set",
                rail.as_str()
            );
            Refusal::new(Refusal::CHAIN_UNSUPPORTED, message)
        })
    }
}

impl std::fmt::Debug for WalletPlans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WalletPlans")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl Plans for WalletPlans {
    fn swap(&self, ask: SwapAsk) -> PortFuture<'_, Result<SwapPlan, PlanRefused>> {
        Box::pin(async move {
            if ask.chain_id == self.okx.reviewed().chain_id {
                return self.home_swap(&ask).await;
            }
            let planned = self.lifi_swap(&ask).await;
            let (mut plan, impact) = planned.map_err(|refusal| refused::by_rail(&refusal))?;
            let judged = self.judge_swap(&ask, plan.quoted, stated(impact)).await?;
            if let Value::Object(evidence) = &mut plan.evidence {
                evidence.insert("worth".to_owned(), judged);
            }
            Ok(plan)
        })
    }

    fn judge_deposit(&self, ask: DepositAsk) -> PortFuture<'_, Result<Value, PlanRefused>> {
        Box::pin(self.worth_of_deposit(ask))
    }

    fn bridge(&self, ask: BridgeAsk) -> PortFuture<'_, Result<BridgePlan, PlanRefused>> {
        Box::pin(async move {
            let planned = self.circle_bridge(&ask).await;
            planned.map_err(|refusal| refused::by_rail(&refusal))
        })
    }

    fn attestation(&self, burn: Burn) -> PortFuture<'_, Result<Option<Attested>, PlanRefused>> {
        Box::pin(async move {
            let circle = &self.rails.circle;
            let found = circle.attestation(burn.source_domain, burn.transaction);
            let found = found
                .await
                .map_err(|error| refused::by_rail(&error.into()))?;
            Ok(found.map(|found| Attested {
                message: found.message,
                attestation: found.attestation,
            }))
        })
    }
}

/// Makes a request from arguments of the agent rail.
fn request(rail: Rail, arguments: &Value) -> Result<Request, Refusal> {
    Request::parse(rail, &arguments.to_string())
}

/// The steps of a plan for execution. The checks ensure that no step carries coins.
fn steps(steps: &[Step]) -> Vec<PlannedStep> {
    steps.iter().map(step).collect()
}

fn step(step: &Step) -> PlannedStep {
    PlannedStep {
        kind: match step.kind {
            calldata_checks::StepKind::ApproveReset => StepKind::ApproveReset,
            calldata_checks::StepKind::Approve => StepKind::Approve,
            calldata_checks::StepKind::Call => StepKind::Call,
        },
        to: step.to,
        input: Bytes::clone(&step.data),
    }
}

/// The proof of a verified plan's judgement. This server made the plan's readings.
fn evidence(verified: &Verified, artifact_id: &str) -> Value {
    json!({
        "rail": verified.rail().as_str(),
        "artifact_id": artifact_id,
        "payload_digest": verified.payload_digest().to_string(),
        "valid_until": verified.valid_until().to_string(),
        "checks": names(verified.plan_report()),
    })
}

fn names(report: &CheckReport) -> Vec<&str> {
    let held = report.assertions().iter();
    held.map(|assertion| assertion.name).collect()
}

/// The refusal for a verified plan that lacks a required field.
fn unreadable(what: &str) -> Refusal {
    Refusal::new(
        Refusal::PLAN_MALFORMED,
        format!("the verified plan has no {what}"),
    )
}
