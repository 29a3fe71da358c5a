//! The stored form of events: one JSON object each. Reading it back gives the same event, or a
//! refusal.

use plan_builder::wire::{Digits, KindRecord, Word};
use serde::{Deserialize, Serialize};

use super::{Block, ClearObstacle, Event, HaltReason, Transaction};
use crate::{Refusal, Rule, json};

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
enum Stored {
    Ordered {
        transaction: String,
    },
    Unsent {
        transaction: String,
    },
    Sealed {
        transaction: String,
        hash: Word,
        block: StoredBlock,
        effective: bool,
        allowance: Digits,
    },
    Void {
        transaction: String,
    },
    Gone {
        transaction: String,
    },
    Landed {
        amount: Digits,
    },
    Halting {
        at: KindRecord,
        reason: String,
    },
    ReadBack {
        allowance: Digits,
        block: StoredBlock,
    },
    ClearImpossible {
        obstacle: String,
    },
    Finished {},
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredBlock {
    number: u64,
    hash: Word,
}

impl Event {
    /// The stored form, as JSON.
    ///
    /// # Example
    /// ```
    /// use delegation_fence::{Event, Transaction};
    ///
    /// let event = Event::Ordered(Transaction::Clear(0));
    /// assert_eq!(event.to_json(), r#"{"event":"ordered","transaction":"clear-0"}"#);
    /// assert_eq!(Event::parse(&event.to_json())?, event);
    /// # Ok::<(), delegation_fence::Refusal>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(&Stored::from(*self)).unwrap_or_default()
    }

    /// Reads a stored event.
    ///
    /// # Errors
    /// `log_malformed`
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let rule = Rule::LogMalformed;
        let value = json::parse(rule, text)?;
        json::require_object(rule, "an event", &value)?;
        json::read::<Stored>(rule, "an event", value)?.event()
    }
}

impl From<Event> for Stored {
    fn from(event: Event) -> Self {
        match event {
            Event::Ordered(transaction) => Self::Ordered {
                transaction: transaction.key(),
            },
            Event::Unsent(transaction) => Self::Unsent {
                transaction: transaction.key(),
            },
            Event::Sealed {
                transaction,
                hash,
                block,
                effective,
                allowance,
            } => Self::Sealed {
                transaction: transaction.key(),
                hash: Word(hash),
                block: block.into(),
                effective,
                allowance: Digits(allowance),
            },
            Event::Void(transaction) => Self::Void {
                transaction: transaction.key(),
            },
            Event::Gone(transaction) => Self::Gone {
                transaction: transaction.key(),
            },
            Event::Landed(amount) => Self::Landed {
                amount: Digits(amount),
            },
            Event::Halting { at, reason } => Self::Halting {
                at: at.into(),
                reason: word(reason).to_owned(),
            },
            Event::ReadBack { allowance, block } => Self::ReadBack {
                allowance: Digits(allowance),
                block: block.into(),
            },
            Event::ClearImpossible(obstacle) => Self::ClearImpossible {
                obstacle: obstacle.as_str().to_owned(),
            },
            Event::Finished => Self::Finished {},
        }
    }
}

impl Stored {
    fn event(self) -> Result<Event, Refusal> {
        Ok(match self {
            Self::Ordered { transaction } => Event::Ordered(Transaction::from_key(&transaction)?),
            Self::Unsent { transaction } => Event::Unsent(Transaction::from_key(&transaction)?),
            Self::Sealed {
                transaction,
                hash,
                block,
                effective,
                allowance,
            } => Event::Sealed {
                transaction: Transaction::from_key(&transaction)?,
                hash: hash.0,
                block: block.into(),
                effective,
                allowance: allowance.0,
            },
            Self::Void { transaction } => Event::Void(Transaction::from_key(&transaction)?),
            Self::Gone { transaction } => Event::Gone(Transaction::from_key(&transaction)?),
            Self::Landed { amount } => Event::Landed(amount.0),
            Self::Halting { at, reason } => Event::Halting {
                at: at.into(),
                reason: reason_of(&reason)?,
            },
            Self::ReadBack { allowance, block } => Event::ReadBack {
                allowance: allowance.0,
                block: block.into(),
            },
            Self::ClearImpossible { obstacle } => Event::ClearImpossible(
                ClearObstacle::ALL
                    .into_iter()
                    .find(|known| known.as_str() == obstacle)
                    .ok_or_else(|| unknown("an obstacle", &obstacle))?,
            ),
            Self::Finished {} => Event::Finished,
        })
    }
}

