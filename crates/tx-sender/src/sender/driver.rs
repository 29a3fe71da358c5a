//! The task that works on one lane, turn by turn. A turn takes the lane's lease, reads the records
//! and the chain, and does what is due.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{B256, U256};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Shared;
use super::pace::Paces;
use super::rhythm::Rhythm;
use crate::node::{Delivery, Nodes, View};
use crate::observe::LaneMetrics;
use crate::{Fence, Hold, Lane, Policy, Record, StoreError, Takeover};

/// The longest pause after a turn that could not be finished.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The state of the task that works on one lane.
pub(super) struct Driver {
    pub(super) shared: Arc<Shared>,
    pub(super) lane: Lane,
    pub(super) nodes: Nodes,
    pub(super) policy: Policy,
    pub(super) metrics: LaneMetrics,
    pub(super) paces: Paces,
    pub(super) rhythm: Rhythm,
    /// The last check of the chain. While the head stays the same, nothing is asked for again.
    view: Option<View>,
    /// The last block that was found to be canonical.
    pub(super) anchor: Option<(u64, B256)>,
    /// The blocks of inclusions that are the anchor or ancestors of it.
    pub(super) anchored: BTreeSet<(u64, B256)>,
    /// Since when a nonce has been missing.
    pub(super) gap_since: Option<Instant>,
    /// Why the lane is held, as this turn has found.
    pub(super) hold: Option<Hold>,
    /// Whether another sender works on the lane.
    elsewhere: bool,
    pub(super) transactions_left: Option<u64>,
    /// The account's balance at the last check, in wei.
    pub(super) balance: U256,
    /// The most that the chain adds to the gas of one transaction, at the last check, in wei.
    pub(super) added_fees: U256,
    /// The least tip that the nodes have demanded, in wei per gas, and when.
    pub(super) least_tip: Option<(u128, Instant)>,
    /// The deliveries that are running: record, hash, result.
    pub(super) sending: JoinSet<(u64, B256, Delivery)>,
    takeover: Takeover,
    fence: Option<Fence>,
    /// When the lease was last renewed.
    leased_at: Option<Instant>,
    reported: Option<&'static str>,
}

/// Why a turn ended early.
pub(super) enum Stop {
    /// The lane is held.
    Held(Hold),
    /// A caller has changed a record meanwhile, or another sender has the lane. The next turn reads
    /// again.
    Again,
}

impl From<Hold> for Stop {
    fn from(hold: Hold) -> Self {
        Self::Held(hold)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict { .. } | StoreError::Fenced { .. } => {
                tracing::debug!(%error, "a turn begins again");
                Self::Again
            }
            error => Self::Held(Hold::Store(error)),
        }
    }
}

