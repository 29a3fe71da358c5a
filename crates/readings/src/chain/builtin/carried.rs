//! Finds the calls inside the arguments of a known function.

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::{Address, U256};

use super::Role;
use crate::chain::abi::Signature;

/// The most commands that are named.
const MAX_COMMANDS: usize = 256;

/// A call inside another one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Carried {
    pub(super) to: Address,
    pub(super) value: Option<U256>,
    pub(super) data: Vec<u8>,
}

/// Returns all calls that a function with this role makes for its arguments. `to` is the contract
/// of the outer call. The caller limits how many of them it reads, and counts the others.
pub(super) fn carried(role: Role, to: Address, values: &[DynSolValue]) -> Vec<Carried> {
    match role {
        Role::SelfCalls => self_calls(to, values),
        Role::SafeExecution => one(values).into_iter().collect(),
        Role::Calls => calls(values),
        Role::MultiSend => match values {
            [DynSolValue::Bytes(packed)] => multi_send(packed),
            _ => Vec::new(),
        },
        Role::UserOperations => user_operations(values),
        _ => Vec::new(),
    }
}

/// Returns the names of the first commands of Uniswap's universal router, and the number of all
/// commands.
pub(crate) fn commands(values: &[DynSolValue]) -> (Vec<&'static str>, usize) {
    let Some(DynSolValue::Bytes(commands)) = values.first() else {
        return (Vec::new(), 0);
    };
    // The highest bit only says that the command may fail.
    let name = |command: &u8| match command & 0x7f {
        0x00 => "V3_SWAP_EXACT_IN",
        0x01 => "V3_SWAP_EXACT_OUT",
        0x02 => "PERMIT2_TRANSFER_FROM",
        0x03 => "PERMIT2_PERMIT_BATCH",
        0x04 => "SWEEP",
        0x05 => "TRANSFER",
        0x06 => "PAY_PORTION",
        0x08 => "V2_SWAP_EXACT_IN",
        0x09 => "V2_SWAP_EXACT_OUT",
        0x0a => "PERMIT2_PERMIT",
        0x0b => "WRAP_ETH",
        0x0c => "UNWRAP_WETH",
        0x0d => "PERMIT2_TRANSFER_FROM_BATCH",
        0x0e => "BALANCE_CHECK_ERC20",
        0x10 => "V4_SWAP",
        0x11 => "V3_POSITION_MANAGER_PERMIT",
        0x12 => "V3_POSITION_MANAGER_CALL",
        0x13 => "V4_INITIALIZE_POOL",
        0x14 => "V4_POSITION_MANAGER_CALL",
        0x21 => "EXECUTE_SUB_PLAN",
        _ => "UNKNOWN",
    };
    let named = commands.iter().take(MAX_COMMANDS).map(name).collect();
    (named, commands.len())
}

/// Returns the calls in a list of calldata.
fn self_calls(to: Address, values: &[DynSolValue]) -> Vec<Carried> {
    let list = values.iter().find_map(|value| match value {
        DynSolValue::Array(elements) => Some(elements),
        _ => None,
    });
    let elements = list.map(Vec::as_slice).unwrap_or_default();
    let call = |element: &DynSolValue| match element {
        DynSolValue::Bytes(data) => Some(Carried {
            to,
            value: None,
            data: data.clone(),
        }),
        _ => None,
    };
    elements.iter().filter_map(call).collect()
}

/// Returns the call in a row of values: the first target, the first number and the first calldata.
fn one(values: &[DynSolValue]) -> Option<Carried> {
    let to = values.iter().find_map(DynSolValue::as_address)?;
    let value = values.iter().find_map(|value| match value {
        DynSolValue::Uint(amount, 256) => Some(*amount),
        _ => None,
    });
    let data = values.iter().find_map(DynSolValue::as_bytes)?.to_vec();
    Some(Carried { to, value, data })
}

