//! One plan: reads what is true, asks the state machine what to do, does it, and writes what came
//! of it.

mod confirm;
mod order;
mod resolve;

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use calldata_checks::UtcSeconds;
use delegation_fence::{Action, Block, Event, Now, Report, Sending, State, Transaction, View};
use fence_server::{Change, DelegationError, KeptSubmission, Lease, Store, StoreError};
use tx_sender::Record;

use crate::{Fault, SealedBlock, Shared, key};

/// What a turn has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Something was written: the next turn follows at once.
    Went,
    /// Something is waited for.
    Waits,
    /// Nothing is left to be done, while nothing changes.
    Rests(State),
    /// Another process has the account's lease.
    Elsewhere,
}

/// Drives one plan. Between two turns it holds nothing but the lease: every turn reads everything
/// again.
pub(crate) struct Driver {
    pub(crate) shared: Arc<Shared>,
    plan: B256,
    lease: Option<Lease>,
    /// Whether the sender was told to work the lane of the plan's open transactions.
    woken: bool,
}

/// A plan as it stands in one turn.
pub(crate) struct Standing {
    pub(crate) kept: KeptSubmission,
    pub(crate) sending: Sending,
    pub(crate) lease: Lease,
}

impl Standing {
    fn key(&self, transaction: Transaction) -> String {
        key::of(&self.kept.admitted, transaction, &self.kept.events)
    }

    fn report(&self) -> Report {
        self.sending.report(&self.kept.admitted)
    }

    /// The transactions that stand in sealed blocks by the events, with these blocks.
    fn sealed(&self) -> Vec<(Transaction, Block)> {
        let mut sealed: Vec<(Transaction, Block)> = Vec::new();
        for event in &self.kept.events {
            match *event {
                Event::Sealed {
                    transaction, block, ..
                } => sealed.push((transaction, block)),
                Event::Gone(gone) => sealed.retain(|(transaction, _)| *transaction != gone),
                _ => {}
            }
        }
        sealed
    }

    /// What an executed plan leaves: the allowance as it was read at the block of the plan's last
    /// transaction. In a later block stands what the account's next plan has approved, which may be
    /// on its way when a reorganisation has moved this one.
    fn left_by_execution(&self) -> Option<Event> {
        let sealed = self.sealed();
        let (last, block) = *sealed.iter().max_by_key(|(_, block)| block.number)?;
        let read = self
            .kept
            .events
            .iter()
            .rev()
            .find_map(|event| match *event {
                Event::Sealed {
                    transaction,
                    allowance,
                    ..
                } if transaction == last => Some(allowance),
                _ => None,
            });
        let allowance = read.filter(|_| is_executed(&self.report()))?;
        Some(Event::ReadBack { allowance, block })
    }

