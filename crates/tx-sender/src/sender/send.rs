//! Sends signed bytes to the nodes, and handles their answers.

use std::time::Duration;

use tokio::time::Instant;

use super::driver::{Driver, Stop};
use crate::node::{Delivery, View};
use crate::{Attempt, Closing, Hold, Kind, NodeFault, Record, Refusal, State};

/// After this time a delivery counts as lost, and the bytes are sent once more beside it.
const LOST_AFTER: Duration = Duration::from_secs(60);

/// How long a turn waits for the nodes to accept the bytes that it sends.
const PATIENCE: Duration = Duration::from_millis(500);

impl Driver {
    /// Sends bytes that no node has, and bytes that have waited long. They are always the same
    /// bytes; from the second time on they go to all nodes. A node that does not answer is not
    /// waited for. The bytes of a request that must not take effect any more are not sent.
    pub(super) async fn send(&mut self, view: &View, records: &mut [Record]) -> Result<(), Stop> {
        let mut open: Vec<&Record> = records
            .iter()
            .filter(|record| matches!(record.state, State::Signed | State::Broadcast))
            .collect();
        open.sort_by_key(|record| record.nonce);
        let (mut patience, now) = (Duration::ZERO, Instant::now());
        for record in open {
            let wanted =
                |attempt: &&Attempt| record.closing.is_none() || attempt.kind == Kind::Noop;
            let Some(newest) = record.newest().filter(wanted) else {
                continue;
            };
            let pace = self.paces.of(record);
            let wait = if pace.accepted || pace.lacks_coins(self.balance) {
                self.policy.resend_after
            } else {
                self.policy.poll_interval
            };
            let is_recent = |at: Option<Instant>, wait| at.is_some_and(|at| at + wait > now);
            if is_recent(pace.sent_at, wait) || is_recent(pace.sending_since, LOST_AFTER) {
                // The last answer of the nodes holds until they are asked again.
                let hold = pace.hold.clone();
                hold.into_iter().for_each(|hold| self.held(hold));
                continue;
            }
            pace.sending_since = Some(now);
            let again = pace.sent_at.is_some();
            if !again {
                self.rhythm.moved();
            }
            let (nodes, view) = (self.nodes.clone(), view.clone());
            let (id, hash, raw) = (record.id, newest.hash, newest.raw.clone());
            self.sending
                .spawn(async move { (id, hash, nodes.deliver(&view, &raw, again).await) });
            patience = PATIENCE;
        }
        let mut deliveries = Vec::new();
        while let Ok(Some(done)) =
            tokio::time::timeout_at(now + patience, self.sending.join_next()).await
        {
            deliveries.extend(done);
        }
        let mut changed = Vec::new();
        for (id, hash, delivery) in deliveries {
            let of_newest = |record: &&Record| {
                record.id == id && record.newest().is_some_and(|newest| newest.hash == hash)
            };
            if let Some(record) = records.iter().find(of_newest) {
                changed.extend(self.delivered(record, &delivery));
            }
        }
        self.write(records, changed).await
    }

    /// Handles a delivery. Returns the record if it changes.
    fn delivered(&mut self, record: &Record, delivery: &Delivery) -> Option<Record> {
        self.paces.delivered(record, delivery);
        if let (Some((Refusal::FeesTooLow, _)), Some(tip)) = (&delivery.refusal, delivery.least_tip)
        {
            self.least_tip = Some((tip, Instant::now()));
        }
        let hold = self.hold_of(record, delivery);
        let pace = self.paces.of(record);
        pace.hold.clone_from(&hold);
        if pace.lacks_coins(self.balance) {
            // The bytes begin to wait for a block when the coins are there.
            pace.newest_since = Instant::now();
        }
        hold.into_iter().for_each(|hold| self.held(hold));
        let mut next = record.clone();
        if delivery.shown && record.state == State::Signed {
            next = record.broadcast().unwrap_or(next);
        }
        if let Some((Refusal::Invalid, words)) = &delivery.refusal
            && delivery.by_all
            && record.closing.is_none()
            && let Ok(closed) = next.close(Closing::Refused(words.clone()))
        {
            tracing::warn!(key = record.key, lane = %self.lane, words, "every node refuses a transaction");
            next = closed;
        }
        (next != *record).then_some(next)
    }

    /// Returns why a delivery holds the lane. `None` when it does not.
    fn hold_of(&self, record: &Record, delivery: &Delivery) -> Option<Hold> {
        if delivery.accepted {
            return None;
        }
        let nodes = || {
            let fault = delivery.fault.clone();
            Hold::Nodes(fault.unwrap_or(NodeFault::Unreachable))
        };
        match &delivery.refusal {
            None => Some(nodes()),
            // Not all nodes have refused the transaction, so another one may accept it.
            Some((Refusal::Invalid, _)) if !delivery.by_all => Some(nodes()),
            Some((Refusal::Invalid, words)) if record.closing.is_some() => {
                let (nonce, message) = (record.nonce.unwrap_or_default(), words.clone());
                Some(Hold::NoopRefused { nonce, message })
            }
            Some((Refusal::NoFunds, _)) => {
                let least = record.most_cost().saturating_add(self.added_fees);
                Some(Hold::NoGas {
                    account: self.lane.account,
                    needed: delivery.needed.map_or(least, |stated| stated.max(least)),
                    balance: self.balance,
                })
            }
            Some((Refusal::Unclear, words)) => Some(Hold::Nodes(NodeFault::Refused {
                code: 0,
                message: words.clone(),
            })),
            // The next check, a raise, or an earlier transaction solves this.
            Some(_) => None,
        }
    }
}