fn calls(values: &[DynSolValue]) -> Vec<Carried> {
    match values {
        [
            DynSolValue::FixedBytes(mode, 32),
            DynSolValue::Bytes(packed),
        ] => erc7579(mode.first().copied(), packed),
        [DynSolValue::Array(targets), DynSolValue::Array(data)] => zipped(targets, None, data),
        [
            DynSolValue::Array(targets),
            DynSolValue::Array(amounts),
            DynSolValue::Array(data),
        ] => zipped(targets, Some(amounts), data),
        [DynSolValue::Address(_), ..] => one(values).into_iter().collect(),
        _ => listed(values),
    }
}

/// Returns the calls in a list of tuples, each of which names a target and calldata.
fn listed(values: &[DynSolValue]) -> Vec<Carried> {
    let list = values.iter().find_map(|value| match value {
        DynSolValue::Array(elements) => Some(elements.as_slice()),
        _ => None,
    });
    let elements = list.unwrap_or_default().iter();
    elements
        .filter_map(|element| one(element.as_tuple()?))
        .collect()
}

fn zipped(
    targets: &[DynSolValue],
    amounts: Option<&[DynSolValue]>,
    data: &[DynSolValue],
) -> Vec<Carried> {
    // When the list of amounts is empty, the account sends zero with every call.
    let amounts = amounts.filter(|amounts| !amounts.is_empty());
    if targets.len() != data.len() || amounts.is_some_and(|amounts| amounts.len() != data.len()) {
        return Vec::new();
    }
    let call = |(place, (target, data)): (usize, (&DynSolValue, &DynSolValue))| {
        let amount = amounts.and_then(|amounts| amounts.get(place)?.as_uint());
        Some(Carried {
            to: target.as_address()?,
            value: amount.map(|(amount, _)| amount),
            data: data.as_bytes()?.to_vec(),
        })
    };
    targets
        .iter()
        .zip(data)
        .enumerate()
        .filter_map(call)
        .collect()
}

/// Returns the calls of an execution. The first byte of the mode says whether one packed call or an
/// encoded list follows.
fn erc7579(kind: Option<u8>, packed: &[u8]) -> Vec<Carried> {
    match kind {
        Some(0) => {
            let read = || {
                Some(Carried {
                    to: Address::from_slice(packed.get(..20)?),
                    value: Some(U256::from_be_slice(packed.get(20..52)?)),
                    data: packed.get(52..)?.to_vec(),
                })
            };
            read().into_iter().collect()
        }
        Some(1) => {
            let Some(list) = Signature::parse("execute((address,uint256,bytes)[])") else {
                return Vec::new();
            };
            let data = [list.selector().as_slice(), packed].concat();
            list.decode(&data)
                .filter(|decoded| decoded.trailing == 0)
                .map(|decoded| listed(&decoded.values))
                .unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// Returns the calls of a packed list: operation, target, amount, length and calldata, repeated
/// without padding.
fn multi_send(mut packed: &[u8]) -> Vec<Carried> {
    let mut found = Vec::new();
    while !packed.is_empty() {
        let mut next = || {
            let target = Address::from_slice(packed.get(1..21)?);
            let value = U256::from_be_slice(packed.get(21..53)?);
            let length: usize = U256::from_be_slice(packed.get(53..85)?).try_into().ok()?;
            let end = 85_usize.checked_add(length)?;
            let data = packed.get(85..end)?.to_vec();
            packed = packed.get(end..)?;
            Some(Carried {
                to: target,
                value: Some(value),
                data,
            })
        };
        match next() {
            Some(call) => found.push(call),
            // Half of a list would be worse than no list.
            None => return Vec::new(),
        }
    }
    found
}

/// Returns the calls of user operations. Each operation calls its own account with its calldata.
fn user_operations(values: &[DynSolValue]) -> Vec<Carried> {
    let Some(DynSolValue::Array(operations)) = values.first() else {
        return Vec::new();
    };
    let call = |operation: &DynSolValue| {
        let members = operation.as_tuple()?;
        Some(Carried {
            to: members.first()?.as_address()?,
            value: None,
            data: members.get(3)?.as_bytes()?.to_vec(),
        })
    };
    operations.iter().filter_map(call).collect()
}
