//! The member `simulation`, and how a verifier checks it in a plan of another party.

use std::borrow::Cow;

use alloy_primitives::{Address, U256};
use calldata_checks::UtcSeconds;
use serde::{Deserialize, Serialize};

use crate::{
    Refusal, SimulationMode,
    policy::OLDEST_READING,
    signing::Effect,
    wire::{Digits, Eip55, Time},
};

/// More gas than any block has. JSON readers keep this number exact.
pub(super) const MOST_GAS: u64 = 1 << 53;

/// The member `simulation`. It is an observation at one block. The digest covers it, but nobody can
/// compute it again offline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Simulation {
    /// When the simulation was run.
    at: Time,
    /// How the account's balances changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    balance_changes: Vec<BalanceChange>,
    /// How much gas each step used, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gas_used: Vec<u64>,
    /// The method of the node that simulated.
    method: Cow<'static, str>,
    /// The meaning of the outcome for the sender of the steps.
    note: Cow<'static, str>,
    /// The outcome.
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BalanceChange {
    amount: Digits,
    direction: Direction,
    token: Eip55,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Direction {
    Received,
    Spent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// Every step succeeded and moved the planned amounts.
    AsPlanned,
    /// The account does not hold the input yet, so the steps could not be run.
    InsufficientBalance,
    /// The endpoint did not answer.
    Unavailable,
}

impl Outcome {
    const fn note(self) -> &'static str {
        match self {
            Self::AsPlanned => {
                "observed once, at one block; gas_used is no gas limit: a real call can use more, so estimate before sending"
            }
            Self::InsufficientBalance => {
                "nothing was simulated: the account does not hold the input, so nobody has seen these steps succeed"
            }
            Self::Unavailable => {
                "nothing was simulated: the node gave no usable answer, so nobody has seen these steps succeed"
            }
        }
    }
}

const METHOD: &str = "eth_simulateV1";

impl BalanceChange {
    pub(super) fn spent(token: Address, amount: U256) -> Self {
        Self::of(Direction::Spent, token, amount)
    }

    pub(super) fn received(token: Address, amount: U256) -> Self {
        Self::of(Direction::Received, token, amount)
    }

    fn of(direction: Direction, token: Address, amount: U256) -> Self {
        Self {
            amount: Digits(amount),
            direction,
            token: Eip55::of(token),
        }
    }
}

impl Simulation {
    pub(super) fn as_planned(
        at: UtcSeconds,
        gas_used: Vec<u64>,
        balance_changes: Vec<BalanceChange>,
    ) -> Self {
        Self {
            gas_used,
            balance_changes,
            ..Self::without_run(at, Outcome::AsPlanned)
        }
    }

    pub(super) fn insufficient_balance(at: UtcSeconds) -> Self {
        Self::without_run(at, Outcome::InsufficientBalance)
    }

    pub(super) fn unavailable(at: UtcSeconds) -> Self {
        Self::without_run(at, Outcome::Unavailable)
    }

    fn without_run(at: UtcSeconds, outcome: Outcome) -> Self {
        Self {
            at: Time(at),
            balance_changes: Vec::new(),
            gas_used: Vec::new(),
            method: Cow::Borrowed(METHOD),
            note: Cow::Borrowed(outcome.note()),
            outcome,
        }
    }

    /// Checks that a foreign record agrees with the plan. Its time must be between the plan's
    /// reading (less the allowed difference of clocks) and the plan's end. Nobody can tell offline
    /// whether the steps were run.
    ///
    /// # Errors
    /// `simulation_as_planned`
    pub(crate) fn judge(
        &self,
        steps: usize,
        effect: Effect,
        (read_at, valid_until): (UtcSeconds, UtcSeconds),
    ) -> Result<(), Refusal> {
        let at = self.at.0;
        if at.saturating_add(OLDEST_READING) < read_at || at > valid_until {
            return Err(
                refuse("the recorded simulation is not of the plan's time").comparing(
                    format_args!(
                        "at most {OLDEST_READING} seconds before {read_at}, until {valid_until}"
                    ),
                    at,
                ),
            );
        }
        let consistent = self.method == METHOD
            && self.note == self.outcome.note()
            && match self.outcome {
                Outcome::AsPlanned => {
                    self.gas_used.len() == steps
                        && self.gas_used.iter().all(|gas| *gas < MOST_GAS)
                        && self.moves_as(effect)
                }
                Outcome::InsufficientBalance | Outcome::Unavailable => {
                    self.gas_used.is_empty() && self.balance_changes.is_empty()
                }
            };
        if consistent {
            Ok(())
        } else {
            Err(refuse("the recorded simulation is not one of this plan"))
        }
    }

    /// Returns whether every step was run and moved the planned amounts.
    pub(crate) fn is_as_planned(&self) -> bool {
        self.outcome == Outcome::AsPlanned
    }

    /// Returns how much gas each of three steps used, if they were run.
    pub(crate) fn gas_used(&self) -> Option<[u64; 3]> {
        self.gas_used.as_slice().try_into().ok()
    }

    /// Returns whether a plan with this record, or with none, satisfies a mode.
    pub(crate) fn satisfies(record: Option<&Self>, mode: SimulationMode) -> bool {
        mode != SimulationMode::Required
            || record.is_some_and(|record| record.outcome != Outcome::Unavailable)
    }

    fn moves_as(&self, effect: Effect) -> bool {
        let spends = |change: &BalanceChange| {
            change.token.address() == effect.spent_token
                && match change.direction {
                    Direction::Spent => effect.allows(change.amount.0),
                    Direction::Received => !effect.spent_exactly && !change.amount.0.is_zero(),
                }
        };
        match (self.balance_changes.as_slice(), effect.received) {
            ([spent], None) => spends(spent),
            ([spent, received], Some((token, least))) => {
                spends(spent)
                    && received.direction == Direction::Received
                    && received.token.address() == token
                    && received.amount.0 >= least
            }
            _ => false,
        }
    }
}

pub(super) fn refuse(message: &str) -> Refusal {
    Refusal::new(Refusal::SIMULATION, message)
}
