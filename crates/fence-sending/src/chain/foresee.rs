//! What the chain says of a plan before anything is sent for it.

use alloy_primitives::U64;
use delegation_fence::{Admitted, Block, Foresight};
use fence_server::{Foresee, PortError, PortFuture};
use plan_checks::{Step, StepKind};
use serde::Deserialize;
use serde_json::{Value, json};
use tx_sender::NodeFault;

use super::{ChainReader, ReadFault, pinned};

/// A block of `eth_simulateV1`.
#[derive(Deserialize)]
struct Simulated {
    calls: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    status: U64,
}

impl ChainReader {
    /// What the account holds of the input token, and which step of the plan reverts when all three are executed one after the other, as of a
    /// block.
    ///
    /// # Errors
    /// As [`Self::allowance`].
    pub async fn foresee_at(
        &self,
        admitted: &Admitted,
        block: Block,
    ) -> Result<Foresight, ReadFault> {
        let balance = self.token_balance(admitted.token, admitted.account, block);
        let balance = balance.await?;
        // Tokens that are not there revert every node's simulation, and have a name of their own.
        let reverts = match balance < admitted.amount {
            true => None,
            false => self.reverting(admitted, block).await?,
        };
        Ok(Foresight { balance, reverts })
    }

    /// The first step that reverts. `None` as well where no node simulates: then the balance was all that could be looked at, and each step is
    /// estimated before it is signed.
    async fn reverting(
        &self,
        admitted: &Admitted,
        block: Block,
    ) -> Result<Option<StepKind>, ReadFault> {
        let call = |step: &Step| {
            json!({
                "from": admitted.account,
                "to": step.to,
                "value": step.value,
                "data": step.data,
            })
        };
        let calls: Vec<Value> = admitted.steps.iter().map(call).collect();
        let options = json!({
            "blockStateCalls": [{ "calls": calls }],
            "validation": false,
            "traceTransfers": false,
        });
        let asked = self.ask::<Vec<Simulated>>("eth_simulateV1", json!([options, pinned(block)]));
        match asked.await {
            Ok(blocks) => {
                let outcomes = blocks.into_iter().flat_map(|block| block.calls);
                Ok(StepKind::ALL
                    .into_iter()
                    .zip(outcomes)
                    .find(|(_, outcome)| outcome.status.is_zero())
                    .map(|(kind, _)| kind))
            }
            Err(ReadFault::Nodes {
                fault: NodeFault::Refused { .. } | NodeFault::Lost { .. },
                ..
            }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }
}

impl Foresee for ChainReader {
    fn foresee<'a>(
        &'a self,
        admitted: &'a Admitted,
    ) -> PortFuture<'a, Result<Foresight, PortError>> {
        Box::pin(async move {
            let foreseen = async {
                let sealed = self.sealed(0).await?;
                self.foresee_at(admitted, sealed.block).await
            };
            foreseen.await.map_err(|fault| PortError {
                reason: fault.to_string(),
            })
        })
    }
}
