//! Confirms a plan again before its next step, from the store and from a sealed block. A result
//! holds for this turn only.

use alloy_primitives::U256;
use delegation_fence::{AccountKind, ClearObstacle, Now, Phase, Rule, State, Transaction};
use fence_server::DelegationError;
use gas_funding::{Funds, Workload};
use tokio::time::Instant;

use super::{Driver, Snapshot};
use crate::{Estimate, Route, SealedBlock, SendingFault, key::Purpose};

impl Driver {
    /// Confirms the plan as of now. The inner error is the first rule that does not hold any more.
    pub(super) async fn confirm(
        &self,
        snapshot: &Snapshot,
        now: Now,
    ) -> Result<Result<(), Rule>, SendingFault> {
        let shared = &self.shared;
        let kept = &snapshot.kept;
        let phase = match snapshot.sending.state() {
            State::Accepted => Phase::Begin,
            _ => Phase::GoOn,
        };
        let Some(_) = self.route(snapshot) else {
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

    /// Checks whether the service could clear the allowance now. The inner error is the obstacle.
    pub(super) async fn clear_obstacle(
        &mut self,
        snapshot: &Snapshot,
        sealed: SealedBlock,
    ) -> Result<Result<(), ClearObstacle>, SendingFault> {
        let admitted = &snapshot.kept.admitted;
        let not_permitted = Ok(Err(ClearObstacle::NotPermitted));
        let Some(route) = self.route(snapshot) else {
            return not_permitted;
        };
        let call = match route.call(&snapshot.kept, Transaction::Clear(0)) {
            Ok(call) => call,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        if let Err(obstacle) = route.clear_obstacle(&snapshot.kept, sealed).await? {
            return Ok(Err(obstacle));
        }
        let Some(signer) = route.signer(admitted.account).await? else {
            return not_permitted;
        };
        let (gas, payer) = (&self.shared.gas, signer.account());
        // The estimate shows whether the token is paused or blocks the account, before anything is
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
        let least = Workload {
            gas: gas.approval.saturating_add(overhead),
            transactions: 1,
            input_bytes: call.input.len(),
        };
        let funds = self.shared.fund(
            admitted,
            route,
            payer,
            (Purpose::Clearing, least, U256::ZERO),
            sealed.block,
            self.turn,
        );
        let funds = funds.await?;
        let is_coming = match funds {
            Funds::Enough => return Ok(Ok(())),
            Funds::Coming => self.coins_are_in_time(snapshot),
            Funds::Missing(_) => false,
        };
        Ok(is_coming.then_some(()).ok_or(ClearObstacle::NoGas))
    }

    /// Whether the clearing still waits for coins that are on their way. The account that sends
    /// them may have none itself. So after a while the allowance is reported, and other work of the
    /// account goes on. When coins arrive, the allowance is cleared.
    fn coins_are_in_time(&mut self, snapshot: &Snapshot) -> bool {
        let since = *self.coins_since.get_or_insert_with(Instant::now);
        snapshot.sending.obstacle() != Some(ClearObstacle::NoGas)
            && since.elapsed() < self.shared.pace.coins
    }

    /// The route for the plan's account.
    pub(super) fn route(&self, snapshot: &Snapshot) -> Option<&dyn Route> {
        let grant = snapshot.kept.view.grant.as_ref()?;
        self.shared.route(grant.signed.message().account_kind)
    }
}

impl crate::Shared {
    pub(crate) fn route(&self, kind: AccountKind) -> Option<&dyn Route> {
        let route = self.routes.iter().find(|route| route.kind() == kind);
        route.map(AsRef::as_ref)
    }
}
