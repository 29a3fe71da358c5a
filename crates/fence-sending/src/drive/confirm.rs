//! Every confirmation again, from the store and from a sealed block.

use delegation_fence::{AccountKind, ClearObstacle, Now, Phase, Rule, State, Transaction};
use fence_server::DelegationError;
use gas_funding::Funds;

use super::{Driver, Standing};
use crate::{Estimate, Fault, Route, SealedBlock, key::Purpose};

impl Driver {
    /// What does not hold any more, by its rule.
    pub(super) async fn confirm(
        &self,
        standing: &Standing,
        now: Now,
    ) -> Result<Result<(), Rule>, Fault> {
        let shared = &self.shared;
        let kept = &standing.kept;
        let phase = match standing.sending.state() {
            State::Accepted => Phase::Begin,
            _ => Phase::GoOn,
        };
        let Some(_) = self.route(standing) else {
            return Ok(Err(Rule::AccountKindUnsupported));
        };
        match shared.delegations.confirm_again(kept, phase, now).await {
            Ok(()) => Ok(Ok(())),
            Err(DelegationError::Refused(refusal)) => {
                let plan = kept.admitted.payload_digest;
                tracing::info!(%plan, %refusal, "a plan's confirmation does not hold");
                Ok(Err(refusal.rule))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Why the service could not clear the allowance now, if it could not.
    pub(super) async fn clear_obstacle(
        &self,
        standing: &Standing,
        sealed: SealedBlock,
    ) -> Result<Result<(), ClearObstacle>, Fault> {
        let admitted = &standing.kept.admitted;
        let not_permitted = Ok(Err(ClearObstacle::NotPermitted));
        let Some(route) = self.route(standing) else {
            return not_permitted;
        };
        let call = match route.call(&standing.kept, Transaction::Clear(0)) {
            Ok(call) => call,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        if let Err(obstacle) = route.clear_obstacle(&standing.kept, sealed).await? {
            return Ok(Err(obstacle));
        }
        let Some(signer) = route.signer(admitted.account).await? else {
            return not_permitted;
        };
        let (gas, payer) = (&self.shared.gas, signer.account());
        // A token that is paused, or that has barred the account, says so before anything is
        // signed.
        let estimate = self
            .shared
            .chain
            .estimate(payer, call.to, &call.input, sealed.block);
        let overhead = route.overhead();
        match estimate.await? {
            Estimate::Gas(needed) if gas.limit(needed, false, overhead).is_some() => {}
            Estimate::Gas(_) | Estimate::Reverts => return Ok(Err(ClearObstacle::Paused)),
        }
        let least = gas.approval.saturating_add(overhead);
        let funds = self.shared.fund(
            admitted,
            route,
            payer,
            (Purpose::Clearing, least),
            sealed.block,
        );
        Ok(match funds.await? {
            Funds::Enough | Funds::Coming => Ok(()),
            Funds::Missing(_) => Err(ClearObstacle::NoGas),
        })
    }

    /// How the plan's account is sent for.
    pub(super) fn route(&self, standing: &Standing) -> Option<&dyn Route> {
        let grant = standing.kept.view.grant.as_ref()?;
        self.shared.route(grant.signed.message().account_kind)
    }
}

impl crate::Shared {
    pub(crate) fn route(&self, kind: AccountKind) -> Option<&dyn Route> {
        let route = self.routes.iter().find(|route| route.kind() == kind);
        route.map(AsRef::as_ref)
    }
}
