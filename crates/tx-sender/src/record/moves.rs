//! The changes of a record's state. Each takes a record and returns the changed one. Nothing here
//! has an effect on a store or a chain.

use thiserror::Error;

use super::{Attempt, Closing, Inclusion, Kind, Record, State};

/// The state of the record does not allow the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a transaction that is {state} cannot be {wanted}")]
pub struct IllegalMove {
    /// The state of the record.
    pub state: &'static str,
    /// The state that the change leads to.
    pub wanted: &'static str,
}

type Moved = Result<Record, IllegalMove>;

impl Record {
    fn illegal(&self, wanted: &'static str) -> IllegalMove {
        IllegalMove {
            state: self.state.as_str(),
            wanted,
        }
    }

    fn moved(&self, state: State) -> Self {
        Self {
            state,
            ..self.clone()
        }
    }

    /// `prepared → claimed`.
    ///
    /// # Errors
    /// [`IllegalMove`].
    pub fn claim(&self, nonce: u64) -> Moved {
        match self.state {
            State::Prepared if self.nonce.is_none() => Ok(Self {
                nonce: Some(nonce),
                ..self.moved(State::Claimed)
            }),
            _ => Err(self.illegal("claimed")),
        }
    }

    /// `claimed → prepared`: another transaction has used the nonce, and nothing was signed for it
    /// yet.
    ///
    /// # Errors
    /// [`IllegalMove`].
    pub fn release(&self) -> Moved {
        match self.state {
            State::Claimed if self.attempts.is_empty() => Ok(Self {
                nonce: None,
                ..self.moved(State::Prepared)
            }),
            _ => Err(self.illegal("released")),
        }
    }

    /// `claimed → signed`, or one more transaction for a nonce that already has some. A request
    /// that is being closed is not signed again.
    ///
    /// # Errors
    /// [`IllegalMove`].
    pub fn sign(&self, attempt: Attempt) -> Moved {
        if !self.is_outstanding() || (attempt.kind == Kind::Request && self.closing.is_some()) {
            return Err(self.illegal("signed"));
        }
        let state = match self.state {
            State::Broadcast => State::Broadcast,
            _ => State::Signed,
        };
        let mut next = self.moved(state);
        next.attempts.push(attempt);
        Ok(next)
    }

    /// `signed → broadcast`.
    ///
    /// # Errors
    /// [`IllegalMove`].
    pub fn broadcast(&self) -> Moved {
        match self.state {
            State::Signed | State::Broadcast => Ok(self.moved(State::Broadcast)),
            _ => Err(self.illegal("broadcast")),
        }
    }

    /// `claimed | signed | broadcast → mined | replaced`: a canonical block has a transaction with
    /// the nonce. A foreign transaction makes the record `replaced`.
    ///
    /// # Errors
    /// [`IllegalMove`].
    pub fn mine(&self, inclusion: Inclusion) -> Moved {
        match self.state {
            State::Claimed | State::Signed | State::Broadcast => {}
            _ => return Err(self.illegal("mined")),
        }
        let own = self.hashes().any(|hash| hash == inclusion.hash);
        Ok(self.moved(if own {
            State::Mined(inclusion)
        } else {
            State::Replaced(inclusion)
        }))
    }

    /// `mined → sealed | failed | abandoned`: the block is deep enough.
    ///
    /// # Errors
    /// [`IllegalMove`].
    pub fn seal(&self) -> Moved {
        let State::Mined(inclusion) = self.state else {
            return Err(self.illegal("sealed"));
        };
        let kind = self
            .attempts
            .iter()
            .find(|attempt| attempt.hash == inclusion.hash)
            .map(|attempt| attempt.kind);
        Ok(self.moved(match kind {
            Some(Kind::Noop) => State::Abandoned(Some(inclusion)),
            _ if inclusion.succeeded => State::Sealed(inclusion),
            _ => State::Failed(inclusion),
        }))
    }

