//! Drives one plan, turn by turn.
//!
//! A turn reads the plan from the store and the present state from the chain, asks the state
//! machine of `delegation-fence` for the next action, carries it out, and writes the result as an
//! event. The state machine decides; this module has the effects.

mod blocks;
mod confirm;
mod order;
mod readings;
mod resolve;
mod snapshot;

use std::sync::Arc;

use alloy_primitives::{Address, B256};
use delegation_fence::{Action, Event, State};
use fence_server::{Change, DelegationError, Lease, StoreError};
use tokio::time::Instant;
use tx_sender::TurnFence;

use self::snapshot::Snapshot;
use crate::{SealedBlock, SendingFault, Shared};

/// The result of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Something was written. The next turn follows at once.
    Progressed,
    /// The plan waits for something. The next turn follows after a pause.
    Waits,
    /// The plan rests: nothing is left to do, unless something changes.
    Rests(State),
    /// Another process has the account's lease or turn.
    LeasedElsewhere,
}

/// Drives one plan. Between two turns it keeps the lease and what it waits for: every turn reads
/// everything else again.
pub(crate) struct Driver {
    pub(crate) shared: Arc<Shared>,
    plan: B256,
    /// The account's turn, while this driver runs.
    turn: Option<TurnFence>,
    lease: Option<Lease>,
    /// Whether this driver has woken the sender for the lane of the plan's transactions.
    woken: bool,
    /// Since when coins for the clearing have been on their way.
    coins_since: Option<Instant>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>, plan: B256, turn: Option<TurnFence>) -> Self {
        Self {
            shared,
            plan,
            turn,
            lease: None,
            woken: false,
            coins_since: None,
        }
    }

    /// Runs turns until nothing is left to do, or another process has the plan.
    pub(crate) async fn run(&mut self) -> Turn {
        loop {
            match self.turn().await {
                Ok(Turn::Progressed) => {}
                Ok(Turn::Waits) => self.wait().await,
                Ok(ended) => {
                    self.give_back().await;
                    return ended;
                }
                // Another task has written about the account. The next turn reads it.
                Err(SendingFault::Store(StoreError::Conflict { .. })) => {}
                Err(SendingFault::Store(StoreError::Fenced { .. })) => {
                    self.lease = None;
                    return Turn::LeasedElsewhere;
                }
                Err(fault) if fault.is_turn_lost() => {
                    tracing::warn!(plan = %self.plan, %fault, "a plan waits for its next turn");
                    self.give_back().await;
                    return Turn::LeasedElsewhere;
                }
                Err(fault @ SendingFault::Events(_)) => {
                    tracing::error!(plan = %self.plan, %fault, "a plan's events are not a possible sequence of a send");
                    self.give_back().await;
                    return Turn::Rests(State::Halting);
                }
                Err(fault) => {
                    tracing::warn!(plan = %self.plan, %fault, "a plan cannot proceed now");
                    match fault {
                        SendingFault::Delegations(DelegationError::Prices(_)) => {
                            tokio::time::sleep(self.shared.pace.unpriced).await;
                        }
                        _ => self.wait().await,
                    }
                }
            }
        }
    }

    async fn wait(&self) {
        tokio::time::sleep(self.shared.pace.look).await;
    }

    pub(crate) async fn give_back(&mut self) {
        if let Some(lease) = self.lease.take() {
            // If this fails, the lease expires.
            let _ = self
                .shared
                .store()
                .give_back(lease, &self.shared.holder)
                .await;
        }
    }

    /// Reads everything and takes at most one action.
    async fn turn(&mut self) -> Result<Turn, SendingFault> {
        let Some(kept) = self.shared.store().submission(self.plan).await? else {
            return Ok(Turn::Rests(State::Done));
        };
        let Some(lease) = self.take_lease(kept.admitted.account).await? else {
            return Ok(Turn::LeasedElsewhere);
        };
        let sending = kept.sending()?;
        let snapshot = Snapshot {
            kept,
            sending,
            lease,
        };
        if let Some(gone) = self.gone(&snapshot).await? {
            return self.append(&snapshot, Event::Gone(gone)).await;
        }
        let at_least = snapshot
            .sealed()
            .iter()
            .map(|(_, block)| block.number)
            .max();
        let sealed = self.shared.chain.sealed(at_least.unwrap_or_default()).await;
        let view = self.view(&snapshot, sealed.as_ref().ok()).await?;
        let action = snapshot.sending.next(&view);
        let sealed = match (sealed, action) {
            (Ok(sealed), _) => sealed,
            // A halt is written even when no chain can be read.
            (Err(_), Action::Append(event @ Event::Halting { .. })) => {
                return self.append(&snapshot, event).await;
            }
            (Err(fault), _) => return Err(fault.into()),
        };
        self.act(&snapshot, action, sealed).await
    }

    async fn act(
        &mut self,
        snapshot: &Snapshot,
        action: Action,
        sealed: SealedBlock,
    ) -> Result<Turn, SendingFault> {
        match action {
            Action::Order(transaction) => self.order(snapshot, transaction, sealed).await,
            Action::Resolve(transaction) => {
                self.resolve(snapshot, transaction, sealed, false).await
            }
            Action::Cancel(transaction) => self.resolve(snapshot, transaction, sealed, true).await,
            Action::ReadLanding => self.read_landing(snapshot).await,
            Action::ReadAllowance => {
                let event = match snapshot.left_by_execution() {
                    Some(event) => event,
                    None => self.read_allowance(snapshot, sealed).await?,
                };
                self.append(snapshot, event).await
            }
            Action::Append(event) => self.append(snapshot, event).await,
            Action::Rest(State::HaltedDirty) => self.look_again(snapshot, sealed).await,
            Action::Rest(state) => Ok(Turn::Rests(state)),
        }
    }

    /// Appends an event, on the conditions that nothing else was written about the account
    /// meanwhile and that the lease is still held.
    async fn append(&self, snapshot: &Snapshot, event: Event) -> Result<Turn, SendingFault> {
        let mut write = snapshot
            .kept
            .append(event, snapshot.lease, self.shared.now())?;
        write.changes.extend(self.gas_change(snapshot, event).await);
        self.shared.store().write(write).await?;
        tracing::info!(plan = %self.plan, event = event.to_json(), "delegated plan");
        Ok(Turn::Progressed)
    }

    /// The change of the plan's gas cost, when an event adds a cost or ends the plan. Until its
    /// end, a plan counts at least with its estimate. When the cost cannot be read now, nothing
    /// changes: the next such event, or the estimate, counts.
    async fn gas_change(&self, snapshot: &Snapshot, event: Event) -> Option<Change> {
        let kept = &snapshot.kept;
        let is_over = match event {
            Event::Sealed { .. } | Event::Void(_) => false,
            Event::Finished | Event::ClearImpossible(_) => true,
            _ => return None,
        };
        let cost = match self.shared.cost_so_far(kept).await {
            Ok(cost) => cost?,
            Err(fault) => {
                tracing::warn!(plan = %self.plan, %fault, "the gas cost of a plan cannot be read now");
                return None;
            }
        };
        let micro_usd = match is_over {
            true => cost,
            false => cost.max(kept.gas_micro_usd),
        };
        (micro_usd != kept.gas_micro_usd).then_some(Change::Gas {
            payload_digest: kept.admitted.payload_digest,
            micro_usd,
        })
    }

    /// Takes or renews the account's lease. Returns `None` while another process has it.
    async fn take_lease(&mut self, account: Address) -> Result<Option<Lease>, SendingFault> {
        let Shared { holder, pace, .. } = self.shared.as_ref();
        let (store, now) = (self.shared.store(), self.shared.now());
        let lease = store.acquire(account, holder, now, pace.lease_seconds);
        self.lease = lease.await?;
        Ok(self.lease)
    }
}
