//! Reads who holds the receiving address on the destination chain.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, sol};
use plan_checks::{
    Failure, Violation,
    bridge::{
        AccountKind, Asked,
        account::{AccountCode, DestinationControl, MOST_OWNERS, SafeReading, SafeReadings},
        checks,
    },
};

use super::join::join;
use crate::{
    Refusal,
    ports::{Accounts, PortError, PortErrorReason},
};

sol! {
    /// Safe.
    function getOwners() external view returns (address[] memory);
    /// Safe.
    function getThreshold() external view returns (uint256);
    /// Safe.
    function VERSION() external view returns (string memory);
    /// Answered by the proxy of a Safe itself, whatever it runs.
    function masterCopy() external view returns (address);
}

/// Longest version text of a Safe.
const LONGEST_VERSION: usize = 32;
/// Longest answer of a Safe in bytes, which is its owners: an offset, their count, and a word for each. Nothing longer is
/// decoded.
const LONGEST_ANSWER: usize = 32 * (2 + MOST_OWNERS);

/// Reads the account and judges what was read.
///
/// # Errors
/// `bridge_recipient_controlled_on_destination`: the account does not hold the receiving address, or it is a Safe and cannot
/// be read on both chains. The port's failure, when there is an endpoint for the source chain and it does not say what is at
/// an account with a key.
pub(super) async fn control<A: Accounts>(
    accounts: &A,
    asked: &Asked,
) -> Result<DestinationControl, Refusal> {
    let control = match asked.account_kind {
        AccountKind::Eoa => {
            let code = accounts.code(asked.source_chain_id, asked.account).await;
            let source_code = match code {
                Ok(code) => Some(AccountCode::of(&code)),
                // Where there is nothing to read with, the plan says so: a key holds its address on every chain. An
                // endpoint that fails is no such case, or whoever makes it fail gets a contract past the check.
                Err(PortError {
                    reason: PortErrorReason::NotConfigured { .. },
                    ..
                }) => None,
                Err(error) => return Err(error.into()),
            };
            DestinationControl::Eoa { source_code }
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
            singleton: Address::ZERO,
            threshold: U256::ZERO,
            version: String::new(),
        });
    }
    let call = |data: Vec<u8>| accounts.call(chain_id, address, data.into());
    let ((owners, singleton), (threshold, version)) = join(
        join(
            call(getOwnersCall {}.abi_encode()),
            call(masterCopyCall {}.abi_encode()),
        ),
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
        singleton: returned::<masterCopyCall>(singleton, side)?,
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
    if data
        .as_ref()
        .is_some_and(|data| data.len() > LONGEST_ANSWER)
    {
        return Err(refuse(
            format!(
                "the contract on the {side} chain answers more than a Safe of {MOST_OWNERS} owners"
            ),
            format_args!("{}, at most {LONGEST_ANSWER} bytes", C::SIGNATURE),
            observed,
        ));
    }
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
        "its code, owners, singleton, threshold and version",
        error,
    )
}

fn refuse(message: String, expected: impl ToString, observed: impl ToString) -> Refusal {
    Failure::new(checks::CONTROL, Violation::new(message, expected, observed)).into()
}
