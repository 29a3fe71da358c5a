//! Reads who holds the receiving address on the destination chain.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, sol};
use plan_checks::{
    Failure, Violation,
    bridge::{
        AccountKind, Asked,
        account::{AccountCode, DestinationControl, SafeReading, SafeReadings},
        checks,
    },
};

use super::join::join;
use crate::{
    Refusal,
    ports::{Accounts, PortError},
};

sol! {
    /// Safe.
    function getOwners() external view returns (address[] memory);
    /// Safe.
    function getThreshold() external view returns (uint256);
    /// Safe.
    function VERSION() external view returns (string memory);
}

/// Longest version text of a Safe.
const LONGEST_VERSION: usize = 32;

/// Reads the account and judges what was read.
///
/// # Errors
/// `bridge_recipient_controlled_on_destination`: the account does not hold the receiving address, or it is a Safe and cannot
/// be read on both chains.
pub(super) async fn control<A: Accounts>(
    accounts: &A,
    asked: &Asked,
) -> Result<DestinationControl, Refusal> {
    let control = match asked.account_kind {
        // Where nothing can be read, the plan says so: a key holds its address on every chain.
        AccountKind::Eoa => {
            let code = accounts.code(asked.source_chain_id, asked.account).await;
            DestinationControl::Eoa {
                source_code: code.ok().map(|code| AccountCode::of(&code)),
            }
        }
        AccountKind::Safe => {
            let read = |chain_id, side| safe(accounts, chain_id, asked.account, side);
            let (source, destination) = join(
                read(asked.source_chain_id, "source"),
                read(asked.destination_chain_id, "destination"),
            )
            .await;
            DestinationControl::Safe(Box::new(SafeReadings {
                source: source?,
                destination: destination?,
            }))
        }
    };
    control
        .judge(asked.account_kind)
        .map_err(|violation| Failure::new(checks::CONTROL, violation))?;
    Ok(control)
}

async fn safe<A: Accounts>(
    accounts: &A,
    chain_id: u64,
    address: Address,
    side: &'static str,
) -> Result<SafeReading, Refusal> {
    let code = accounts
        .code(chain_id, address)
        .await
        .map_err(|error| unread(side, &error))?;
    let code = AccountCode::of(&code);
    if !matches!(code, AccountCode::Contract { .. }) {
        return Ok(SafeReading {
            code,
            owners: Vec::new(),
            threshold: U256::ZERO,
            version: String::new(),
        });
    }
    let call = |data: Vec<u8>| accounts.call(chain_id, address, data.into());
    let (owners, (threshold, version)) = join(
        call(getOwnersCall {}.abi_encode()),
        join(
            call(getThresholdCall {}.abi_encode()),
            call(VERSIONCall {}.abi_encode()),
        ),
    )
    .await;
    let version = returned::<VERSIONCall>(version, side)?;
    // Text of a contract that may be somebody else's: nothing but a version gets into a plan or a refusal.
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'-');
    if version.is_empty() || version.len() > LONGEST_VERSION || !version.bytes().all(plain) {
        return Err(refuse(
            format!("the contract on the {side} chain has no version of a Safe"),
            "a version",
            format_args!("{} bytes of text", version.len()),
        ));
    }
    Ok(SafeReading {
        code,
        owners: returned::<getOwnersCall>(owners, side)?,
        threshold: returned::<getThresholdCall>(threshold, side)?,
        version,
    })
}

/// What a call returned, if it answered as a Safe does.
fn returned<C: SolCall>(
    answer: Result<Option<Bytes>, PortError>,
    side: &'static str,
) -> Result<C::Return, Refusal> {
    let data = answer.map_err(|error| unread(side, &error))?;
    let observed = data.as_ref().map_or_else(
        || "it reverted".to_owned(),
        |data| format!("{} bytes", data.len()),
    );
    data.and_then(|data| C::abi_decode_returns_validate(&data).ok())
        .ok_or_else(|| {
            refuse(
                format!("the contract on the {side} chain does not answer as a Safe"),
                C::SIGNATURE,
                observed,
            )
        })
}

fn unread(side: &str, error: &PortError) -> Refusal {
    refuse(
        format!("the Safe cannot be read on the {side} chain"),
        "its code, owners, threshold and version",
        error,
    )
}

fn refuse(message: String, expected: impl ToString, observed: impl ToString) -> Refusal {
    Failure::new(checks::CONTROL, Violation::new(message, expected, observed)).into()
}
