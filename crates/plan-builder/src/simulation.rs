//! Simulates all steps of a plan in one block, and compares the account's balances before and
//! after.

mod record;
mod revert;

use alloy_primitives::{Address, B256, Bytes, U256, b256};
use alloy_sol_types::{SolCall, sol};
use calldata_checks::{Step, StepKind, UtcSeconds};

pub(crate) use self::record::Simulation;
use self::record::{BalanceChange, MOST_GAS, refuse};
use crate::{
    Refusal, SimulationMode,
    ports::{PortError, PortErrorReason, SimulatedCall, Simulator},
    signing::{Effect, Evm},
    wire,
};

sol! {
    /// ERC-20.
    function balanceOf(address account) external view returns (uint256);
    /// ERC-20.
    function allowance(address owner, address spender) external view returns (uint256);
}

/// ERC-20 `Transfer(address,address,uint256)`.
const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// Returns how the input changed between two balances, if the plan allows it. The router gives
/// tokens that somebody left in it to its next caller. Then the account spends less, or even gains.
fn change(effect: Effect, before: U256, after: U256) -> Option<BalanceChange> {
    if let Some(gained) = after.checked_sub(before).filter(|gained| !gained.is_zero()) {
        return (!effect.spent_exactly)
            .then(|| BalanceChange::received(effect.spent_token, gained));
    }
    let spent = before.checked_sub(after)?;
    effect
        .allows(spent)
        .then(|| BalanceChange::spent(effect.spent_token, spent))
}

/// Simulates a plan's steps. `None` when the policy asks for no simulation or no simulator is
/// configured.
///
/// # Errors
/// `simulation_as_planned`: a step fails, or the steps move other amounts than the plan says.
/// `simulation_unavailable`: the policy requires a simulation, and there is none.
pub(crate) async fn run<S: Simulator + ?Sized>(
    simulator: &S,
    mode: SimulationMode,
    now: UtcSeconds,
    evm: Evm<'_>,
) -> Result<Option<Simulation>, Refusal> {
    let Evm {
        chain_id,
        account,
        steps,
        effect,
        ..
    } = evm;
    let required = match mode {
        SimulationMode::Off => return Ok(None),
        SimulationMode::Preferred => false,
        SimulationMode::Required => true,
    };
    let unconfigured = || {
        let chain = format!("no endpoint for chain {chain_id}");
        required.then(|| missing(&chain)).map_or(Ok(None), Err)
    };
    if !simulator.simulates(chain_id) {
        return unconfigured();
    }
    let unavailable = |why: Refusal| {
        if required {
            Err(why)
        } else {
            Ok(Some(Simulation::unavailable(now)))
        }
    };
    let reads = reads(account, effect);
    let mut calls = reads.clone();
    calls.extend(wire::steps(steps));
    calls.extend(reads.clone());
    let outcomes = match simulator.simulate(chain_id, account, &calls).await {
        Ok(None) => return unconfigured(),
        Ok(Some(outcomes))
            if outcomes.len() == calls.len()
                && outcomes.iter().all(|outcome| outcome.gas_used < MOST_GAS) =>
        {
            outcomes
        }
        Ok(Some(_)) => return unavailable(missing("an answer to other calls")),
        Err(error) => return unavailable(failed(&error)),
    };
    let (before, rest) = outcomes.split_at(reads.len());
    let (run, after) = rest.split_at(steps.len());
    let Some([held_before, _, received_before]) = words(before) else {
        return unavailable(missing("balances that cannot be read"));
    };
    if held_before < effect.spent {
        return Ok(Some(Simulation::insufficient_balance(now)));
    }
    judge_steps(run, account, effect)?;
    let Some([held_after, allowance_after, received_after]) = words(after) else {
        return Err(refuse(
            "the balances cannot be read any more after the steps",
        ));
    };
    let Some(change) = change(effect, held_before, held_after) else {
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
    let mut changes = vec![change];
    if let Some((token, least)) = effect.received {
        let received = received_after
            .checked_sub(received_before)
            .unwrap_or_default();
        if received < least {
            return Err(refuse("less is received than the plan says").comparing(least, received));
        }
        changes.push(BalanceChange::received(token, received));
    }
    let gas_used = run.iter().map(|call| call.gas_used).collect();
    Ok(Some(Simulation::as_planned(now, gas_used, changes)))
}

/// Makes the reads that come before and after the steps: the balance of the input, the allowance,
/// and the balance of the output. When no token is received, the last one is the input's again.
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
            return Err(refuse("a step fails when it is run").comparing(
                format_args!("{} succeeds", kind.as_str()),
                format_args!("it reverts with {}", revert::describe(&call.return_data)),
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

/// Makes the refusal for a required simulation that is missing. `observed` says what there was
/// instead.
fn missing(observed: &str) -> Refusal {
    Refusal::new(
        Refusal::SIMULATION_UNAVAILABLE,
        "plans are given only when they could be run, and this one could not",
    )
    .comparing("a simulation of every step", observed)
}

fn failed(error: &PortError) -> Refusal {
    let refusal = missing(&error.to_string());
    match error.reason {
        PortErrorReason::RateLimited {
            retry_after: Some(time),
        } => refusal.after(time.as_secs().saturating_add(1)),
        _ => refusal,
    }
}
