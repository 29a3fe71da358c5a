//! Judges a run by its record: the answers that callers got, the transfers on the chain, and the
//! ledger. The judgement is a function of that record and uses nothing else.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use alloy_primitives::{B256, U256};
use ledger::State;

use super::server::Heard;

/// One run, recorded when nothing is open any more.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// Every call with a payment, ordered by its beginning.
    pub(super) calls: Vec<Call>,
    /// Every transfer on the chain.
    pub(super) transfers: Vec<Moved>,
    /// Every answer that somebody wanted.
    pub(super) purchases: Vec<Purchase>,
    /// The time from which nothing is open, in the milliseconds of the calls. Later calls only
    /// fetch bought answers.
    pub(super) rest: u64,
}

/// One call with a payment.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) nonce: B256,
    /// The digest of the request.
    pub(super) request: B256,
    /// Milliseconds since the beginning.
    pub(super) began: u64,
    /// `None` when the caller hung up.
    pub(super) ended: Option<u64>,
    pub(super) saw: Saw,
}

/// The answer that the caller saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Saw {
    Nothing,
    Answer {
        /// The body, which begins with the digest of the request that it answers.
        body: Vec<u8>,
        /// Whether the answer says that an earlier call bought it.
        again: bool,
        /// The transaction in the receipt.
        transaction: Option<String>,
    },
    Refused {
        status: u16,
    },
}

impl Saw {
    pub(super) fn of(heard: &Heard) -> Self {
        match heard {
            Heard::Nothing => Self::Nothing,
            Heard::Answer {
                body,
                again,
                transaction,
            } => Self::Answer {
                body: body.to_vec(),
                again: *again,
                transaction: transaction.clone(),
            },
            Heard::Refused { status, .. } => Self::Refused { status: *status },
        }
    }
}

/// A transfer for an authorization.
#[derive(Debug, Clone)]
pub(super) struct Moved {
    pub(super) nonce: B256,
    pub(super) transaction: String,
    pub(super) amount: U256,
}

/// An answer that a caller wants.
#[derive(Debug, Clone)]
pub(super) struct Purchase {
    /// Every payment that was signed for it, as `next` advised.
    pub(super) signed: Vec<Signed>,
    pub(super) is_answered: bool,
    /// Whether the purchase must be answered because no excuse applies.
    pub(super) must_be_answered: bool,
}

/// A signed payment.
#[derive(Debug, Clone)]
pub(super) struct Signed {
    pub(super) nonce: B256,
    pub(super) amount: U256,
    /// Whether it was sent to several servers for different requests. Then it may pay for either,
    /// although one of the servers has advised its payer to sign a new one.
    pub(super) is_misused: bool,
    /// Whether the chain decides its outcome. Otherwise the facilitator's statement counts.
    pub(super) chain_decides: bool,
    /// The state and the transaction in the ledger.
    pub(super) ledger: Option<(State, Option<String>)>,
}

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Breach {
    /// One wanted answer, or one authorization, was paid more than once.
    ChargedTwice { nonces: Vec<B256> },
    /// The answer to a charged payment is not available.
    ChargedUnanswered { nonce: B256 },
    /// An answer was delivered without a transfer.
    AnsweredUncharged { nonce: B256 },
    /// A payment has bought two answers.
    TwoAnswers { nonce: B256 },
    /// The answer was made for another request than the one that got it.
    AnswerOfAnother { nonce: B256 },
    /// The transfer has another amount than the payment.
    OtherAmount { nonce: B256 },
    /// A receipt or the ledger names another transaction than the one that moved the money.
    OtherTransaction { nonce: B256 },
    /// The ledger contradicts the chain.
    LedgerDiffers { nonce: B256, state: Option<State> },
    /// A payer that could pay and followed the advice was never answered.
    NeverAnswered { nonces: Vec<B256> },
    /// A call was advised to pay anew although the same request had its answer before.
    RefusedAfterAnswer { nonce: B256 },
}

