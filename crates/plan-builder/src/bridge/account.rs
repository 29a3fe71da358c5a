//! Finds out who controls the receiving address on the destination chain. An account with a key
//! controls its address on every chain. A Safe must be the same on both chains. All other contracts
//! are refused.

use alloy_primitives::{Address, B256, Bytes, U256, address, b256};
use alloy_sol_types::{SolCall, sol};
use calldata_checks::{
    Failure, Violation,
    bridge::{
        AccountKind, Asked,
        account::{
            AccountCode, DestinationControl, MOST_MODULES, MOST_OWNERS, SafeReading, SafeReadings,
        },
        checks,
    },
};

use super::{BridgeRequest, join::join};
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
    /// Every proxy of a Safe answers this call itself, whichever contract it runs.
    function masterCopy() external view returns (address);
    /// Safe: the modules after `start`, and where the next page starts.
    function getModulesPaginated(address start, uint256 pageSize) external view returns (address[] memory array, address next);
    /// Safe since 1.3.0: reads whole words of its storage.
    function getStorageAt(uint256 offset, uint256 length) external view returns (bytes memory);
}

/// The address at which a Safe's list of modules begins and ends.
pub(super) const SENTINEL: Address = address!("0000000000000000000000000000000000000001");
/// The slot with a Safe's guard: keccak-256 of `guard_manager.guard.address`.
pub(super) const GUARD_SLOT: B256 =
    b256!("4a204f620c8c5ccdca3fd54d003badd85ba500436a431f0cbda4f558c93c34c8");
/// The slot with the guard of a Safe 1.5.0's modules: keccak-256 of
/// `module_manager.module_guard.address`.
pub(super) const MODULE_GUARD_SLOT: B256 =
    b256!("b104e0b93118902c651344349b610029d694cfdec91c589c91ebafbcd0289947");
/// The slot with a Safe's fallback handler: keccak-256 of `fallback_manager.handler.address`.
pub(super) const HANDLER_SLOT: B256 =
    b256!("6c9a6c4a39284e37ed1cf53d337577d14212a4870fb976a4366c693b939918d5");

/// The most bytes of a Safe's version text.
const LONGEST_VERSION: usize = 32;
/// The most bytes of a Safe's answer: its owners as an offset, their count, and a word for each. A
/// longer answer is not decoded.
const LONGEST_ANSWER: usize = 32 * (2 + MOST_OWNERS);

/// Reads who controls the receiving address of a bridge, for [`OwnReadings`](crate::OwnReadings). A
/// verifier needs this for a plan of a stranger, whose own readings prove nothing. A Safe is read
/// on both chains.
///
/// # Errors
/// `bridge_recipient_controlled_on_destination`: the account does not control the receiving
/// address, or it cannot be read. The failure of the port.
///
/// # Example
/// [`verify_with`](crate::verify_with) has one.
pub async fn read_control<A: Accounts + ?Sized>(
    request: &BridgeRequest,
    accounts: &A,
) -> Result<DestinationControl, Refusal> {
    control(accounts, &request.asked(), false).await
}

