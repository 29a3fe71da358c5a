//! What a plan does when it is run: one simulation over all of its steps, with the balances before and after.

use std::borrow::Cow;

use alloy_primitives::{Address, B256, Bytes, U256, b256};
use alloy_sol_types::{SolCall, sol};
use plan_checks::{Step, StepKind, UtcSeconds};
use serde::{Deserialize, Serialize};

use crate::{
    Refusal,
    ports::{SimulatedCall, Simulator},
    wire::{self, Digits, Eip55, StepRecord, Time},
};

sol! {
    /// ERC-20.
    function balanceOf(address account) external view returns (uint256);
    /// ERC-20.
    function allowance(address owner, address spender) external view returns (uint256);
}

/// ERC-20 `Transfer(address,address,uint256)`.
const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// What a plan is meant to do to the account's balances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The token that is spent.
    pub(crate) spent_token: Address,
    /// How much of it, at most.
    pub(crate) spent: U256,
    /// Whether all of it is spent: a swap's router returns what its exchanges leave over.
    pub(crate) spent_exactly: bool,
    /// Who is approved for it.
    pub(crate) spender: Address,
    /// The token that is received on this chain, and the least of it.
    pub(crate) received: Option<(Address, U256)>,
}

impl Effect {
    fn allows(&self, spent: U256) -> bool {
        if self.spent_exactly {
            spent == self.spent
        } else {
            !spent.is_zero() && spent <= self.spent
        }
    }
}

/// More gas than any block has: a number that JSON readers keep exact.
const MOST_GAS: u64 = 1 << 53;

/// The member `simulation`. It is an observation at one block: inside the digest, but nobody can compute it again offline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Simulation {
    /// When it was run.
    at: Time,
    /// Changes of the account's balances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    balance_changes: Vec<BalanceChange>,
    /// Gas of each step, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gas_used: Vec<u64>,
    /// How.
    method: Cow<'static, str>,
    /// What came of it.
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BalanceChange {
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
    /// Every step succeeded and moved what the plan says.
    AsPlanned,
    /// The account does not hold the input yet, so that nothing could be run.
    InsufficientBalance,
    /// The endpoint did not answer.
    Unavailable,
}

const METHOD: &str = "eth_simulateV1";

/// Runs a plan's steps. `None` when no simulator is configured for the chain.
///
/// # Errors
/// `simulation_as_planned`: a step fails, or something else moves than the plan says.
pub(crate) async fn run<S: Simulator>(
    simulator: &S,
    now: UtcSeconds,
    chain_id: u64,
    account: Address,
    steps: &[StepRecord],
    effect: Effect,
) -> Result<Option<Simulation>, Refusal> {
    if !simulator.simulates(chain_id) {
        return Ok(None);
    }
    let reads = reads(account, effect);
    let mut calls = reads.clone();
    calls.extend(wire::steps(steps));
    calls.extend(reads.clone());
    let record = |outcome, gas_used, balance_changes| Simulation {
        at: Time(now),
        balance_changes,
        gas_used,
        method: Cow::Borrowed(METHOD),
        outcome,
    };
    let outcomes = match simulator.simulate(chain_id, account, &calls).await {
        Ok(None) => return Ok(None),
        Ok(Some(outcomes))
            if outcomes.len() == calls.len()
                && outcomes.iter().all(|outcome| outcome.gas_used < MOST_GAS) =>
        {
            outcomes
        }
        Ok(Some(_)) | Err(_) => {
            return Ok(Some(record(Outcome::Unavailable, Vec::new(), Vec::new())));
        }
    };
    let (before, rest) = outcomes.split_at(reads.len());
    let (run, after) = rest.split_at(steps.len());
    let Some([held_before, _, received_before]) = words(before) else {
        return Ok(Some(record(Outcome::Unavailable, Vec::new(), Vec::new())));
    };
    if held_before < effect.spent {
        return Ok(Some(record(
            Outcome::InsufficientBalance,
            Vec::new(),
            Vec::new(),
        )));
    }
    judge_steps(run, account, effect)?;
    let Some([held_after, allowance_after, received_after]) = words(after) else {
        return Err(refuse(
            "the balances cannot be read any more after the steps",
        ));
    };
    let Some(spent) = held_before
        .checked_sub(held_after)
        .filter(|spent| effect.allows(*spent))
    else {
        return Err(
            refuse("the input balance does not fall as the plan says").comparing(
                format_args!(
                    "from {held_before} by {}{}",
                    if effect.spent_exactly { "" } else { "at most " },
                    effect.spent
                ),
                format_args!("to {held_after}"),
            ),
        );
    };
    if !allowance_after.is_zero() {
        return Err(refuse("an allowance is left over").comparing(0, allowance_after));
    }
    let mut changes = vec![BalanceChange {
        amount: Digits(spent),
        direction: Direction::Spent,
        token: Eip55::of(effect.spent_token),
    }];
    if let Some((token, least)) = effect.received {
        let received = received_after
            .checked_sub(received_before)
            .unwrap_or_default();
        if received < least {
            return Err(refuse("less is received than the plan says").comparing(least, received));
        }
        changes.push(BalanceChange {
            amount: Digits(received),
            direction: Direction::Received,
            token: Eip55::of(token),
        });
    }
    let gas_used = run.iter().map(|call| call.gas_used).collect();
    Ok(Some(record(Outcome::AsPlanned, gas_used, changes)))
}

