//! One intent: reads what is true, does the next thing, and writes what came of it.

mod after_end;
mod mint;
mod order;
mod outcome;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, U256};
use chain_reader::{Block, ReadFault};
use custody::{CustodyError, Purpose, lend};
use thiserror::Error;
use tx_sender::{Lane, SenderError};

pub(crate) use self::after_end::look_after_ended;
pub(crate) use self::mint::mint_step;
pub(crate) use self::outcome::is_never_sent;
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
    #[error(transparent)]
    Funding(#[from] gas_funding::FundingError),
    #[error("chain {0} is not configured any more")]
    Chain(u64),
    #[error("custody knows no wallet {0} of the intent's owner")]
    Wallet(Address),
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

    /// Goes on until nothing is left to do. A bridge whose mint is awaited leaves the wallet to
    /// others meanwhile.
    pub(crate) async fn run(&self) {
        let mut woken = false;
        loop {
            let pace = self.shared.pace;
            match self.turn(&mut woken).await {
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

    async fn turn(&self, woken: &mut bool) -> Result<Turn, Fault> {
        let Some(intent) = self.shared.store.get(&self.id).await? else {
            return Ok(Turn::Over);
        };
        if intent.state.is_over() {
            return Ok(Turn::Over);
        }
        // What stands already may lose its block. After a start nobody else has its lanes worked.
        if !*woken && intent.has_begun() {
            self.shared.wake(&intent).await?;
            *woken = true;
        }
        // Reading whether a burn is attested touches no account.
        let next = intent.next();
        if next == Next::Mint {
            return Box::pin(self.mint(&intent)).await;
        }
        self.shared.lend_key(&intent).await?;
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
                Next::ReadAllowance => self.read_allowance(&intent).await?,
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
        note_end(&ended);
        Ok(ended)
    }

    /// Reads what is left of the allowance, and takes it back where something is.
    async fn read_allowance(&self, intent: &Intent) -> Result<Step, Fault> {
        let Some(allowance) = intent.allowance else {
            return Ok(Step::Wait(self.shared.pace.look));
        };
        let chain = self.shared.chain_of(allowance.chain_id)?;
        let Some(block) = self.above_own_blocks(intent, allowance.chain_id).await? else {
            return Ok(Step::Wait(self.shared.pace.look));
        };
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
        Ok(Step::Write(intent.read_allowance(left, clear)?))
    }

    /// The newest sealed block, when it stands above everything that the intent has done on the
    /// chain. `None` while one of these blocks is not on the chain: what is read then is not what
    /// the intent has left, and a transaction that lost its block comes back.
    pub(super) async fn above_own_blocks(
        &self,
        intent: &Intent,
        chain_id: u64,
    ) -> Result<Option<Block>, Fault> {
        let chain = self.shared.chain_of(chain_id)?;
        let steps = intent.steps.iter().filter(|step| step.chain_id == chain_id);
        let own: Vec<Block> = steps
            .filter_map(|step| Some(step.status.at()?.block()))
            .collect();
        let highest = own.iter().map(|block| block.number).max();
        let sealed = chain.sealed(highest.unwrap_or_default()).await?.block;
        for block in own {
            if !chain.has(block).await? {
                return Ok(None);
            }
        }
        Ok(Some(sealed))
    }

    pub(crate) async fn write(&self, intent: Intent) -> Result<Intent, Fault> {
        let written = self.shared.store.write(intent).await?;
        self.shared.changed.notify_waiters();
        Ok(written)
    }
}

/// Counts the end of an intent. One that a reorganisation has reopened was counted before.
pub(crate) fn note_end(intent: &Intent) {
    let (operation, outcome) = (intent.operation.as_str(), intent.state.as_str());
    if intent.reorganised_at.is_none() {
        metrics::counter!("svc_wallet_actions_total", "operation" => operation, "outcome" => outcome).increment(1);
    }
    tracing::info!(intent = %intent.id, operation, outcome, reason = intent.halted.as_deref(), "action ended");
}

/// What the handling of one transaction came to.
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, and it is mostly the large one"
)]
enum Step {
    Write(Intent),
    Wait(Duration),
}

impl Shared {
    /// Lends the wallet's key to the sender of transactions, for this purpose only.
    pub(crate) async fn lend_key(&self, intent: &Intent) -> Result<(), Fault> {
        let known = self.custody.wallet_at(intent.wallet).await?;
        if known.is_none_or(|known| known.owner.to_string() != intent.owner) {
            return Err(Fault::Wallet(intent.wallet));
        }
        let custody = Arc::clone(&self.custody);
        let signer = lend(custody, intent.wallet, Purpose::WalletAction);
        self.sender.add_signer(signer);
        Ok(())
    }

    /// Has the lanes of an intent worked. The sender looks after transactions until no block can be
    /// taken back from under them; after a start it knows the wallet's key only from here.
    pub(crate) async fn wake(&self, intent: &Intent) -> Result<(), Fault> {
        self.lend_key(intent).await?;
        let chains: BTreeSet<u64> = intent.steps.iter().map(|step| step.chain_id).collect();
        for chain_id in chains {
            let account = intent.wallet;
            self.sender.wake(Lane { chain_id, account })?;
        }
        Ok(())
    }
}
