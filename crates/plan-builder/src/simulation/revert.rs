//! Describes for people why a call reverted: the text of a `require`, a panic of the compiler, or
//! an error by its name.

use std::borrow::Cow;

use alloy_primitives::{Address, U256, hex, keccak256};
use alloy_sol_types::{Panic, Revert, SolError};

/// The longest reason that is shown. A foreign contract writes it.
const LONGEST_REASON: usize = 120;
/// The most bytes of unknown revert data that are shown.
const MOST_BYTES: usize = 68;
/// The longest revert data that is decoded.
const MOST_DECODED: usize = 4096;

/// The signatures of known errors: those of the router and its exchange aggregator
/// (`GenericErrors.sol`, `LiFiDEXAggregator.sol` of LI.FI), those of the library that moves its
/// tokens, and those of OpenZeppelin's ERC-20. The bridge's contracts have no errors; they give
/// reasons.
const SIGNATURES: &[&str] = &[
    "AlreadyInitialized()",
    "CannotAuthoriseSelf()",
    "CannotBridgeToSameNetwork()",
    "ContractCallNotAllowed()",
    "CumulativeSlippageTooHigh(uint256,uint256)",
    "DeadlineExpired()",
    "DiamondIsPaused()",
    "ETHTransferFailed()",
    "ExternalCallFailed()",
    "FunctionDoesNotExist()",
    "InformationMismatch()",
    "InsufficientBalance(uint256,uint256)",
    "InvalidAmount()",
    "InvalidCallData()",
    "InvalidConfig()",
    "InvalidContract()",
    "InvalidDestinationChain()",
    "InvalidFallbackAddress()",
    "InvalidNonEVMReceiver()",
    "InvalidReceiver()",
    "InvalidSendingToken()",
    "InvalidSignature()",
    "NativeAssetNotSupported()",
    "NativeAssetTransferFailed()",
    "NoSwapDataProvided()",
    "NoSwapFromZeroBalance()",
    "NotAContract()",
    "NotInitialized()",
    "NoTransferToNullAddress()",
    "NullAddrIsNotAnERC20Token()",
    "NullAddrIsNotAValidSpender()",
    "OnlyContractOwner()",
    "RecoveryAddressCannotBeZero()",
    "ReentrancyError()",
    "TokenNotSupported()",
    "TransferFromFailed()",
    "UnAuthorized()",
    "UnsupportedChainId(uint256)",
    "WithdrawFailed()",
    "ZeroAmount()",
    "MinimalInputBalanceViolation(uint256,uint256)",
    "MinimalOutputBalanceViolation(uint256)",
    "RouteProcessorLocked()",
    "RouteProcessorPaused()",
    "ApproveFailed()",
    "TransferFailed()",
    "ERC20InsufficientAllowance(address,uint256,uint256)",
    "ERC20InsufficientBalance(address,uint256,uint256)",
    "ERC20InvalidApprover(address)",
    "ERC20InvalidReceiver(address)",
    "ERC20InvalidSender(address)",
    "ERC20InvalidSpender(address)",
    "SafeERC20FailedOperation(address)",
];

/// Describes revert data as a text.
pub(super) fn describe(data: &[u8]) -> String {
    if data.is_empty() {
        return "no reason".to_owned();
    }
    let named = (data.len() <= MOST_DECODED)
        .then(|| {
            reason(data)
                .or_else(|| panic_code(data))
                .or_else(|| error(data))
        })
        .flatten();
    named.unwrap_or_else(|| {
        let shown = data.get(..MOST_BYTES).unwrap_or(data);
        hex::encode_prefixed(shown)
    })
}

/// Reads `Error(string)`.
fn reason(data: &[u8]) -> Option<String> {
    let Revert { reason } = Revert::abi_decode_validate(data).ok()?;
    let plain = |c: &char| exact::is_plain(*c) && *c != '"';
    let shown: String = reason.chars().filter(plain).take(LONGEST_REASON).collect();
    Some(format!("Error(\"{shown}\")"))
}

/// Reads `Panic(uint256)`.
fn panic_code(data: &[u8]) -> Option<String> {
    let panic = Panic::abi_decode_validate(data).ok()?;
    let what = match u8::try_from(panic.code).ok()? {
        0x01 => "an assertion fails",
        0x11 => "an overflow",
        0x12 => "a division by zero",
        0x21 => "no variant of an enum",
        0x22 => "storage that is encoded wrongly",
        0x31 => "an empty array",
        0x32 => "an index out of bounds",
        0x41 => "too much memory",
        0x51 => "a function that is not set",
        _ => return Some(format!("Panic({:#x})", panic.code)),
    };
    Some(format!("Panic({:#x}): {what}", panic.code))
}

