//! Purchases: which claims of a payer are the same purchase, and which entry stands for it.
//!
//! Clients sign a new authorization whenever an answer is lost. So the journal remembers what a
//! proven payer is buying, and a claim of another authorization for the same purchase is not
//! reserved. A purchase is the payer, the request (method, path, query, body) and the payment
//! identifier, or none. With an identifier, the entry itself keeps it for as long as it exists.
//! Without one, the entry has a *place*, which it loses when its answer was written whole.

use alloy_primitives::{Address, B256, Keccak256};
use x402_wire::AuthorizationKey;

use crate::{
    answer::StoredAnswer,
    claim::Claim,
    column::{Digest, kept},
    options::Options,
    state::{EntryId, State},
    status::PaymentStatus,
};

/// The most authorizations that are answered for one purchase beside the one that paid for it.
pub const MAX_REPETITIONS: u32 = 16;

/// The reason in the record of an authorization that was answered as a repetition.
pub const REPETITION: &str = "repetition";

/// The seconds that actions use when [`Options::again_seconds`] is 0.
const AGAIN_SECONDS: u64 = 600;

/// The domain tag of every place's hash.
const PLACE_TAG: &[u8] = b"purchase-v1";

/// How a claim counts among its payer's purchases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purchase {
    /// It does not count, because nobody has proven yet that the payer signed.
    #[default]
    Unproven,
    /// A purchase of a proven payer.
    Reading,
    /// A purchase of a proven payer that begins something which must not begin twice. It also
    /// counts for a while after its answer was delivered.
    Action,
}

/// The entry that stands for a purchase which another claim wants to make again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// The entry.
    pub entry: EntryId,
    /// Its authorization. `None` for entries of SQLite files before version 10.
    pub key: Option<AuthorizationKey>,
    /// Its state: in flight, unknown or settled. With an identifier also undecidable.
    pub state: State,
    /// The transaction of a settled entry. Empty when its scheme had none.
    pub transaction: Option<String>,
    /// Whether both claims have the same payment identifier.
    pub by_identifier: bool,
    /// Whether the purchase is an [`Action`](Purchase::Action). `false` with an identifier.
    pub is_action: bool,
    /// Whether the answer was written whole to a connection. `false` with an identifier.
    pub is_delivered: bool,
}

impl Occupant {
    /// Whether it is not decided yet whether the purchase was charged.
    #[must_use]
    pub const fn is_undecided(&self) -> bool {
        !matches!(self.state, State::Settled | State::Released)
    }
}

/// The result of [`Journal::repeat`](crate::Journal::repeat).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// The answer of the first purchase. The authorization is remembered as its repetition.
    Answered(StoredAnswer),
    /// [`MAX_REPETITIONS`] authorizations were answered before.
    TooMany,
    /// The first purchase was charged, and its answer is deleted.
    Expired {
        /// The transaction of the first purchase. Empty when its scheme had none.
        transaction: String,
    },
    /// The first purchase is not settled, or its entry is deleted.
    NotSettled,
    /// The authorization itself has an entry, which has this status.
    Known(PaymentStatus),
}

/// The place of a purchase without an identifier: a digest of the payer and of the request alone.
pub(crate) fn place(payer: Address, content: B256) -> Digest {
    let mut hasher = Keccak256::new();
    hasher.update(PLACE_TAG);
    hasher.update(payer);
    hasher.update(content);
    kept(hasher.finalize())
}

impl Claim {
    /// The place that the claim needs. `None` when it does not count, and with an identifier.
    pub(crate) fn place(&self) -> Option<Digest> {
        let counts = self.purchase != Purchase::Unproven && self.payment_id.is_none();
        counts.then(|| place(self.key.payer, self.request.content_digest()))
    }
}

/// What the holder of a place means for a claim that needs the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The holder stands for the purchase.
    Stands,
    /// The holder counts no longer.
    Over,
    /// The holder counts no longer, and it may have been charged.
    Undecidable,
}

/// The holder of a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    pub(crate) state: State,
    pub(crate) changed_at: u64,
    pub(crate) is_action: bool,
    pub(crate) is_delivered: bool,
}

impl Holder {
    pub(crate) fn standing(&self, options: &Options, now: u64) -> Standing {
        match self.state {
            State::Undecidable => Standing::Undecidable,
            State::Released => Standing::Over,
            State::Settled => {
                let counts = self.is_action || !self.is_delivered;
                let until = self
                    .changed_at
                    .saturating_add(options.again(self.is_action));
                match counts && now < until {
                    true => Standing::Stands,
                    false => Standing::Over,
                }
            }
            _ => Standing::Stands,
        }
    }
}

impl Options {
    /// For how many seconds after its settlement a purchase counts.
    fn again(&self, is_action: bool) -> u64 {
        match self.again_seconds {
            0 if is_action => AGAIN_SECONDS,
            seconds => seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_settled_purchase_counts_until_it_is_delivered_and_an_action_also_afterwards() {
        let options = |again_seconds| Options {
            again_seconds,
            ..Options::default()
        };
        let holder = |is_action, is_delivered| Holder {
            state: State::Settled,
            changed_at: 1_000,
            is_action,
            is_delivered,
        };
        for (again, is_action, is_delivered, now, expected) in [
            (600, false, false, 1_599, Standing::Stands),
            (600, false, false, 1_600, Standing::Over),
            (600, false, true, 1_001, Standing::Over),
            (600, true, true, 1_599, Standing::Stands),
            (600, true, true, 1_600, Standing::Over),
            (0, false, false, 1_000, Standing::Over),
            (0, true, false, 1_599, Standing::Stands),
            (0, true, true, 1_600, Standing::Over),
        ] {
            let standing = holder(is_action, is_delivered).standing(&options(again), now);
            assert_eq!(
                standing, expected,
                "{again} {is_action} {is_delivered} {now}"
            );
        }
    }

    #[test]
    fn an_undecided_purchase_counts_whatever_its_age() {
        for (state, expected) in [
            (State::Reserved, Standing::Stands),
            (State::Settling, Standing::Stands),
            (State::Unknown, Standing::Stands),
            (State::Released, Standing::Over),
            (State::Undecidable, Standing::Undecidable),
        ] {
            let holder = Holder {
                state,
                changed_at: 0,
                is_action: false,
                is_delivered: false,
            };
            let standing = holder.standing(&Options::default(), u64::MAX);
            assert_eq!(standing, expected, "{state}");
        }
    }

    #[test]
    fn each_payer_and_each_request_has_its_own_place() {
        let (payer, other) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let content = B256::repeat_byte(3);
        assert_eq!(place(payer, content), place(payer, content));
        assert_ne!(place(payer, content), place(other, content));
        assert_ne!(place(payer, content), place(payer, B256::ZERO));
    }
}