impl Simulation {
    /// Whether a foreign record says what the plan says.
    ///
    /// # Errors
    /// `simulation_as_planned`
    pub(crate) fn judge(&self, steps: usize, effect: Effect) -> Result<(), Refusal> {
        let consistent = self.method == METHOD
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

    fn moves_as(&self, effect: Effect) -> bool {
        let spends = |change: &BalanceChange| {
            change.direction == Direction::Spent
                && change.token.address() == effect.spent_token
                && effect.allows(change.amount.0)
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

/// What is read before and after: the input's balance, the allowance, the output's balance (the input's again where
/// nothing is received).
fn reads(account: Address, effect: Effect) -> Vec<Step> {
    let read = |to: Address, data: Vec<u8>| Step {
        kind: StepKind::Call,
        to,
        value: U256::ZERO,
        data: Bytes::from(data),
    };
    let received = effect
        .received
        .map_or(effect.spent_token, |(token, _)| token);
    vec![
        read(effect.spent_token, balanceOfCall { account }.abi_encode()),
        read(
            effect.spent_token,
            allowanceCall {
                owner: account,
                spender: effect.spender,
            }
            .abi_encode(),
        ),
        read(received, balanceOfCall { account }.abi_encode()),
    ]
}

fn judge_steps(run: &[SimulatedCall], account: Address, effect: Effect) -> Result<(), Refusal> {
    for (call, kind) in run.iter().zip(StepKind::ALL) {
        if !call.success {
            let data = call
                .return_data
                .get(..call.return_data.len().min(68))
                .unwrap_or_default();
            return Err(refuse("a step fails when it is run").comparing(
                format_args!("{} succeeds", kind.as_str()),
                format_args!("it reverts with {}", Bytes::copy_from_slice(data)),
            ));
        }
    }
    let from_account = account.into_word();
    let leak = run.iter().flat_map(|call| &call.logs).find(|log| {
        log.address != effect.spent_token
            && log.topics.first() == Some(&TRANSFER)
            && log.topics.get(1) == Some(&from_account)
    });
    match leak {
        Some(log) => Err(refuse("the plan moves another token of the account")
            .comparing(effect.spent_token, log.address)),
        None => Ok(()),
    }
}

fn words(calls: &[SimulatedCall]) -> Option<[U256; 3]> {
    let word = |call: &SimulatedCall| {
        let word = call.return_data.get(..32)?;
        call.success.then(|| U256::from_be_slice(word))
    };
    match calls {
        [a, b, c] => Some([word(a)?, word(b)?, word(c)?]),
        _ => None,
    }
}

fn refuse(message: &str) -> Refusal {
    Refusal::new(Refusal::SIMULATION, message)
}
