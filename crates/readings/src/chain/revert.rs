//! Why a call reverted, from the data that it returned.

use alloy_primitives::{Selector, U256};
use alloy_sol_types::{Panic, PanicKind, Revert, SolError};

use super::{
    abi::{Budget, Signature},
    knowledge::ContractFacts,
};
use crate::text::clean;

/// The most characters of a reason.
const MAX_REASON: usize = 240;

/// Errors that many contracts share (ERC-6093 and common libraries).
const SHARED: [&str; 14] = [
    "ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)",
    "ERC20InvalidSender(address sender)",
    "ERC20InvalidReceiver(address receiver)",
    "ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)",
    "ERC20InvalidApprover(address approver)",
    "ERC20InvalidSpender(address spender)",
    "ERC721NonexistentToken(uint256 tokenId)",
    "ERC721InsufficientApproval(address operator, uint256 tokenId)",
    "OwnableUnauthorizedAccount(address account)",
    "EnforcedPause()",
    "SafeERC20FailedOperation(address token)",
    "AddressInsufficientBalance(address account)",
    "FailedInnerCall()",
    "InsufficientBalance(uint256 balance, uint256 needed)",
];

/// Returns the reason in words: a text of the contract, a panic of the compiler's checks, or an
/// error by its name. Texts are cleaned, and remain untrusted.
#[must_use]
pub fn reason(data: &[u8], facts: Option<&ContractFacts>) -> String {
    if data.is_empty() {
        return "no reason given".to_owned();
    }
    if let Some(text) = strict::<Revert>(data) {
        let text = clean(&text.reason, MAX_REASON);
        return if text.is_empty() {
            "an empty reason".to_owned()
        } else {
            text
        };
    }
    if let Some(panic) = strict::<Panic>(data) {
        return format!("panic {:#04x}: {}", panic.code, meaning(&panic));
    }
    let Some(selector) = data.get(..4).map(Selector::from_slice) else {
        return format!("{} bytes that are no error", data.len());
    };
    let shared = || {
        SHARED
            .iter()
            .filter_map(|text| Signature::parse(text))
            .find(|signature| signature.selector() == selector)
    };
    let known = facts
        .and_then(|facts| facts.error(selector))
        .cloned()
        .or_else(shared);
    known
        .and_then(|signature| named(&signature, data))
        .unwrap_or_else(|| format!("unknown error {selector}"))
}

/// Returns the reason inside a node's message of the form `execution reverted: …`.
#[must_use]
pub fn reason_of_node(message: &str) -> Option<String> {
    let (_, reason) = message.split_once("reverted")?;
    let reason = clean(reason.trim_start_matches([':', ' ']), MAX_REASON);
    (!reason.is_empty()).then_some(reason)
}

/// Decodes an error, only if the data is exactly its encoding.
fn strict<E: SolError>(data: &[u8]) -> Option<E> {
    let error = E::abi_decode(data).ok()?;
    (error.abi_encode() == data).then_some(error)
}

fn meaning(panic: &Panic) -> &'static str {
    let kind = u32::try_from(panic.code)
        .ok()
        .and_then(PanicKind::from_number);
    kind.map_or("unknown check", |kind| kind.as_str())
}

/// Writes an error as `Name(1, 0x…)`.
fn named(signature: &Signature, data: &[u8]) -> Option<String> {
    let decoded = signature
        .decode(data)
        .filter(|decoded| decoded.trailing == 0)?;
    let mut budget = Budget::of(32);
    let arguments = signature.arguments(&decoded.values, &mut budget);
    let shown: Vec<String> = arguments
        .iter()
        .map(|argument| {
            let value = argument
                .value
                .as_str()
                .map_or_else(|| argument.value.to_string(), str::to_owned);
            match &argument.name {
                Some(name) => format!("{name}: {value}"),
                None => value,
            }
        })
        .collect();
    Some(clean(
        &format!("{}({})", signature.name(), shown.join(", ")),
        MAX_REASON,
    ))
}

/// Whether a receipt looks as if the gas was not enough: all of it is used.
#[must_use]
pub fn ran_out_of_gas(used: U256, limit: Option<U256>) -> bool {
    limit.is_some_and(|limit| !limit.is_zero() && used == limit)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    #[test]
    fn reasons_are_read_from_every_form() {
        let text = "08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000126e6f7420656e6f7567682062616c616e63650000000000000000000000000000";
        assert_eq!(
            reason(&hex::decode(text).unwrap(), None),
            "not enough balance"
        );
        let panic = "4e487b710000000000000000000000000000000000000000000000000000000000000011";
        assert!(reason(&hex::decode(panic).unwrap(), None).starts_with("panic 0x11: "));
        let shared = Signature::parse("ERC20InsufficientBalance(address,uint256,uint256)").unwrap();
        let mut data = shared.selector().to_vec();
        data.extend([0; 12]);
        data.extend([0x11; 20]);
        data.extend(U256::from(5).to_be_bytes::<32>());
        data.extend(U256::from(7).to_be_bytes::<32>());
        assert_eq!(
            reason(&data, None),
            "ERC20InsufficientBalance(sender: 0x1111111111111111111111111111111111111111, balance: 5, needed: 7)"
        );
        assert_eq!(reason(&[], None), "no reason given");
        assert_eq!(
            reason_of_node("execution reverted: too late").as_deref(),
            Some("too late")
        );
        assert_eq!(reason_of_node("execution reverted"), None);
        assert_eq!(reason(&[1, 2, 3], None), "3 bytes that are no error");
        assert_eq!(
            reason(&[0xde, 0xad, 0xbe, 0xef], None),
            "unknown error 0xdeadbeef"
        );
    }

    #[test]
    fn errors_of_verified_code_have_their_names() {
        let facts = ContractFacts::verified(
            r#"[{"type":"error","name":"TooLate","inputs":[{"name":"by","type":"uint256"}]}]"#,
        )
        .unwrap();
        let mut data = Signature::parse("TooLate(uint256)")
            .unwrap()
            .selector()
            .to_vec();
        data.extend(U256::from(9).to_be_bytes::<32>());
        assert_eq!(reason(&data, Some(&facts)), "TooLate(by: 9)");
        data.push(0);
        assert!(reason(&data, Some(&facts)).starts_with("unknown error "));
    }

    #[test]
    fn texts_of_contracts_are_cleaned_and_cut() {
        let long = Revert {
            reason: format!("\u{202e}{}", "A".repeat(1_000)),
        };
        assert_eq!(reason(&long.abi_encode(), None), "A".repeat(240));
        let mut loose = Revert {
            reason: "x".to_owned(),
        }
        .abi_encode();
        loose.push(0);
        assert_eq!(reason(&loose, None), "unknown error 0x08c379a0");
    }
}