    /// Goes back to an earlier state, because the block is not canonical any more: to `broadcast`,
    /// or to `claimed` when nothing was signed.
    ///
    /// # Errors
    /// [`IllegalMove`].
    pub fn reorganise(&self) -> Moved {
        if self.is_final || self.state.inclusion().is_none() {
            return Err(self.illegal("reorganised"));
        }
        Ok(self.moved(if self.attempts.is_empty() {
            State::Claimed
        } else {
            State::Broadcast
        }))
    }

    /// Makes the outcome final. No reorganisation is expected to reach it any more.
    ///
    /// # Errors
    /// [`IllegalMove`].
    pub fn finish(&self) -> Moved {
        if !self.state.is_outcome() || self.is_final {
            return Err(self.illegal("final"));
        }
        Ok(Self {
            is_final: true,
            ..self.clone()
        })
    }

    /// Records that the request must not take effect any more. Without a nonce it is abandoned at
    /// once. With a nonce, a transaction without effect will use the nonce, unless a block takes
    /// one of the signed transactions first.
    ///
    /// # Errors
    /// [`IllegalMove`] when a block already has it.
    pub fn close(&self, why: Closing) -> Moved {
        match self.state {
            State::Prepared => Ok(Self {
                closing: Some(why),
                is_final: true,
                ..self.moved(State::Abandoned(None))
            }),
            State::Claimed | State::Signed | State::Broadcast => Ok(Self {
                closing: self.closing.clone().or(Some(why)),
                ..self.clone()
            }),
            _ => Err(self.illegal("closed")),
        }
    }

