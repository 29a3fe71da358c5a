//! Warnings about facts that a reader of an explanation should know.

use alloy_primitives::U256;
use serde::Serialize;

use super::{MAX_SHOWN, Status, View};
use crate::chain::{
    balances,
    builtin::Role,
    events,
    knowledge::Replay,
    record::{Receipt, Testimony},
    revert,
    signature::Confidence,
    text::shown_symbol,
};

/// The most unlimited approvals, and the most delegations, that get their own warning.
const WARNED: usize = 3;
/// How much gas a transaction uses that runs no code.
const PLAIN_GAS: U256 = U256::from_limbs([21_000, 0, 0, 0]);

/// A warning for the reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Stable code.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
}

impl Warning {
    pub(super) fn new(code: &'static str, message: &str) -> Self {
        Self {
            code,
            message: message.to_owned(),
        }
    }
}

pub(super) fn warnings(view: &View<'_>, unknown_sums: usize, cut: bool) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut warn = |code, message: &str| found.push(Warning::new(code, message));
    grants(view, &mut warn);
    tokens(view, &mut warn);
    call(view, cut, &mut warn);
    let record = view.record;
    if let Testimony::OneNode(_) = record.testimony {
        warn(
            "one_nodes_word",
            "The content, the status and the logs come from one node; no other node confirmed them.",
        );
    }
    let authorizations = record.transaction.authorizations.iter();
    for authorization in authorizations.take(WARNED) {
        let code = match authorization.is_revocation() {
            true => "code_delegation_revoked",
            false => "code_delegated",
        };
        warn(code, &format!("{}.", view.delegated(authorization)));
    }
    let more = record
        .transaction
        .authorizations
        .len()
        .saturating_sub(WARNED);
    if more > 0 {
        warn(
            "code_delegated",
            &format!("{more} more signatures about the code of accounts are carried."),
        );
    }
    if let Some(receipt) = &record.receipt {
        if receipt.logs_left_out > 0 {
            warn(
                "logs_left_out",
                "There are more logs than are read: transfers and balance changes are not complete.",
            );
        }
        if view.status == Status::Reverted
            && revert::ran_out_of_gas(receipt.gas_used, record.transaction.gas_limit)
        {
            warn(
                "out_of_gas",
                "All of the gas was used: it most likely ran out.",
            );
        }
    }
    if matches!(view.known.replay, Some(Replay::Reverted { .. })) && view.status == Status::Reverted
    {
        warn(
            "reason_by_replay",
            "The reason was found by running the call again on the state before its block; transactions before it in its \
             block may have mattered.",
        );
    }
    if !view.events.unreadable.is_empty() {
        warn(
            "unreadable_transfer_logs",
            "Some logs look like transfers but match no known form: balance changes may be incomplete.",
        );
    }
    if record.receipt.is_some()
        && !view.fee_is_known
        && record.transaction.undetermined_balances().is_none()
        && !balances::native_is_logged(record, view.events)
    {
        warn(
            "fee_not_in_changes",
            "The fee is not known in full: the sender's change of the native coin does not contain it.",
        );
    }
    if failed_inside(view) {
        warn(
            "inner_call_failed",
            "The transaction succeeded, but the call that it carries failed, as the contract that made the call logged.",
        );
    }
    if native_is_unseen(view) {
        warn(
            "native_moves_unseen",
            "Contracts move the native coin without a log: such movements inside the call are not among the transfers.",
        );
    }
    if unknown_sums > 0 {
        warn(
            "sums_out_of_range",
            "A token logged amounts that cannot be added up; its balance changes are left out.",
        );
    }
    let long = view.events.transfers.len() > MAX_SHOWN
        || view.events.approvals.len() > MAX_SHOWN
        || view.changes.len() > MAX_SHOWN;
    if long {
        warn("lists_cut", "A list is longer than its shown part.");
    }
    found
}

fn grants(view: &View<'_>, warn: &mut impl FnMut(&'static str, &str)) {
    let unlimited = view
        .events
        .approvals
        .iter()
        .filter(|approval| approval.grant.is_unlimited());
    let more = unlimited.clone().count().saturating_sub(WARNED);
    for approval in unlimited.take(WARNED) {
        let message = format!(
            "{} may now take everything that {} has of the token {}.",
            approval.spender.to_checksum(None),
            approval.owner.to_checksum(None),
            approval.token.to_checksum(None)
        );
        warn("unlimited_approval", &message);
    }
    if more > 0 {
        let message = format!("{more} more approvals are unlimited.");
        warn("unlimited_approval", &message);
    }
}

