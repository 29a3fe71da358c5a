//! Drives one intent: reads the current state, takes the next step, and writes the result.

mod after_end;
mod mint;
mod order;
mod outcome;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, U256};
use chain_reader::{Block, ReadFault};
use custody::{CustodyError, Purpose, TurnLost, lend};
use gas_funding::FundingError;
use thiserror::Error;
use tx_sender::{Lane, SenderError, StoreError as RecordsError, TurnFence};

pub(crate) use self::after_end::check_ended;
pub(crate) use self::mint::mint_step;
pub(crate) use self::outcome::is_never_sent;
use crate::intent::{IllegalMove, Intent, Next};
use crate::plan::approve;
use crate::{IntentId, PlanRefused, Shared, StepKind, StoreError};

/// Why an intent cannot proceed now. The driver tries again and draws no conclusion from it.
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
    Funding(#[from] FundingError),
    #[error(transparent)]
    Turn(#[from] TurnLost),
    #[error("chain {0} is not configured any more")]
    Chain(u64),
    #[error("custody has no wallet {0} for the intent's owner")]
    Wallet(Address),
}

impl Fault {
    /// Whether other work has the wallet's turn now.
    const fn is_turn_lost(&self) -> bool {
        matches!(
            self,
            Self::Turn(_)
                | Self::Sender(SenderError::Store(RecordsError::TurnLost { .. }))
                | Self::Funding(FundingError::Sender(SenderError::Store(
                    RecordsError::TurnLost { .. }
                )))
        )
    }
}

/// The result of one turn of the driver.
enum Turn {
    /// Something was written. The next turn follows at once.
    Went,
    /// The intent waits for something. The next turn follows after the pause.
    Waits(Duration),
    /// The work is over: nothing is left to do.
    Over,
}

/// Drives one intent. It keeps no state between two turns: every turn reads the record again.
pub(crate) struct Driver {
    pub(crate) shared: Arc<Shared>,
    id: IntentId,
}

impl Driver {
    pub(crate) const fn new(shared: Arc<Shared>, id: IntentId) -> Self {
        Self { shared, id }
    }

    /// Runs turns until nothing is left to do. Other intents may use the wallet while a bridge
    /// waits for its mint, or while a transaction that must be sent waits for gas.
    pub(crate) async fn run(&self) {
        let mut woken = false;
        loop {
            match self.turn(&mut woken).await {
                Ok(Turn::Went) => {}
                Ok(Turn::Waits(pause)) => tokio::time::sleep(pause).await,
                Ok(Turn::Over) => return,
                Err(Fault::Store(StoreError::Conflict { .. })) => {}
                Err(fault) => self.rest(&fault).await,
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
        // A sealed transaction may still lose its block. After a restart, the sender works on these
        // lanes only when it is woken.
        if !*woken && intent.has_begun() {
            self.shared.wake(&intent).await?;
            *woken = true;
        }
        // Asking for the attestation of a burn sends nothing. So it needs no turn on the wallet.
        let next = intent.next();
        if next == Next::Mint {
            return Box::pin(self.mint(&intent)).await;
        }
        self.shared.lend_key(&intent).await?;
        let turns = &self.shared.turns;
        let turn = turns.take(intent.wallet, self.id.as_str()).await;
        let held = turn.run(Box::pin(self.hold_turn(turn.fence()))).await?;
        // Without the store, nobody knows how far the intent is. The turn does not end, so that
        // this intent comes first when the store answers.
        if !matches!(held, Err(Fault::Store(_))) {
            turn.end().await;
        }
        held
    }

    /// Holds the wallet's turn until the intent is over, or until it waits for the mint on another
    /// chain or for gas. Before the intent's deadline, a fault of a chain does not end the turn, so
    /// that no other work comes between two of its transactions.
    async fn hold_turn(&self, turn: Option<TurnFence>) -> Result<Turn, Fault> {
        loop {
            // The intent may have been cancelled while this one waited for the turn.
            let Some(intent) = self.shared.store.get(&self.id).await? else {
                return Ok(Turn::Over);
            };
            let is_late = self.shared.now() >= intent.not_after;
            match self.go_on(intent, turn).await {
                Err(Fault::Store(StoreError::Conflict { .. })) => {}
                Err(fault) if !is_late && !fault.is_turn_lost() => self.rest(&fault).await,
                went => return went,
            }
        }
    }

    /// Continues an intent whose wallet's turn is held.
    async fn go_on(&self, mut intent: Intent, turn: Option<TurnFence>) -> Result<Turn, Fault> {
        loop {
            if let Some(reopened) = self.reopened(&intent).await? {
                intent = self.write(reopened).await?;
            }
            let next = intent.next();
            let pause = match next {
                Next::Order(index) => self.order(&intent, index, turn).await?,
                Next::Await(index) => self.outcome(&intent, index, turn).await?,
                Next::ReadAllowance => self.read_allowance(&intent).await?,
                Next::Follow => Step::Write(intent.follow()?),
                Next::End(state) => Step::Write(intent.end(state, self.shared.now())?),
                Next::Mint | Next::Nothing => return Ok(Turn::Went),
            };
            match pause {
                Step::Write(moved) => intent = self.write(moved).await?,
                Step::Leave(moved, pause) => {
                    if moved != intent {
                        note_hold(&intent, &moved);
                        self.write(moved).await?;
                    }
                    return Ok(Turn::Waits(pause));
                }
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

    /// Logs a fault, and waits before the next try.
    async fn rest(&self, fault: &Fault) {
        tracing::warn!(intent = %self.id, %fault, "an action cannot proceed now");
        tokio::time::sleep(self.shared.pace.after_fault).await;
    }

    /// Reads what is left of the allowance. If it is not zero, plans a transaction that clears it.
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

    /// Returns the newest sealed block, which is not below any block with a transaction of the
    /// intent on this chain. `None` while one of these blocks is not on the chain: a reading would
    /// not include the lost transaction, which may come back.
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
        if written.state.is_over() {
            note_end(&written);
        }
        self.shared.changed.notify_waiters();
        Ok(written)
    }
}

/// Counts and logs the end of an intent that this process has written. The metric leaves out an
/// intent that a reorganisation has reopened, because it was counted before.
pub(crate) fn note_end(intent: &Intent) {
    let (operation, outcome) = (intent.operation.as_str(), intent.state.as_str());
    if intent.reorganised_at.is_none() {
        metrics::counter!("svc_wallet_actions_total", "operation" => operation, "outcome" => outcome).increment(1);
    }
    tracing::info!(intent = %intent.id, operation, outcome, reason = intent.halted.as_deref(), "action ended");
}

/// Counts and logs that an intent is held by another cause than before.
fn note_hold(before: &Intent, after: &Intent) {
    let reason = |intent: &Intent| intent.held.as_ref().map(|held| held.reason.clone());
    let Some(now) = reason(after).filter(|now| reason(before).as_ref() != Some(now)) else {
        return;
    };
    let operation = after.operation.as_str();
    tracing::warn!(intent = %after.id, operation, reason = now, "an action is held");
    metrics::counter!("svc_wallet_actions_held_total", "operation" => operation, "reason" => now)
        .increment(1);
}

/// The result of handling one transaction.
enum Step {
    /// Write the changed record.
    Write(Intent),
    /// Keep the wallet's turn, and look again after the pause.
    Wait(Duration),
    /// Write the record if it has changed, end the wallet's turn, and take it again after the
    /// pause.
    Leave(Intent, Duration),
}

impl Shared {
    /// Lends the wallet's key to the sender of transactions, for wallet actions only.
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

    /// Makes the sender work the lanes of an intent. The sender watches transactions until no
    /// reorganisation can remove their blocks. After a restart it does not know the wallet's signer
    /// until this call.
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