/// The word of a reason. No two reasons have the same.
fn word(reason: HaltReason) -> &'static str {
    match reason {
        HaltReason::Refused(rule) => rule.as_str(),
        HaltReason::Over => "over",
        HaltReason::Reverted
        | HaltReason::WouldRevert
        | HaltReason::Displaced
        | HaltReason::Allowance => reason.as_str(),
    }
}

fn reason_of(text: &str) -> Result<HaltReason, Refusal> {
    let own = [
        HaltReason::Over,
        HaltReason::Reverted,
        HaltReason::WouldRevert,
        HaltReason::Displaced,
        HaltReason::Allowance,
    ];
    let rules = Rule::ALL.iter().copied().map(HaltReason::Refused);
    own.into_iter()
        .chain(rules)
        .find(|reason| word(*reason) == text)
        .ok_or_else(|| unknown("a reason", text))
}

impl Transaction {
    /// Reads the key of a transaction ([`Self::key`]).
    ///
    /// # Errors
    /// `log_malformed`
    pub fn from_key(key: &str) -> Result<Self, Refusal> {
        super::all()
            .find(|transaction| transaction.key() == key)
            .ok_or_else(|| unknown("a transaction of a plan", key))
    }
}

impl From<Block> for StoredBlock {
    fn from(block: Block) -> Self {
        Self {
            number: block.number,
            hash: Word(block.hash),
        }
    }
}

impl From<StoredBlock> for Block {
    fn from(stored: StoredBlock) -> Self {
        Self {
            number: stored.number,
            hash: stored.hash.0,
        }
    }
}

fn unknown(expected: &'static str, observed: &str) -> Refusal {
    Refusal::new(Rule::LogMalformed, "an unknown word", expected, observed)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, U256};
    use calldata_checks::StepKind;

    use super::*;

    #[test]
    fn every_event_is_read_as_it_was_written() {
        let block = Block {
            number: 7,
            hash: B256::repeat_byte(3),
        };
        let mut events = vec![
            Event::Landed(U256::MAX),
            Event::ReadBack {
                allowance: U256::ZERO,
                block,
            },
            Event::Finished,
        ];
        events.extend(ClearObstacle::ALL.map(Event::ClearImpossible));
        for transaction in super::super::all() {
            events.extend([
                Event::Ordered(transaction),
                Event::Unsent(transaction),
                Event::Void(transaction),
                Event::Gone(transaction),
            ]);
            events.extend([true, false].map(|effective| Event::Sealed {
                transaction,
                hash: B256::repeat_byte(2),
                block,
                effective,
                allowance: U256::from(5),
            }));
        }
        let rules = Rule::ALL.iter().copied().map(HaltReason::Refused);
        let own = [
            HaltReason::Over,
            HaltReason::Reverted,
            HaltReason::WouldRevert,
            HaltReason::Displaced,
            HaltReason::Allowance,
        ];
        for reason in own.into_iter().chain(rules) {
            events.extend(StepKind::ALL.map(|at| Event::Halting { at, reason }));
        }
        for event in events {
            assert_eq!(Event::parse(&event.to_json()), Ok(event));
        }
        assert_eq!(super::super::all().count(), 4 + super::super::CLEARS);
    }

    #[test]
    fn a_malformed_event_is_refused() {
        for text in [
            "",
            "[]",
            "{}",
            r#"["finished"]"#,
            r#"{"event":"paid"}"#,
            r#"{"event":"finished","more":1}"#,
            r#"{"event":"ordered","transaction":"clear-9"}"#,
            r#"{"event":"landed","amount":"07"}"#,
            r#"{"event":"landed","amount":"7","amount":"7"}"#,
            r#"{"event":"halting","at":"call","reason":"bored"}"#,
            r#"{"event":"clear_impossible","obstacle":"bored"}"#,
        ] {
            let refusal = Event::parse(text).map_err(|refusal| refusal.rule);
            assert_eq!(refusal, Err(Rule::LogMalformed), "{text}");
        }
    }
}