/// Lists every breach in a history.
pub(super) fn judge(history: &History) -> Vec<Breach> {
    let mut moved: BTreeMap<B256, Vec<&Moved>> = BTreeMap::new();
    for transfer in &history.transfers {
        moved.entry(transfer.nonce).or_default().push(transfer);
    }
    let of = |nonce: B256| moved.get(&nonce).map_or(&[][..], Vec::as_slice);
    let mut breaches = answers(history, of);
    for purchase in &history.purchases {
        let nonces = || purchase.signed.iter().map(|signed| signed.nonce);
        let charged = purchase.signed.iter().filter(|signed| !signed.is_misused);
        let charges: usize = charged.map(|signed| of(signed.nonce).len()).sum();
        if charges > 1 {
            breaches.push(Breach::ChargedTwice {
                nonces: nonces().collect(),
            });
        }
        if purchase.must_be_answered && !purchase.is_answered {
            breaches.push(Breach::NeverAnswered {
                nonces: nonces().collect(),
            });
        }
        for signed in &purchase.signed {
            breaches.extend(payment(history, signed, of(signed.nonce)));
        }
    }
    breaches
}

/// Checks the answers: each is paid, a payment buys one answer to one request, and no later call
/// contradicts it.
fn answers<'a>(history: &'a History, of: impl Fn(B256) -> &'a [&'a Moved]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    // The first answer to each payment: its body, its request, and its time of arrival.
    let mut bought: BTreeMap<B256, (&Vec<u8>, B256, u64)> = BTreeMap::new();
    let mut ended: Vec<&Call> = history.calls.iter().collect();
    ended.sort_by_key(|call| call.ended);
    for call in ended {
        let (
            Saw::Answer {
                body, transaction, ..
            },
            Some(at),
        ) = (&call.saw, call.ended)
        else {
            continue;
        };
        let nonce = call.nonce;
        if !body.starts_with(call.request.to_string().as_bytes()) {
            breaches.push(Breach::AnswerOfAnother { nonce });
        }
        match of(nonce).first() {
            None => breaches.push(Breach::AnsweredUncharged { nonce }),
            Some(paid) if transaction.as_ref() != Some(&paid.transaction) => {
                breaches.push(Breach::OtherTransaction { nonce });
            }
            Some(_) => {}
        }
        let (first, request, _) = *bought.entry(nonce).or_insert((body, call.request, at));
        if (first, request) != (body, call.request) {
            breaches.push(Breach::TwoAnswers { nonce });
        }
    }
    for call in &history.calls {
        let Some((_, request, at)) = bought.get(&call.nonce) else {
            continue;
        };
        let is_later = call.request == *request && call.began > *at;
        let nonce = call.nonce;
        match call.saw {
            Saw::Refused { status: 402 } if is_later => {
                breaches.push(Breach::RefusedAfterAnswer { nonce });
            }
            Saw::Answer { again: false, .. } if is_later => {
                breaches.push(Breach::TwoAnswers { nonce });
            }
            _ => {}
        }
    }
    breaches
}

/// Checks the state of a payment: the answer to a charged one can be fetched, or the operator must
/// decide it; one without a transfer is not settled.
fn payment(history: &History, signed: &Signed, moved: &[&Moved]) -> Vec<Breach> {
    let nonce = signed.nonce;
    let (state, transaction) = signed.ledger.clone().unzip();
    let Some(paid) = moved.first() else {
        let differs = state == Some(State::Settled);
        return Vec::from_iter(differs.then_some(Breach::LedgerDiffers { nonce, state }));
    };
    let mut breaches = Vec::new();
    if paid.amount != signed.amount {
        breaches.push(Breach::OtherAmount { nonce });
    }
    let is_fetched = history.calls.iter().any(|call| {
        let is_asked = call.nonce == nonce && call.began >= history.rest;
        is_asked && matches!(call.saw, Saw::Answer { .. })
    });
    match state {
        Some(State::Settled) => {
            if transaction.flatten().as_ref() != Some(&paid.transaction) {
                breaches.push(Breach::OtherTransaction { nonce });
            }
            if !is_fetched {
                breaches.push(Breach::ChargedUnanswered { nonce });
            }
        }
        // The operator must decide it, or a facilitator's statement has released it.
        Some(State::Undecidable | State::Released) if !signed.chain_decides => {}
        state => breaches.push(Breach::LedgerDiffers { nonce, state }),
    }
    breaches
}