    /// The allowance of the last reading.
    fn read_back(&self) -> Option<U256> {
        self.report().allowance_read_back.map(|(amount, _)| amount)
    }
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>, plan: B256) -> Self {
        Self {
            shared,
            plan,
            lease: None,
            woken: false,
        }
    }

    /// Goes on until nothing is left to be done, or another process has the plan.
    pub(crate) async fn run(&mut self) -> Turn {
        loop {
            match self.turn().await {
                Ok(Turn::Went) => {}
                Ok(Turn::Waits) => self.wait().await,
                Ok(ended) => {
                    self.give_back().await;
                    return ended;
                }
                // Somebody else has written: what it was is read.
                Err(Fault::Store(StoreError::Conflict { .. })) => {}
                Err(Fault::Store(StoreError::Fenced { .. })) => {
                    self.lease = None;
                    return Turn::Elsewhere;
                }
                Err(fault @ Fault::Events(_)) => {
                    tracing::error!(plan = %self.plan, %fault, "a plan's events are not those of a send");
                    self.give_back().await;
                    return Turn::Rests(State::Halting);
                }
                Err(fault) => {
                    tracing::warn!(plan = %self.plan, %fault, "a plan waits");
                    match fault {
                        Fault::Delegations(DelegationError::Prices(_)) => {
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
            // It ends by itself otherwise.
            let _ = self
                .shared
                .store()
                .give_back(lease, &self.shared.holder)
                .await;
        }
    }

    /// One look and at most one step.
    async fn turn(&mut self) -> Result<Turn, Fault> {
        let Some(kept) = self.shared.store().submission(self.plan).await? else {
            return Ok(Turn::Rests(State::Done));
        };
        let Some(lease) = self.take_lease(kept.admitted.account).await? else {
            return Ok(Turn::Elsewhere);
        };
        let sending = kept.sending()?;
        let standing = Standing {
            kept,
            sending,
            lease,
        };
        if let Some(gone) = self.gone(&standing).await? {
            return self.append(&standing, Event::Gone(gone)).await;
        }
        let at_least = standing
            .sealed()
            .iter()
            .map(|(_, block)| block.number)
            .max();
        let sealed = self.shared.chain.sealed(at_least.unwrap_or_default()).await;
        let view = self.view(&standing, sealed.as_ref().ok()).await?;
        let action = standing.sending.next(&view);
        let sealed = match (sealed, action) {
            (Ok(sealed), _) => sealed,
            // What ends a plan needs no chain.
            (Err(_), Action::Append(event @ Event::Halting { .. })) => {
                return self.append(&standing, event).await;
            }
            (Err(fault), _) => return Err(fault.into()),
        };
        self.act(&standing, action, sealed).await
    }

    async fn act(
        &mut self,
        standing: &Standing,
        action: Action,
        sealed: SealedBlock,
    ) -> Result<Turn, Fault> {
        match action {
            Action::Order(transaction) => self.order(standing, transaction, sealed).await,
            Action::Resolve(transaction) => self.resolve(standing, transaction, false).await,
            Action::Cancel(transaction) => self.resolve(standing, transaction, true).await,
            Action::ReadLanding => self.read_landing(standing).await,
            Action::ReadAllowance => {
                let event = match standing.left_by_execution() {
                    Some(event) => event,
                    None => self.read_allowance(standing, sealed).await?,
                };
                self.append(standing, event).await
            }
            Action::Append(event) => self.append(standing, event).await,
            Action::Rest(State::HaltedDirty) => self.look_again(standing, sealed).await,
            Action::Rest(state) => Ok(Turn::Rests(state)),
        }
    }

    /// What is true now.
    async fn view(&self, standing: &Standing, sealed: Option<&SealedBlock>) -> Result<View, Fault> {
        let wall = self.shared.now();
        let now = Now {
            wall,
            chain: sealed.map_or(wall, |sealed| sealed.at),
        };
        let report = standing.report();
        let ended = report.halted_at.is_some() || is_executed(&report);
        let confirmation = match ended {
            true => Ok(()),
            false => self.confirm(standing, now).await?,
        };
        let owes = ended && standing.read_back().is_some_and(|left| !left.is_zero());
        let clear = match sealed.filter(|_| owes) {
            Some(sealed) => self.clear_obstacle(standing, *sealed).await?,
            None => Ok(()),
        };
        Ok(View {
            now,
            confirmation,
            clear,
        })
    }

    /// A transaction whose block is gone, by the sender's own records: it watches its outcomes for
    /// as long as a reorganisation is expected to reach them.
    async fn gone(&mut self, standing: &Standing) -> Result<Option<Transaction>, Fault> {
        for (transaction, block) in standing.sealed() {
            let record = self.shared.sender.find(&standing.key(transaction)).await?;
            let Some(record) = record else { continue };
            if !stands_in(&record, block) {
                return Ok(Some(transaction));
            }
            if !record.is_final {
                self.watch(standing).await;
            }
        }
        Ok(None)
    }

    /// Lets the sender watch the blocks of the account's transactions. After a restart it works no
    /// lane whose account it was not told of, and what a reorganisation moved would stay in the
    /// records as it was.
    async fn watch(&mut self, standing: &Standing) {
        if self.woken {
            return;
        }
        let woken = match self.lane(standing).await {
            Ok(lane) => self.shared.sender.wake(lane).map_err(Fault::from),
            Err(fault) => Err(fault),
        };
        match woken {
            Ok(()) => self.woken = true,
            // What is left to be done does not wait for it; the next look asks again.
            Err(fault) => {
                tracing::warn!(plan = %self.plan, %fault, "an account's blocks are not watched");
            }
        }
    }

    /// Whether every transaction of the plan is where no reorganisation is expected to reach it.
    pub(crate) async fn is_final(&self) -> Result<bool, Fault> {
        let Some(kept) = self.shared.store().submission(self.plan).await? else {
            return Ok(true);
        };
        let standing = Standing {
            sending: kept.sending()?,
            lease: Lease {
                account: kept.admitted.account,
                token: 0,
            },
            kept,
        };
        for (transaction, block) in standing.sealed() {
            let record = self.shared.sender.find(&standing.key(transaction)).await?;
            if record.is_some_and(|record| !record.is_final || !stands_in(&record, block)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn read_landing(&self, standing: &Standing) -> Result<Turn, Fault> {
        let admitted = &standing.kept.admitted;
        let landing = admitted.landing;
        let [_, _, Some((hash, block, _))] = standing.report().steps else {
            return Ok(Turn::Waits);
        };
        let received = self
            .shared
            .chain
            .received(landing.token, landing.account, hash, block);
        match received.await? {
            Some(amount) => self.append(standing, Event::Landed(amount)).await,
            None => Ok(Turn::Waits),
        }
    }

    async fn read_allowance(
        &self,
        standing: &Standing,
        sealed: SealedBlock,
    ) -> Result<Event, Fault> {
        let admitted = &standing.kept.admitted;
        let (owner, block) = (admitted.account, sealed.block);
        let allowance = self
            .shared
            .chain
            .allowance(admitted.token, owner, admitted.spender, block);
        Ok(Event::ReadBack {
            allowance: allowance.await?,
            block,
        })
    }

    /// An allowance is left that the service cannot clear: somebody else may have cleared it.
    async fn look_again(&self, standing: &Standing, sealed: SealedBlock) -> Result<Turn, Fault> {
        let event = self.read_allowance(standing, sealed).await?;
        match event {
            Event::ReadBack { allowance, .. } if standing.read_back() != Some(allowance) => {
                self.append(standing, event).await
            }
            _ => Ok(Turn::Rests(State::HaltedDirty)),
        }
    }

    /// Writes what happened, if nothing else was written about the account meanwhile and the lease
    /// is still held.
    async fn append(&self, standing: &Standing, event: Event) -> Result<Turn, Fault> {
        let mut write = standing
            .kept
            .append(event, standing.lease, self.shared.now())?;
        write.changes.extend(self.gas_change(standing, event).await);
        self.shared.store().write(write).await?;
        tracing::info!(plan = %self.plan, event = event.to_json(), "delegated plan");
        Ok(Turn::Went)
    }

    /// What the plan's gas has cost, where an event changes it or says that nothing follows. On its
    /// way a plan counts with its estimate at least. What cannot be read now changes nothing: the
    /// next such event, or the estimate, counts.
    async fn gas_change(&self, standing: &Standing, event: Event) -> Option<Change> {
        let kept = &standing.kept;
        let is_over = match event {
            Event::Sealed { .. } | Event::Void(_) => false,
            Event::Finished | Event::ClearImpossible(_) => true,
            _ => return None,
        };
        let cost = match self.shared.cost_so_far(kept).await {
            Ok(cost) => cost?,
            Err(fault) => {
                tracing::warn!(plan = %self.plan, %fault, "what a plan's gas has cost is not known now");
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

    /// The account's lease, taken or renewed.
    async fn take_lease(&mut self, account: Address) -> Result<Option<Lease>, Fault> {
        let Shared { holder, pace, .. } = self.shared.as_ref();
        let (store, now) = (self.shared.store(), self.shared.now());
        let lease = store.acquire(account, holder, now, pace.lease_seconds);
        self.lease = lease.await?;
        Ok(self.lease)
    }
}

/// Whether all three steps took effect.
fn is_executed(report: &Report) -> bool {
    report
        .steps
        .iter()
        .all(|step| step.is_some_and(|(_, _, effective)| effective))
}

/// Whether the sender's record still says that its transaction stands in this block.
fn stands_in(record: &Record, block: Block) -> bool {
    let outcome = match record.state {
        tx_sender::State::Sealed(inclusion) | tx_sender::State::Failed(inclusion) => inclusion,
        _ => return false,
    };
    (outcome.number, outcome.block) == (block.number, block.hash)
}

/// How fast plans go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The pause between two looks while something is waited for.
    pub look: Duration,
    /// The pause after prices that could not be read. The plan waits for them until it is over.
    pub unpriced: Duration,
    /// How often it is looked for plans that nobody drives, and for blocks of ended plans that are
    /// gone.
    pub sweep: Duration,
    /// How often an allowance is read again that the service cannot clear.
    pub rest: Duration,
    /// How long a lease is taken for. It is renewed with every look.
    pub lease_seconds: u64,
    /// How long after its end a plan's blocks are watched.
    pub watched: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            look: Duration::from_millis(750),
            unpriced: Duration::from_secs(3),
            sweep: Duration::from_secs(5),
            rest: Duration::from_secs(60),
            lease_seconds: 30,
            watched: Duration::from_secs(900),
        }
    }
}

impl Shared {
    pub(crate) fn store(&self) -> &dyn Store {
        self.delegations.store().as_ref()
    }

    pub(crate) fn now(&self) -> UtcSeconds {
        UtcSeconds::from_unix((self.clock)())
    }
}
