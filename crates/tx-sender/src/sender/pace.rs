//! When a transaction was last looked after, by a clock that cannot be set back. Nothing here is
//! the truth about a record: a new process begins anew.

use std::collections::HashMap;

use tokio::time::Instant;

use crate::node::Delivery;
use crate::{Hold, Record, Refusal};

/// What is remembered of one record while the process lasts.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    /// How many transactions it had when it was last looked at.
    attempts: usize,
    /// Since when the newest one is known.
    pub(crate) newest_since: Instant,
    /// When its bytes were last handed over; `None`: not yet.
    pub(crate) sent_at: Option<Instant>,
    /// Since when they are being handed over.
    pub(crate) sending_since: Option<Instant>,
    /// Whether a node has taken them then.
    pub(crate) accepted: bool,
    /// How all nodes have refused them then.
    pub(crate) refusal: Option<Refusal>,
    /// What that holds the lane with.
    pub(crate) hold: Option<Hold>,
    /// How many steps the next raise takes: nodes that want more than the usual one are met in
    /// several.
    pub(crate) step: u32,
    /// Since when its nonce is known to be used while no receipt shows.
    pub(crate) used_since: Option<Instant>,
    /// When the blocks were last searched for who has used the nonce.
    pub(crate) searched_at: Option<Instant>,
    /// Since when it could not be raised any more.
    pub(crate) at_cap_since: Option<Instant>,
}

impl Pace {
    /// Whether nodes want higher fees for it.
    pub(crate) const fn is_outbid(&self) -> bool {
        matches!(
            self.refusal,
            Some(Refusal::Underpriced | Refusal::FeesTooLow)
        )
    }
}

/// The paces of a lane's records.
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

    /// Its block is gone: the bytes go out at once, and are raised no sooner than new ones.
    pub(crate) fn reorganised(&mut self, record: &Record) {
        let pace = self.of(record);
        pace.newest_since = Instant::now();
        pace.sent_at = None;
        pace.used_since = None;
        pace.searched_at = None;
    }

    /// Forgets the records that are not among these.
    pub(crate) fn keep(&mut self, records: &[Record]) {
        self.of
            .retain(|id, _| records.iter().any(|record| record.id == *id));
    }
}