/// The work that is left after a turn.
enum Left {
    Nothing,
    /// Only outcomes are left, which are watched for a reorganisation.
    Watching,
    Waiting,
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>, lane: Lane, nodes: Nodes, policy: Policy) -> Self {
        Self {
            takeover: shared.options.takeover,
            shared,
            lane,
            nodes,
            policy,
            metrics: LaneMetrics::new(lane),
            paces: Paces::default(),
            rhythm: Rhythm::default(),
            view: None,
            anchor: None,
            anchored: BTreeSet::new(),
            gap_since: None,
            hold: None,
            elsewhere: false,
            transactions_left: None,
            balance: U256::ZERO,
            added_fees: U256::ZERO,
            least_tip: None,
            sending: JoinSet::new(),
            fence: None,
            leased_at: None,
            reported: None,
        }
    }

    /// Works on the lane until the sender is closed or the task is aborted.
    pub(super) async fn run(mut self, wake: Arc<Notify>) {
        let mut failures: u32 = 0;
        while !self.shared.is_closed() {
            let pause = match self.leased_turn().await {
                Ok(Left::Nothing) => {
                    failures = 0;
                    self.rest().await;
                    None
                }
                Ok(Left::Watching) => {
                    failures = 0;
                    self.make_way().await;
                    Some(self.policy.watch_interval)
                }
                Ok(Left::Waiting) if self.elsewhere => {
                    failures = 0;
                    Some(Rhythm::regular(&self.policy))
                }
                Ok(Left::Waiting) => {
                    failures = 0;
                    if self.is_held_here() {
                        self.make_way().await;
                    }
                    Some(self.rhythm.pause(&self.policy))
                }
                Err(Stop::Again) => {
                    failures = failures.saturating_add(1);
                    // A conflict that lasts means that a record is not open any more.
                    if failures > 8 {
                        let key = self.lane.to_string();
                        self.hold = Some(Hold::Store(StoreError::Conflict { key }));
                    }
                    Some(if failures > 1 {
                        self.pause(failures)
                    } else {
                        Duration::ZERO
                    })
                }
                Err(Stop::Held(hold)) => {
                    failures = failures.saturating_add(1);
                    self.anchor = None;
                    // The next turn checks the lease before anything else.
                    self.leased_at = None;
                    self.hold = Some(hold);
                    if self.is_held_here() {
                        self.make_way().await;
                    }
                    Some(self.pause(failures))
                }
            };
            self.report();
            match pause {
                None => wake.notified().await,
                Some(pause) => {
                    let _ = tokio::time::timeout(pause, wake.notified()).await;
                }
            }
        }
        self.rest().await;
    }

    /// Returns the pause after a failure. It is short at first, and doubles with each further
    /// failure.
    fn pause(&self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.min(16));
        Rhythm::first(&self.policy)
            .saturating_mul(doubled)
            .min(MAX_PAUSE)
    }

    /// Runs a turn, and renews the lease meanwhile. So the lease does not end, however long nodes
    /// and signers take.
    async fn leased_turn(&mut self) -> Result<Left, Stop> {
        let (shared, lane, ended) = (Arc::clone(&self.shared), self.lane, Notify::new());
        let renew_after = self.renew_after();
        let renew = async {
            while tokio::time::timeout(renew_after, ended.notified())
                .await
                .is_err()
            {
                // If this fails, the writes of the turn fail too.
                let _ = shared.lease(lane, Takeover::WhenOver).await;
            }
        };
        let turn = async {
            let left = self.turn().await;
            ended.notify_one();
            left
        };
        tokio::join!(turn, renew).0
    }

    /// Checks all open records once, and does what is due.
    async fn turn(&mut self) -> Result<Left, Stop> {
        self.hold = None;
        self.elsewhere = false;
        // Until the lane is ours, another process may write. So this first reading only shows
        // whether there is work.
        if !self.is_leased() {
            let records = self.shared.store.live(self.lane).await?;
            if records.is_empty() {
                self.note_depth(&records);
                return Ok(Left::Nothing);
            }
            if !self.take_lane().await? {
                self.elsewhere = true;
                self.shared.watchers.publish(&records);
                self.note_depth(&records);
                return Ok(Self::left(&records));
            }
        }
        let mut records = self.shared.store.live(self.lane).await?;
        // Another sender may have worked on the lane meanwhile.
        self.shared.watchers.publish(&records);
        self.paces.keep(&records);
        self.note_depth(&records);
        let view = self.nodes.view(self.lane.account, self.view.take()).await?;
        self.view = Some(view.clone());
        self.look(&view, &mut records).await?;
        self.tend(&view, &mut records).await?;
        self.note_depth(&records);
        Ok(Self::left(&records))
    }

    fn left(records: &[Record]) -> Left {
        let mut open = records.iter().filter(|record| !record.is_final).peekable();
        if open.peek().is_none() {
            return Left::Nothing;
        }
        if open.all(|record| record.state.is_outcome()) {
            Left::Watching
        } else {
            Left::Waiting
        }
    }

    fn is_leased(&self) -> bool {
        let since = self.leased_at.filter(|_| self.fence.is_some());
        since.is_some_and(|since| since.elapsed() < self.renew_after())
    }

    fn renew_after(&self) -> Duration {
        Duration::from_secs(self.shared.options.lease_seconds) / 3
    }

    /// Takes the lane or renews its lease. Returns whether this sender has it.
    async fn take_lane(&mut self) -> Result<bool, Stop> {
        let fence = self.shared.lease(self.lane, self.takeover).await?;
        // After it was taken at once, the lane is kept only by renewing its lease.
        self.takeover = Takeover::WhenOver;
        if self.fence != fence {
            self.gap_since = None;
        }
        self.fence = fence;
        self.leased_at = Some(Instant::now());
        Ok(fence.is_some())
    }

    /// Whether the lane is held because of something in this process, which may be in order in
    /// another process.
    fn is_held_here(&self) -> bool {
        matches!(
            self.hold,
            Some(Hold::Nodes(_) | Hold::Contradiction { .. } | Hold::Signer(_))
        )
    }

    /// Lets another sender take the lane before the next turn, if others may exist.
    async fn make_way(&mut self) {
        if self.shared.options.takeover == Takeover::WhenOver {
            self.rest().await;
        }
    }

    /// Gives the lane back, so that another sender may take it.
    async fn rest(&mut self) {
        if let Some(fence) = self.fence.take() {
            let given = self
                .shared
                .store
                .give_back(fence, &self.shared.holder)
                .await;
            if let Err(error) = given {
                tracing::debug!(lane = %self.lane, code = error.code(), "lane not given back");
            }
        }
    }

    /// Writes records, all or none, and replaces them in memory.
    pub(super) async fn write(
        &mut self,
        records: &mut [Record],
        changed: Vec<Record>,
    ) -> Result<(), Stop> {
        if changed.is_empty() {
            return Ok(());
        }
        let Some(fence) = self.fence else {
            return Err(Stop::Again);
        };
        let written = self.shared.store.write(fence, changed).await;
        if matches!(written, Err(StoreError::Fenced { .. })) {
            self.fence = None;
        }
        let written = written?;
        self.rhythm.moved();
        self.shared.watchers.publish(&written);
        for next in written {
            if let Some(known) = records.iter_mut().find(|known| known.id == next.id) {
                if known.state.as_str() != next.state.as_str() {
                    tracing::debug!(
                        key = next.key, lane = %self.lane, nonce = next.nonce, state = next.state.as_str(),
                        "transaction"
                    );
                }
                *known = next;
            }
        }
        Ok(())
    }

    /// Keeps the first hold of this turn. A hold that blocks nothing else gives way to any other.
    pub(super) fn held(&mut self, hold: Hold) {
        if matches!(self.hold, None | Some(Hold::OutcomeUnknown { .. })) {
            self.hold = Some(hold);
        }
    }

    fn note_depth(&self, records: &[Record]) {
        let now = self.shared.options.clock.now();
        let waiting = records.iter().filter(|record| !record.state.is_outcome());
        let (mut depth, mut oldest): (usize, u64) = (0, 0);
        for record in waiting {
            depth = depth.saturating_add(1);
            oldest = oldest.max(now.saturating_sub(record.submitted_at));
        }
        self.metrics.depth(depth, oldest);
        if let Some(left) = self.transactions_left {
            self.metrics.left(left);
        }
        let mut statuses = self.shared.statuses();
        let status = statuses.entry(self.lane).or_default();
        status.depth = depth;
        status.transactions_left = self.transactions_left;
    }

    /// Publishes whether and why the lane is held.
    fn report(&mut self) {
        let code = self.hold.as_ref().map(Hold::code);
        if code != self.reported {
            if let Some(before) = self.reported {
                self.metrics.held(before, false);
            }
            match (&self.hold, code) {
                (Some(hold), Some(code)) => {
                    self.metrics.held(code, true);
                    tracing::warn!(lane = %self.lane, code, %hold, "lane held");
                }
                _ => tracing::info!(lane = %self.lane, "lane continues"),
            }
            self.reported = code;
        }
        let mut statuses = self.shared.statuses();
        let status = statuses.entry(self.lane).or_default();
        status.hold = self.hold.clone();
        status.elsewhere = self.elsewhere;
    }

    /// Returns the nonces of all records that wait for a block or are in one.
    pub(super) fn nonces(records: &[Record]) -> std::collections::BTreeSet<u64> {
        records.iter().filter_map(|record| record.nonce).collect()
    }

    /// Whether the block `number` has the confirmations that the record needs, and `more` blocks
    /// above them.
    pub(super) fn is_deep(&self, record: &Record, number: u64, view: &View, more: u64) -> bool {
        let confirmations = record.request.confirmations;
        let confirmations = confirmations.unwrap_or(self.policy.confirmations);
        let needed = number.saturating_add(confirmations).saturating_add(more);
        view.head.number >= needed
    }
}
