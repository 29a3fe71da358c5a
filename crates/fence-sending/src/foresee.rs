//! Checks a plan against the chain before anything is sent for it. The check can only refuse: the
//! chain may change until the steps are executed.

use calldata_checks::{Step, StepKind};
use chain_reader::{Block, ChainReader, ReadFault, SimulatedCall};
use delegation_fence::{Admitted, Foresight};
use fence_server::{Foresee, PortError, PortFuture};

/// Foresees plans from the chain's newest sealed block.
#[derive(Debug, Clone)]
pub struct ForeseenByChain(ChainReader);

impl ForeseenByChain {
    /// Foresees plans on this chain.
    #[must_use]
    pub const fn new(chain: ChainReader) -> Self {
        Self(chain)
    }
}

impl Foresee for ForeseenByChain {
    fn foresee<'a>(
        &'a self,
        admitted: &'a Admitted,
    ) -> PortFuture<'a, Result<Foresight, PortError>> {
        Box::pin(async move {
            let foreseen = async {
                let sealed = self.0.sealed(0).await?;
                foresee_at(&self.0, admitted, sealed.block).await
            };
            foreseen.await.map_err(|fault| PortError {
                reason: fault.to_string(),
            })
        })
    }
}

/// Reads, as of a block, the account's balance of the input token, and which step of the plan
/// reverts when all three run one after another.
///
/// # Errors
/// As [`ChainReader::allowance`].
pub(crate) async fn foresee_at(
    chain: &ChainReader,
    admitted: &Admitted,
    block: Block,
) -> Result<Foresight, ReadFault> {
    let balance = chain.token_balance(admitted.token, admitted.account, block);
    let balance = balance.await?;
    // Too low a balance makes every simulation revert, and has its own refusal.
    let reverts = match balance < admitted.amount {
        true => None,
        false => reverting(chain, admitted, block).await?,
    };
    Ok(Foresight { balance, reverts })
}

/// The first step that reverts, if any. When no node simulates, it is `None` too: then only the
/// balance is checked here, and each step is estimated before it is signed.
async fn reverting(
    chain: &ChainReader,
    admitted: &Admitted,
    block: Block,
) -> Result<Option<StepKind>, ReadFault> {
    let call = |step: &Step| SimulatedCall {
        from: admitted.account,
        to: step.to,
        input: step.data.clone(),
    };
    let calls: Vec<_> = admitted.steps.iter().map(call).collect();
    let outcomes = chain.simulate(&calls, block).await?.unwrap_or_default();
    let mut steps = StepKind::ALL.into_iter().zip(outcomes);
    let reverting = steps.find(|(_, outcome)| !outcome.succeeded);
    Ok(reverting.map(|(kind, _)| kind))
}
