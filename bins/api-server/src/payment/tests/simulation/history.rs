//! What callers saw, what the chain shows and what the ledger says, and everything in it that must
//! not be. The judgement looks at nothing else: it is a function of what was recorded.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use alloy_primitives::{B256, U256};
use ledger::State;

use super::server::Heard;

/// One run, when everything has come to rest.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// Every call with a payment, in the order of their beginnings.
    pub(super) calls: Vec<Call>,
    /// Every transfer on the chain.
    pub(super) transfers: Vec<Moved>,
    /// Every answer that somebody wanted.
    pub(super) purchases: Vec<Purchase>,
    /// When nothing was open any more, in the milliseconds of the calls. What is sent from then on
    /// asks only for what was bought.
    pub(super) rest: u64,
}

/// One call with a payment.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) nonce: B256,
    /// The digest of the request.
    pub(super) request: B256,
    /// Milliseconds.
    pub(super) began: u64,
    /// `None` when the caller has hung up.
    pub(super) ended: Option<u64>,
    pub(super) saw: Saw,
}

/// What the caller saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Saw {
    Nothing,
    Answer {
        /// The answer, which begins with the digest of the request that it was made for.
        body: Vec<u8>,
        /// Whether it says that it had been bought before.
        again: bool,
        /// What its receipt names.
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

/// Money that moved for an authorization.
#[derive(Debug, Clone)]
pub(super) struct Moved {
    pub(super) nonce: B256,
    pub(super) transaction: String,
    pub(super) amount: U256,
}

/// An answer that somebody wanted.
#[derive(Debug, Clone)]
pub(super) struct Purchase {
    /// Everything that was signed for it, as the server told.
    pub(super) signed: Vec<Signed>,
    pub(super) is_answered: bool,
    /// Whether nothing excuses that it was never answered.
    pub(super) must_be_answered: bool,
}

/// A payment that was signed.
#[derive(Debug, Clone)]
pub(super) struct Signed {
    pub(super) nonce: B256,
    pub(super) amount: U256,
    /// Whether it was sent to several servers for different requests. Then it may pay for either,
    /// although one of the servers has told its payer to sign a new one.
    pub(super) is_misused: bool,
    /// Whether the chain decides what becomes of it. Otherwise the word of a facilitator counts.
    pub(super) chain_decides: bool,
    /// The state and the transaction in the ledger.
    pub(super) ledger: Option<(State, Option<String>)>,
}

/// What must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Breach {
    /// One wanted answer, or one authorization, was paid more than once.
    ChargedTwice { nonces: Vec<B256> },
    /// The answer to a charged payment cannot be fetched.
    ChargedUnanswered { nonce: B256 },
    /// Nothing moved for an answer.
    AnsweredUncharged { nonce: B256 },
    /// A payment has bought two answers.
    TwoAnswers { nonce: B256 },
    /// An answer was made for another request than the one that got it.
    AnswerOfAnother { nonce: B256 },
    /// Another amount moved than was signed.
    OtherAmount { nonce: B256 },
    /// A receipt or the ledger names another transaction than the one that moved the money.
    OtherTransaction { nonce: B256 },
    /// The ledger says something else than the chain.
    LedgerDiffers { nonce: B256, state: Option<State> },
    /// A payer that could pay and did as it was told was never answered.
    NeverAnswered { nonces: Vec<B256> },
    /// A call was told to pay anew although the same request had got its answer before.
    RefusedAfterAnswer { nonce: B256 },
}

/// Everything that must not be.
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

/// Nothing was delivered that was not paid, a payment has bought one answer to one request, and
/// nobody is told otherwise afterwards.
fn answers<'a>(history: &'a History, of: impl Fn(B256) -> &'a [&'a Moved]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    // The first answer to each payment: its body, for which request, and when it had arrived.
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

/// What moved money can be fetched, or waits for the operator; what moved none is not settled.
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
        // Waits for the operator, or was given back on the word of a facilitator.
        Some(State::Undecidable | State::Released) if !signed.chain_decides => {}
        state => breaches.push(Breach::LedgerDiffers { nonce, state }),
    }
    breaches
}