    /// `claimed → abandoned`: nothing was signed for the nonce. The caller knows that it is the
    /// lane's last nonce, so no record waits for it.
    ///
    /// # Errors
    /// [`IllegalMove`].
    pub fn withdraw(&self) -> Moved {
        match self.state {
            State::Claimed if self.attempts.is_empty() && self.closing.is_some() => Ok(Self {
                nonce: None,
                is_final: true,
                ..self.moved(State::Abandoned(None))
            }),
            _ => Err(self.illegal("withdrawn")),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, B256, Bytes, U256};
    use proptest::prelude::*;

    use super::*;
    use crate::{Fees, Lane, Request};

    const LANE: Lane = Lane {
        chain_id: 196,
        account: Address::repeat_byte(1),
    };

    fn record() -> Record {
        let request = Request {
            to: Address::repeat_byte(2),
            value: U256::ZERO,
            input: Bytes::new(),
            gas_limit: 50_000,
            max_fee_per_gas: None,
            not_after: None,
            confirmations: None,
        };
        Record::prepared("k", LANE, request, 0)
    }

    fn attempt(kind: Kind, hash: u8) -> Attempt {
        Attempt {
            kind,
            fees: Fees::Legacy { price: 1 },
            hash: B256::repeat_byte(hash),
            raw: Bytes::new(),
            noop_gas: None,
        }
    }

    fn in_block(hash: u8, succeeded: bool) -> Inclusion {
        Inclusion {
            hash: B256::repeat_byte(hash),
            number: 7,
            block: B256::repeat_byte(0xb0),
            succeeded,
        }
    }

    fn broadcast() -> Record {
        let claimed = record().claim(4).unwrap();
        let signed = claimed.sign(attempt(Kind::Request, 1)).unwrap();
        signed.broadcast().unwrap()
    }

    #[test]
    fn a_request_is_claimed_signed_broadcast_mined_and_sealed() {
        let names: Vec<_> = [
            record(),
            record().claim(4).unwrap(),
            record()
                .claim(4)
                .unwrap()
                .sign(attempt(Kind::Request, 1))
                .unwrap(),
            broadcast(),
            broadcast().mine(in_block(1, true)).unwrap(),
            broadcast().mine(in_block(1, true)).unwrap().seal().unwrap(),
            broadcast()
                .mine(in_block(1, false))
                .unwrap()
                .seal()
                .unwrap(),
            broadcast().mine(in_block(9, true)).unwrap(),
        ]
        .iter()
        .map(|record| record.state.as_str())
        .collect();
        assert_eq!(
            names,
            [
                "prepared",
                "claimed",
                "signed",
                "broadcast",
                "mined",
                "sealed",
                "failed",
                "replaced"
            ]
        );
    }

    #[test]
    fn a_mined_noop_abandons_the_request_and_the_request_may_still_win() {
        let closing = broadcast().close(Closing::Cancelled).unwrap();
        assert_eq!(closing.state, State::Broadcast);
        assert!(closing.sign(attempt(Kind::Request, 2)).is_err());
        let two = closing.sign(attempt(Kind::Noop, 2)).unwrap();
        let noop = two.mine(in_block(2, true)).unwrap().seal().unwrap();
        assert_eq!(noop.state, State::Abandoned(Some(in_block(2, true))));
        let request = two.mine(in_block(1, true)).unwrap().seal().unwrap();
        assert_eq!(request.state, State::Sealed(in_block(1, true)));
    }

    #[test]
    fn a_request_is_abandoned_at_once_without_a_nonce_and_never_in_a_block() {
        let abandoned = record().close(Closing::Cancelled).unwrap();
        assert_eq!(
            (abandoned.state, abandoned.is_final),
            (State::Abandoned(None), true)
        );
        assert!(abandoned.claim(1).is_err());
        let mined = broadcast().mine(in_block(1, true)).unwrap();
        assert!(mined.close(Closing::Cancelled).is_err());
        assert!(mined.seal().unwrap().close(Closing::Cancelled).is_err());
    }

    #[test]
    fn a_reorganisation_takes_everything_back_until_it_is_final() {
        for end in [in_block(1, true), in_block(1, false)] {
            let sealed = broadcast().mine(end).unwrap().seal().unwrap();
            let back = sealed.reorganise().unwrap();
            assert_eq!(
                (back.state, &back.attempts),
                (State::Broadcast, &sealed.attempts)
            );
            assert!(sealed.finish().unwrap().reorganise().is_err());
        }
        let replaced = broadcast().mine(in_block(9, true)).unwrap();
        assert_eq!(replaced.reorganise().unwrap().state, State::Broadcast);
        let unsigned = record().claim(3).unwrap().mine(in_block(9, true)).unwrap();
        assert_eq!(unsigned.reorganise().unwrap().state, State::Claimed);
    }

    #[test]
    fn only_an_unsigned_nonce_is_given_back() {
        let claimed = record().claim(3).unwrap();
        assert_eq!(claimed.release().unwrap(), record());
        assert!(claimed.withdraw().is_err());
        let withdrawn = claimed
            .close(Closing::Cancelled)
            .unwrap()
            .withdraw()
            .unwrap();
        assert_eq!(
            (withdrawn.state, withdrawn.nonce),
            (State::Abandoned(None), None)
        );
        assert!(broadcast().release().is_err());
        assert!(
            broadcast()
                .close(Closing::Cancelled)
                .unwrap()
                .withdraw()
                .is_err()
        );
    }

    proptest! {
        /// Applies any changes to a record, in any order. A nonce with signed bytes never changes,
        /// no signed bytes are lost, and a final record stays unchanged.
        #[test]
        fn no_order_of_moves_loses_anything(moves in prop::collection::vec(0u8..11, 0..40)) {
            let mut record = record();
            for (at, choice) in moves.into_iter().enumerate() {
                let hash = u8::try_from(at + 1).unwrap();
                let next = match choice {
                    0 => record.claim(u64::from(hash)),
                    1 => record.release(),
                    2 => record.sign(attempt(Kind::Request, hash)),
                    3 => record.sign(attempt(Kind::Noop, hash)),
                    4 => record.broadcast(),
                    5 => record.mine(in_block(record.hash().map_or(0xee, |hash| hash[0]), true)),
                    6 => record.mine(in_block(0xee, true)),
                    7 => record.seal(),
                    8 => record.reorganise(),
                    9 => record.close(Closing::Cancelled),
                    _ => record.finish(),
                };
                let Ok(next) = next else { continue };
                prop_assert!(!record.is_final);
                prop_assert!(next.attempts.starts_with(&record.attempts));
                if !record.attempts.is_empty() {
                    prop_assert_eq!(next.nonce, record.nonce);
                }
                prop_assert!(next.closing.is_some() || record.closing.is_none());
                record = next;
            }
        }
    }
}
