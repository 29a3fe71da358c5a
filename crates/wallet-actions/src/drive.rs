//! One intent: reads what is true, does the next thing, and writes what came of it.

mod mint;
mod order;
mod outcome;

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, U256};
use chain_reader::ReadFault;
use custody::{CustodyError, Purpose, lend};
use thiserror::Error;
use tx_sender::SenderError;

pub(crate) use self::mint::mint_step;
use crate::intent::{IllegalMove, Intent, Next, State};
use crate::plan::approve;
use crate::{IntentId, PlanRefused, Shared, StepKind, StoreError};

/// Why an intent waits. It is looked at again; nothing is concluded from it.
#[derive(Debug, Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Read(#[from] ReadFault),
    #[error(transparent)]
    Sender(#[from] SenderError),
    #[error(transparent)]
    Move(#[from] IllegalMove),
    #[error(transparent)]
    Custody(#[from] CustodyError),
    #[error(transparent)]
    Plan(#[from] PlanRefused),
    #[error("chain {0} is not configured any more")]
    Chain(u64),
    #[error("{0} wallet is known at the intent's address")]
    Wallet(&'static str),
}

/// What a turn came to.
enum Turn {
    /// Something was written: the next turn follows at once.
    Went,
    /// Something is waited for.
    Waits(Duration),
    /// Nothing is left to do.
    Over,
}

/// Drives one intent. It holds nothing between two turns: every turn reads the record again.
pub(crate) struct Driver {
    pub(crate) shared: Arc<Shared>,
    id: IntentId,
}

impl Driver {
    pub(crate) const fn new(shared: Arc<Shared>, id: IntentId) -> Self {
        Self { shared, id }
    }

    /// Goes on until nothing is left to do. A bridge whose mint is awaited leaves the wallet to others meanwhile.
    pub(crate) async fn run(&self) {
        loop {
            let pace = self.shared.pace;
            match self.turn().await {
                Ok(Turn::Went) => {}
                Ok(Turn::Waits(pause)) => tokio::time::sleep(pause).await,
                Ok(Turn::Over) => return,
                Err(Fault::Store(StoreError::Conflict { .. })) => {}
                Err(fault) => {
                    tracing::warn!(intent = %self.id, %fault, "an action waits");
                    tokio::time::sleep(pace.after_fault).await;
                }
            }
        }
    }

    async fn turn(&self) -> Result<Turn, Fault> {
        let Some(intent) = self.shared.store.get(&self.id).await? else {
            return Ok(Turn::Over);
        };
        if intent.state.is_over() {
            return Ok(Turn::Over);
        }
        // Reading whether a burn is attested touches no account.
        let next = intent.next();
        if next == Next::Mint {
            return Box::pin(self.mint(&intent)).await;
        }
        self.be_signer(&intent).await?;
        let _turn = self.shared.turns.take(intent.wallet).await;
        // It may have been given up while the turn was awaited.
        let Some(intent) = self.shared.store.get(&self.id).await? else {
            return Ok(Turn::Over);
        };
        Box::pin(self.hold_turn(intent)).await
    }

    /// With the account's turn: goes on until the intent is over, or only waits for another chain.
    async fn hold_turn(&self, mut intent: Intent) -> Result<Turn, Fault> {
        loop {
            if let Some(reopened) = self.reopened(&intent).await? {
                intent = self.write(reopened).await?;
            }
            let next = intent.next();
            let pause = match next {
                Next::Order(index) => self.order(&intent, index).await?,
                Next::Await(index) => self.outcome(&intent, index).await?,
                Next::ReadAllowance => Step::Write(self.read_allowance(&intent).await?),
                Next::Follow => Step::Write(intent.follow()?),
                Next::End(state) => Step::Write(self.end(&intent, state)?),
                Next::Mint | Next::Nothing => return Ok(Turn::Went),
            };
            match pause {
                Step::Write(moved) => intent = self.write(moved).await?,
                Step::Wait(pause) => {
                    tokio::time::sleep(pause).await;
                    let again = self.shared.store.get(&self.id).await?;
                    match again {
                        Some(again) => intent = again,
                        None => return Ok(Turn::Over),
                    }
                }
            }
        }
    }

    fn end(&self, intent: &Intent, state: State) -> Result<Intent, Fault> {
        let ended = intent.end(state, self.shared.now())?;
        let (operation, outcome) = (intent.operation.as_str(), state.as_str());
        metrics::counter!("svc_wallet_actions_total", "operation" => operation, "outcome" => outcome).increment(1);
        tracing::info!(intent = %intent.id, operation, outcome, reason = intent.halted.as_deref(), "action ended");
        Ok(ended)
    }

    /// Reads what is left of the allowance, and takes it back where something is.
    async fn read_allowance(&self, intent: &Intent) -> Result<Intent, Fault> {
        let Some(allowance) = intent.allowance else {
            return Ok(intent.clone());
        };
        let chain = self.shared.chain_of(allowance.chain_id)?;
        // Not before the last of the intent's own blocks on this chain.
        let blocks = intent
            .steps
            .iter()
            .filter(|step| step.chain_id == allowance.chain_id);
        let at_least = blocks
            .filter_map(|step| step.status.at())
            .map(|at| at.number)
            .max();
        let block = chain.sealed(at_least.unwrap_or_default()).await?.block;
        let left = chain
            .allowance(allowance.token, intent.wallet, allowance.spender, block)
            .await?;
        let clear = (!left.is_zero() && allowance.clears < 3).then(|| {
            approve(
                StepKind::Clear,
                allowance.chain_id,
                allowance.token,
                allowance.spender,
                U256::ZERO,
            )
        });
        Ok(intent.read_allowance(left, clear)?)
    }

    pub(crate) async fn write(&self, intent: Intent) -> Result<Intent, Fault> {
        let written = self.shared.store.write(intent).await?;
        self.shared.changed.notify_waiters();
        Ok(written)
    }

    /// Lends the wallet's key to the sender of transactions, for this purpose only.
    async fn be_signer(&self, intent: &Intent) -> Result<(), Fault> {
        let wallet: Address = intent.wallet;
        let known = self.shared.custody.wallet_at(wallet).await?;
        if known.is_none_or(|known| known.owner.to_string() != intent.owner) {
            return Err(Fault::Wallet("no such"));
        }
        let custody = Arc::clone(&self.shared.custody);
        let signer = lend(custody, wallet, Purpose::WalletAction);
        self.shared.sender.add_signer(signer);
        Ok(())
    }
}

/// What the handling of one transaction came to.
enum Step {
    Write(Intent),
    Wait(Duration),
}