/// Reads the account and judges the readings.
///
/// # Errors
/// `bridge_recipient_controlled_on_destination`: the account does not control the receiving
/// address, or it is a Safe and cannot be read on both chains. The failure of the port, when the
/// source chain has an endpoint that does not return the code of an account with a key.
pub(super) async fn control<A: Accounts + ?Sized>(
    accounts: &A,
    asked: &Asked,
    allow_unread: bool,
) -> Result<DestinationControl, Refusal> {
    let control = match asked.account_kind {
        AccountKind::Eoa => {
            let code = accounts.code(asked.source_chain_id, asked.account).await;
            let source_code = match code {
                Ok(code) => Some(AccountCode::of(&code)),
                // Without an endpoint, a plan needs the operator's permission, and says so: a key
                // controls its address on every chain. An endpoint that fails is different.
                // Otherwise anyone who makes it fail could get a contract past the check.
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
        .judge(asked.account_kind, allow_unread)
        .map_err(|violation| Failure::new(checks::CONTROL, violation))?;
    Ok(control)
}

async fn safe<A: Accounts + ?Sized>(
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
            fallback_handler: Address::ZERO,
            guard: Address::ZERO,
            module_guard: Address::ZERO,
            modules: Vec::new(),
            owners: Vec::new(),
            singleton: Address::ZERO,
            singleton_code: AccountCode::Empty,
            threshold: U256::ZERO,
            version: String::new(),
        });
    }
    let call = |data: Vec<u8>| accounts.call(chain_id, address, data.into());
    let modules = getModulesPaginatedCall {
        start: SENTINEL,
        pageSize: U256::from(MOST_MODULES),
    };
    let stored = |slot: B256| {
        let (offset, length) = (slot.into(), U256::from(1));
        call(getStorageAtCall { offset, length }.abi_encode())
    };
    let singleton = async {
        let singleton = call(masterCopyCall {}.abi_encode()).await;
        let singleton = returned::<masterCopyCall>(singleton, side)?;
        let code = accounts.code(chain_id, singleton).await;
        let code = code.map_err(|error| unread(side, &error))?;
        Ok::<_, Refusal>((singleton, AccountCode::of(&code)))
    };
    let (((owners, singleton), (threshold, version)), ((modules, guard), (module_guard, handler))) =
        join(
            join(
                join(call(getOwnersCall {}.abi_encode()), singleton),
                join(
                    call(getThresholdCall {}.abi_encode()),
                    call(VERSIONCall {}.abi_encode()),
                ),
            ),
            join(
                join(call(modules.abi_encode()), stored(GUARD_SLOT)),
                join(stored(MODULE_GUARD_SLOT), stored(HANDLER_SLOT)),
            ),
        )
        .await;
    let version = returned::<VERSIONCall>(version, side)?;
    // A stranger may have written this text. Only the characters of a version get into a plan or a
    // refusal.
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'-');
    if version.is_empty() || version.len() > LONGEST_VERSION || !version.bytes().all(plain) {
        return Err(refuse(
            format!("the contract on the {side} chain has no version of a Safe"),
            "a version",
            format_args!("{} bytes of text", version.len()),
        ));
    }
    let owners = returned::<getOwnersCall>(owners, side)?;
    let (singleton, singleton_code) = singleton?;
    let threshold = returned::<getThresholdCall>(threshold, side)?;
    let modules = returned::<getModulesPaginatedCall>(modules, side)?;
    if modules.next != SENTINEL {
        return Err(refuse(
            format!("the Safe has more modules on the {side} chain than are read"),
            format_args!("at most {MOST_MODULES}"),
            "more",
        ));
    }
    Ok(SafeReading {
        code,
        fallback_handler: stored_address(handler, side)?,
        guard: stored_address(guard, side)?,
        module_guard: stored_address(module_guard, side)?,
        modules: modules.array,
        owners,
        singleton,
        singleton_code,
        threshold,
        version,
    })
}

/// Reads the address in a word of a Safe's storage.
fn stored_address(
    answer: Result<Option<Bytes>, PortError>,
    side: &'static str,
) -> Result<Address, Refusal> {
    let stored = returned::<getStorageAtCall>(answer, side)?;
    let word = B256::try_from(stored.as_ref()).ok();
    let address = word.map(Address::from_word);
    address
        .filter(|address| Some(address.into_word()) == word)
        .ok_or_else(|| {
            refuse(
                format!("the contract on the {side} chain does not answer as a Safe"),
                "an address in one word of its storage",
                format_args!("{} bytes", stored.len()),
            )
        })
}

/// Returns the data of a call that was answered as a Safe does.
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
        "its code, owners, singleton, threshold, version, modules, guards and fallback handler",
        error,
    )
}

fn refuse(message: String, expected: impl ToString, observed: impl ToString) -> Refusal {
    Failure::new(checks::CONTROL, Violation::new(message, expected, observed)).into()
}
