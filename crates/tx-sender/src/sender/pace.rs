//! Remembers when each transaction was last worked on. The clock cannot be set back. A new process
//! starts without these facts, because they are no part of the record.

use std::collections::HashMap;

use alloy_primitives::U256;
use tokio::time::Instant;

use crate::node::Delivery;
use crate::{Hold, Record, Refusal};

/// The facts that the process remembers about the work on one record.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    /// How many transactions the record had at the last check.
    attempts: usize,
    /// Since when the newest transaction has been known.
    pub(crate) newest_since: Instant,
    /// When the bytes were last sent. `None` when they were not sent yet.
    pub(crate) sent_at: Option<Instant>,
    /// When the running delivery of the bytes began.
    pub(crate) sending_since: Option<Instant>,
    /// Whether a node accepted the bytes in the last delivery.
    pub(crate) accepted: bool,
    /// The refusal of all nodes in the last delivery, if they refused the bytes.
    pub(crate) refusal: Option<Refusal>,
    /// Why the last delivery holds the lane, if it does.
    pub(crate) hold: Option<Hold>,
    /// By how many steps the next raise goes up, for nodes that require more than one step.
    pub(crate) step: u32,
    /// Since when the nonce has been known as used while no receipt is visible.
    pub(crate) used_since: Option<Instant>,
    /// When the blocks were last searched for the transaction that used the nonce.
    pub(crate) searched_at: Option<Instant>,
    /// Since when the fees could not be raised any more.
    pub(crate) at_cap_since: Option<Instant>,
}

impl Pace {
    /// Whether the nodes refused the bytes for lack of coins, and the account still has the
    /// balance of then: they would refuse the same bytes again.
    pub(crate) fn lacks_coins(&self, now: U256) -> bool {
        matches!(&self.hold, Some(Hold::NoGas { balance, .. }) if *balance == now)
    }

    /// Whether nodes require higher fees for the transaction.
    pub(crate) const fn is_outbid(&self) -> bool {
        matches!(
            self.refusal,
            Some(Refusal::Underpriced | Refusal::FeesTooLow)
        )
    }
}

/// The remembered facts about each record of a lane.
#[derive(Debug, Default)]
pub(crate) struct Paces {
    of: HashMap<u64, Pace>,
}

impl Paces {
    pub(crate) fn of(&mut self, record: &Record) -> &mut Pace {
        let pace = self.of.entry(record.id).or_insert_with(|| Pace {
            attempts: record.attempts.len(),
            newest_since: Instant::now(),
            sent_at: None,
            sending_since: None,
            accepted: false,
            refusal: None,
            hold: None,
            step: 1,
            used_since: None,
            searched_at: None,
            at_cap_since: None,
        });
        if pace.attempts != record.attempts.len() {
            pace.attempts = record.attempts.len();
            pace.newest_since = Instant::now();
            pace.sent_at = None;
            pace.sending_since = None;
            pace.accepted = false;
            pace.refusal = None;
            pace.hold = None;
            pace.at_cap_since = None;
        }
        pace
    }

    pub(crate) fn delivered(&mut self, record: &Record, delivery: &Delivery) {
        let pace = self.of(record);
        pace.sent_at = pace.sending_since.take().or(Some(Instant::now()));
        pace.accepted = delivery.accepted;
        pace.refusal = delivery.refusal.as_ref().map(|(kind, _)| *kind);
        match pace.refusal {
            Some(Refusal::Underpriced) => pace.step = pace.step.saturating_add(1).min(16),
            _ if delivery.accepted => pace.step = 1,
            _ => {}
        }
    }

    /// Notes that the block of a record is not canonical any more. Its bytes are sent at once, and
    /// raised no sooner than new ones.
    pub(crate) fn reorganised(&mut self, record: &Record) {
        let pace = self.of(record);
        pace.newest_since = Instant::now();
        pace.sent_at = None;
        pace.used_since = None;
        pace.searched_at = None;
    }

    /// Forgets the records that are not among `records`.
    pub(crate) fn keep(&mut self, records: &[Record]) {
        self.of
            .retain(|id, _| records.iter().any(|record| record.id == *id));
    }
}