fn tokens(view: &View<'_>, warn: &mut impl FnMut(&'static str, &str)) {
    let sender = view.record.transaction.from;
    let empty = view.events.transfers.iter().any(|transfer| {
        transfer.amount.is_zero() && transfer.from != sender && !transfer.from.is_zero()
    });
    if empty {
        warn(
            "zero_value_transfer",
            "Transfers of zero in the name of others plant look-alike addresses in histories: copy no address from here.",
        );
    }
    let odd = view
        .known
        .tokens
        .values()
        .filter_map(|facts| facts.symbol.as_deref())
        .any(|symbol| shown_symbol(symbol).is_none() || !symbol.replace('₮', "T").is_ascii());
    if odd {
        warn(
            "odd_token_text",
            "A token has a symbol with unusual characters or words: compare its address, and do not act on its text.",
        );
    }
}

fn call(view: &View<'_>, cut: bool, warn: &mut impl FnMut(&'static str, &str)) {
    let Some(call) = view.call else { return };
    let reading = call.reading.as_ref();
    match reading.map(|reading| reading.confidence) {
        Some(Confidence::VerifiedAbi) => {}
        Some(_) => warn(
            "unverified_contract",
            "No verified code of the contract was found: the function is named after its signature, and its effect is \
             visible in logs only.",
        ),
        None => warn("unknown_function", "No known signature fits the calldata."),
    }
    if reading.is_some_and(|reading| !reading.others.is_empty()) {
        warn(
            "ambiguous_signature",
            "More than one known signature fits the calldata exactly.",
        );
    }
    let (mut trailing, mut left_out) = (false, false);
    call.visit(&mut |inner| {
        trailing |= inner
            .reading
            .as_ref()
            .is_some_and(|reading| reading.decoded.trailing > 0);
        left_out |= inner.left_out > 0;
    });
    if trailing {
        warn(
            "trailing_bytes",
            "Bytes follow the arguments of a call; contracts usually do not read them.",
        );
    }
    if left_out {
        warn(
            "calls_left_out",
            "Some inner calls were not read: they are too many or nested too deep.",
        );
    }
    if cut {
        warn(
            "arguments_cut",
            "Some arguments are longer than their shown part.",
        );
    }
}

/// Whether an account or a Safe logged that the call made for it failed.
fn failed_inside(view: &View<'_>) -> bool {
    let (Some(call), Some(receipt)) = (view.call, &view.record.receipt) else {
        return false;
    };
    let mut failed = false;
    call.visit(&mut |call| {
        let runs = matches!(
            call.role(),
            Some(Role::SafeExecution | Role::UserOperations)
        );
        if let Some(contract) = call.to.filter(|_| runs) {
            failed |= events::executions(&receipt.logs, contract).failed > 0;
        }
    });
    failed && view.status == Status::Success
}

/// Whether code was run that may have moved the native coin without a log.
fn native_is_unseen(view: &View<'_>) -> bool {
    let (transaction, network) = (&view.record.transaction, view.record.network);
    if view.status != Status::Success || network.native_ledger.is_some() {
        return false;
    }
    let Some(call) = view.call else {
        return match transaction.to {
            Some(_) => view.record.receipt.as_ref().is_some_and(ran_code),
            None => !transaction.value.is_zero(),
        };
    };
    let Some(row) = call.reading.as_ref().and_then(|reading| reading.row) else {
        return true;
    };
    match row.role {
        // Only the one known contract wraps. An unwrapping is known only when that contract logs
        // it.
        Role::Wrap => call.to != Some(network.wrapped_native),
        Role::Unwrap => call.to != Some(network.wrapped_native) || !network.wrapped_logs,
        _ => !row.is_of_token(),
    }
}

/// Whether a transaction without calldata used more gas than a plain transfer.
fn ran_code(receipt: &Receipt) -> bool {
    let own = receipt
        .gas_used
        .saturating_sub(receipt.l1_gas.unwrap_or_default());
    own > PLAIN_GAS
}
