//! The rows of a ledger while they are copied from one store to another.
//!
//! Both stores return them in the same form, so that a digest over all of them can be compared.

use std::{collections::BTreeMap, fmt};

use alloy_primitives::B256;
use sha2::{Digest as _, Sha256};

use crate::state::State;

/// The counts and the digest of a copied ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The number of entries in each state.
    pub states: BTreeMap<State, u64>,
    /// The number of stored answers.
    pub answers: u64,
    /// The number of payers with a sum or credit.
    pub payers: u64,
    /// SHA-256 over every row.
    pub digest: B256,
}

impl Copied {
    /// Returns the number of all entries.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.states.values().sum()
    }
}

impl fmt::Display for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} entries", self.entries())?;
        for (index, (state, count)) in self.states.iter().enumerate() {
            let before = if index == 0 { " (" } else { ", " };
            write!(f, "{before}{count} {state}")?;
        }
        if !self.states.is_empty() {
            f.write_str(")")?;
        }
        write!(
            f,
            ", {} answers, {} payers, digest {}",
            self.answers, self.payers, self.digest
        )
    }
}

/// An entry together with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryRow {
    pub(crate) id: i64,
    pub(crate) state: State,
    pub(crate) open: i64,
    pub(crate) authorization: Vec<u8>,
    pub(crate) request: Vec<u8>,
    pub(crate) content: Option<Vec<u8>>,
    pub(crate) network: Option<String>,
    pub(crate) asset: Option<Vec<u8>>,
    pub(crate) payer: Vec<u8>,
    pub(crate) nonce: Option<Vec<u8>>,
    pub(crate) valid_before: i64,
    pub(crate) reserved_at: i64,
    pub(crate) changed_at: i64,
    pub(crate) amount: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) payment_id: Option<String>,
    pub(crate) attempted: bool,
    pub(crate) private: bool,
    pub(crate) transaction: Option<String>,
    pub(crate) receipt: Option<String>,
    pub(crate) cause: Option<String>,
    pub(crate) retired: bool,
    pub(crate) repeats: Option<i64>,
    pub(crate) repeated: i64,
    pub(crate) place: Option<PlaceRow>,
    pub(crate) answer: Option<AnswerRow>,
}

/// The place that an entry has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlaceRow {
    pub(crate) digest: Vec<u8>,
    pub(crate) is_action: bool,
    pub(crate) is_delivered: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerRow {
    pub(crate) payload: String,
    pub(crate) requirements: String,
    pub(crate) status: i16,
    pub(crate) headers: String,
    pub(crate) body_digest: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

/// Two numbers under a name: the credit and the sum of a payer, or the deficit of a newcomer and
/// its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumbersRow {
    pub(crate) name: Vec<u8>,
    pub(crate) numbers: [i64; 2],
}

/// Counts and hashes rows, in the order of their keys.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    states: BTreeMap<State, u64>,
    answers: u64,
    payers: u64,
    hasher: Sha256,
}

impl Tally {
    pub(crate) fn entry(&mut self, row: &EntryRow) {
        let count = self.states.entry(row.state).or_default();
        *count = count.saturating_add(1);
        for number in [
            row.id,
            row.state.code(),
            row.open,
            row.valid_before,
            row.reserved_at,
            row.changed_at,
            row.attempted.into(),
            row.private.into(),
            row.retired.into(),
            row.repeats.unwrap_or(-1),
            row.repeated,
        ] {
            self.hasher.update(number.to_be_bytes());
        }
        let text = |text: &Option<String>| text.as_ref().map(|text| text.clone().into_bytes());
        for field in [
            Some(row.authorization.clone()),
            Some(row.request.clone()),
            row.content.clone(),
            text(&row.network),
            row.asset.clone(),
            Some(row.payer.clone()),
            row.nonce.clone(),
            Some(row.amount.clone().into_bytes()),
            Some(row.method.clone().into_bytes()),
            Some(row.path.clone().into_bytes()),
            text(&row.payment_id),
            text(&row.transaction),
            text(&row.receipt),
            text(&row.cause),
        ] {
            self.field(field.as_deref());
        }
        self.field(row.place.as_ref().map(|place| &*place.digest));
        if let Some(place) = &row.place {
            self.field(Some(&[place.is_action.into(), place.is_delivered.into()]));
        }
        match &row.answer {
            None => self.field(None),
            Some(answer) => {
                self.answers = self.answers.saturating_add(1);
                self.field(Some(&answer.status.to_be_bytes()));
                self.field(Some(answer.payload.as_bytes()));
                self.field(Some(answer.requirements.as_bytes()));
                self.field(Some(answer.headers.as_bytes()));
                self.field(Some(&answer.body_digest));
                self.field(Some(&answer.body));
            }
        }
    }

    pub(crate) fn payer(&mut self, row: &NumbersRow) {
        self.payers = self.payers.saturating_add(1);
        self.numbers(row);
    }

    pub(crate) fn newcomer(&mut self, row: &NumbersRow) {
        self.numbers(row);
    }

    fn numbers(&mut self, row: &NumbersRow) {
        self.field(Some(&row.name));
        for number in row.numbers {
            self.hasher.update(number.to_be_bytes());
        }
    }

    /// Adds a field with its length, so that different rows never have the same hash. A missing
    /// field differs from an empty one.
    fn field(&mut self, field: Option<&[u8]>) {
        let length = field.map_or(u64::MAX, |field| {
            u64::try_from(field.len()).unwrap_or(u64::MAX)
        });
        self.hasher.update(length.to_be_bytes());
        self.hasher.update(field.unwrap_or_default());
    }

    pub(crate) fn finish(self) -> Copied {
        Copied {
            states: self.states,
            answers: self.answers,
            payers: self.payers,
            digest: B256::new(self.hasher.finalize().into()),
        }
    }
}