/// Reads an error of the table. Each of its arguments is one word.
fn error(data: &[u8]) -> Option<String> {
    let (selector, arguments) = data.split_at_checked(4)?;
    let signature = SIGNATURES
        .iter()
        .find(|signature| keccak256(signature).starts_with(selector))?;
    let (name, types) = signature.strip_suffix(')')?.split_once('(')?;
    let types: Vec<_> = types.split(',').filter(|kind| !kind.is_empty()).collect();
    let words: Vec<_> = arguments.chunks(32).collect();
    if arguments.len() != types.len().checked_mul(32)? {
        return Some(Cow::Borrowed(name).into_owned());
    }
    let shown: Vec<_> = types
        .iter()
        .zip(words)
        .map(|(kind, word)| match *kind {
            "address" => Address::from_slice(word.get(12..).unwrap_or_default()).to_string(),
            _ => U256::from_be_slice(word).to_string(),
        })
        .collect();
    Some(format!("{name}({})", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::address;
    use proptest::prelude::*;

    use super::*;

    fn selector(signature: &str) -> Vec<u8> {
        keccak256(signature)[..4].to_vec()
    }

    #[test]
    fn reasons_and_panics() {
        let reason = |text: &str| describe(&Revert::from(text).abi_encode());
        assert_eq!(
            reason("Insufficient max fee"),
            "Error(\"Insufficient max fee\")"
        );
        assert_eq!(
            reason("ERC20: transfer amount exceeds balance"),
            "Error(\"ERC20: transfer amount exceeds balance\")"
        );
        assert_eq!(reason(""), "Error(\"\")");
        // A foreign contract's text is cut. It cannot end the quotation or hide anything.
        assert_eq!(reason("a\"b\n\u{202e}c"), "Error(\"abc\")");
        assert_eq!(reason(&"x".repeat(500)).len(), "Error(\"\")".len() + 120);
        let panic = |code: u64| {
            describe(
                &Panic {
                    code: U256::from(code),
                }
                .abi_encode(),
            )
        };
        assert_eq!(panic(0x11), "Panic(0x11): an overflow");
        assert_eq!(panic(0x12), "Panic(0x12): a division by zero");
        assert_eq!(panic(0x99), "Panic(0x99)");
    }

    #[test]
    fn errors_by_their_names() {
        // LI.FI's contracts have these selectors.
        for (selector, arguments, expected) in [
            (
                hex!("275c273c"),
                vec![7, 5],
                "CumulativeSlippageTooHigh(7, 5)",
            ),
            (hex!("94539804"), vec![], "ContractCallNotAllowed()"),
            (hex!("1e4ec46b"), vec![], "InvalidReceiver()"),
            (hex!("5a046737"), vec![], "NativeAssetTransferFailed()"),
            (hex!("cf479181"), vec![9, 1], "InsufficientBalance(9, 1)"),
        ] {
            let mut data = selector.to_vec();
            for argument in arguments {
                data.extend(U256::from(argument).to_be_bytes::<32>());
            }
            assert_eq!(describe(&data), expected);
        }
        let account = address!("70997970C51812dc3A010C7d01b50e0d17dc79C8");
        let mut data = selector("ERC20InsufficientBalance(address,uint256,uint256)");
        data.extend(account.into_word());
        data.extend(U256::from(3).to_be_bytes::<32>());
        data.extend(U256::MAX.to_be_bytes::<32>());
        assert_eq!(
            describe(&data),
            format!("ERC20InsufficientBalance({account}, 3, {})", U256::MAX)
        );
        // Arguments of another length are not decoded.
        data.pop();
        assert_eq!(describe(&data), "ERC20InsufficientBalance");
    }

    #[test]
    fn unknown_revert_data_is_shown_as_it_is() {
        assert_eq!(describe(&[]), "no reason");
        assert_eq!(describe(&[1, 2]), "0x0102");
        assert_eq!(describe(&[0xfe; 500]).len(), 2 + 2 * MOST_BYTES);
        // The reason states a wrong length.
        let mut data = Revert::from("x").abi_encode();
        data[4 + 63] = 0xff;
        assert!(describe(&data).starts_with("0x08c379a0"));
    }

    #[test]
    fn no_two_errors_have_one_selector() {
        let mut selectors: Vec<_> = SIGNATURES.iter().map(|s| selector(s)).collect();
        selectors.sort();
        selectors.dedup();
        assert_eq!(selectors.len(), SIGNATURES.len());
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_short_plain_text(data in proptest::collection::vec(any::<u8>(), 0..300)) {
            let text = describe(&data);
            prop_assert!(text.chars().count() <= 300);
            prop_assert!(text.chars().all(exact::is_plain));
        }
    }
}
