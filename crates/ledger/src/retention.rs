//! Decides how long entries and their answers are kept.

use x402_wire::MAX_WINDOW_SECONDS;

use crate::{options::Options, state::State};

/// The part of an entry that decides its retention.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aged {
    pub(crate) state: State,
    pub(crate) valid_before: u64,
    pub(crate) changed_at: u64,
    /// Whether the entry came to a settlement, so that others may have seen the authorization.
    pub(crate) attempted: bool,
    pub(crate) private: bool,
    /// Whether the authorization is released and can never be reserved again.
    pub(crate) retired: bool,
}

/// The part of an entry whose retention is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    /// The answer, if it is still stored.
    Answer,
    /// The whole entry.
    Entry,
}

impl Aged {
    pub(crate) fn due(&self, options: &Options, now: u64) -> Due {
        let answers = options.retention_seconds;
        let entries = match self.state {
            State::Settled => options.entry_retention_seconds.max(answers),
            // A payer may be asked to sign anew only when this authorization is known to be void.
            // So its entry stays as long as a settled one.
            State::Released if self.attempted => options.entry_retention_seconds.max(answers),
            State::Released => answers,
            _ => return Due::Nothing,
        };
        // Whoever sends an unused authorization again may reserve it, with this entry or without
        // it. Anyone can name any number of endless ones, so their unused entries must not stay.
        let is_unused = self.state == State::Released && !self.attempted && !self.retired;
        let is_over = self.valid_before <= now || (is_unused && self.has_no_end());
        if is_over && self.is_past(entries, now) {
            Due::Entry
        } else if self.is_past(options.answer_retention(self.private), now) {
            Due::Answer
        } else {
            Due::Nothing
        }
    }

    /// Returns whether the entry is decided and stays without end, so that its endless
    /// authorization never pays again.
    pub(crate) fn stays(&self) -> bool {
        let pays_no_more = match self.state {
            State::Settled => true,
            State::Released => self.attempted || self.retired,
            _ => false,
        };
        pays_no_more && self.has_no_end()
    }

    /// Returns whether the authorization lasts longer than any `exact` one may. The wallets of
    /// `aggr_deferred` sign no end.
    fn has_no_end(&self) -> bool {
        self.valid_before > self.changed_at.saturating_add(MAX_WINDOW_SECONDS)
    }

    /// Returns whether the last change is at least `retention_seconds` ago.
    fn is_past(&self, retention_seconds: u64, now: u64) -> bool {
        self.changed_at.saturating_add(retention_seconds) <= now
    }
}
