//! Reads the arguments that decide who receives something, for the judgement of a call.
//!
//! It decodes strictly and judges nothing. The arguments of all other functions stay unread.

use alloy_primitives::{Address, B256, Selector, U256};
use alloy_sol_types::{SolCall, sol};

mod token {
    use super::sol;

    sol! {
        // ERC-20.
        function approve(address spender, uint256 amount) external returns (bool);
        function transfer(address to, uint256 amount) external returns (bool);
        function transferFrom(address from, address to, uint256 amount) external returns (bool);
        // Extensions of it that grant an allowance.
        function increaseAllowance(address spender, uint256 added) external returns (bool);
        function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external;
        function approveAndCall(address spender, uint256 amount, bytes data) external returns (bool);
        function transferAndCall(address to, uint256 amount, bytes data) external returns (bool);
        // ERC-721 and ERC-1155.
        function setApprovalForAll(address operator, bool approved) external;
    }
}

mod principal {
    use super::sol;

    sol! {
        // EIP-3009, with the signature in three parts.
        function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external;
    }
}

mod principal_bytes {
    use super::sol;

    sol! {
        // EIP-3009, with the signature in one piece.
        function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature) external;
    }
}

mod messenger {
    use super::sol;

    sol! {
        // CCTP V2.
        function depositForBurn(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold) external;
    }
}

mod vault {
    use super::sol;

    sol! {
        // ERC-4626.
        function deposit(uint256 assets, address receiver) external returns (uint256);
        function mint(uint256 shares, address receiver) external returns (uint256);
        function withdraw(uint256 assets, address receiver, address owner) external returns (uint256);
        function redeem(uint256 shares, address receiver, address owner) external returns (uint256);
    }
}

mod pool {
    use super::sol;

    sol! {
        // Aave v3.
        function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode) external;
        function withdraw(address asset, uint256 amount, address to) external returns (uint256);
    }
}

pub(super) const APPROVE: Selector = Selector::new(token::approveCall::SELECTOR);

/// Functions of a token itself: they make no contract a spender.
pub(super) const OF_TOKEN: [Selector; 4] = [
    APPROVE,
    Selector::new(token::transferCall::SELECTOR),
    Selector::new(principal::transferWithAuthorizationCall::SELECTOR),
    Selector::new(principal_bytes::transferWithAuthorizationCall::SELECTOR),
];

/// Functions that no target may list: they give tokens away, or allow that, without the judgement
/// of arguments.
pub(super) const NEVER: [(Selector, &str); 6] = [
    (
        Selector::new(token::transferFromCall::SELECTOR),
        "transferFrom",
    ),
    (
        Selector::new(token::increaseAllowanceCall::SELECTOR),
        "increaseAllowance",
    ),
    (Selector::new(token::permitCall::SELECTOR), "permit"),
    (
        Selector::new(token::approveAndCallCall::SELECTOR),
        "approveAndCall",
    ),
    (
        Selector::new(token::transferAndCallCall::SELECTOR),
        "transferAndCall",
    ),
    (
        Selector::new(token::setApprovalForAllCall::SELECTOR),
        "setApprovalForAll",
    ),
];

/// The judged effect of a call, and its beneficiary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// An allowance.
    Approval { spender: Address, amount: U256 },
    /// Tokens of the wallet.
    Transfer { recipient: Address },
    /// Tokens of another account that has authorized the transfer.
    Principal { from: Address, recipient: Address },
    /// Tokens into or out of a position of the wallet, or over a bridge.
    Position { recipient: Address },
    /// A function whose arguments are not judged.
    Other,
}

/// Reads the arguments of a call; `None` when they are not in their canonical form.
pub(super) fn read(selector: Selector, input: &[u8]) -> Option<Judged> {
    let position = |recipient| Judged::Position { recipient };
    Some(match selector.0 {
        token::approveCall::SELECTOR => {
            let token::approveCall { spender, amount } = strict(input)?;
            Judged::Approval { spender, amount }
        }
        token::transferCall::SELECTOR => Judged::Transfer {
            recipient: strict::<token::transferCall>(input)?.to,
        },
        principal::transferWithAuthorizationCall::SELECTOR => {
            let call = strict::<principal::transferWithAuthorizationCall>(input)?;
            Judged::Principal {
                from: call.from,
                recipient: call.to,
            }
        }
        principal_bytes::transferWithAuthorizationCall::SELECTOR => {
            let call = strict::<principal_bytes::transferWithAuthorizationCall>(input)?;
            Judged::Principal {
                from: call.from,
                recipient: call.to,
            }
        }
        messenger::depositForBurnCall::SELECTOR => position(address(
            strict::<messenger::depositForBurnCall>(input)?.mintRecipient,
        )?),
        vault::depositCall::SELECTOR => position(strict::<vault::depositCall>(input)?.receiver),
        vault::mintCall::SELECTOR => position(strict::<vault::mintCall>(input)?.receiver),
        vault::withdrawCall::SELECTOR => position(strict::<vault::withdrawCall>(input)?.receiver),
        vault::redeemCall::SELECTOR => position(strict::<vault::redeemCall>(input)?.receiver),
        pool::supplyCall::SELECTOR => position(strict::<pool::supplyCall>(input)?.onBehalfOf),
        pool::withdrawCall::SELECTOR => position(strict::<pool::withdrawCall>(input)?.to),
        _ => Judged::Other,
    })
}

/// The address in a word; `None` for a word that holds more.
fn address(word: B256) -> Option<Address> {
    let (upper, _) = word.as_slice().split_at(12);
    upper
        .iter()
        .all(|byte| *byte == 0)
        .then(|| Address::from_word(word))
}

/// The decoder accepts dirty and trailing bytes, and the chain executes them: only arguments that
/// encode to the same bytes count.
fn strict<C: SolCall>(input: &[u8]) -> Option<C> {
    let call = C::abi_decode(input).ok()?;
    (call.abi_encode() == input).then_some(call)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    #[test]
    fn selectors_are_those_of_the_standards() {
        for (selector, published) in [
            (APPROVE, "0x095ea7b3"),
            (OF_TOKEN[1], "0xa9059cbb"),
            (NEVER[0].0, "0x23b872dd"),
            (NEVER[1].0, "0x39509351"),
            (NEVER[2].0, "0xd505accf"),
            (NEVER[3].0, "0xcae9ca51"),
            (NEVER[4].0, "0x4000aea0"),
            (NEVER[5].0, "0xa22cb465"),
            (
                principal::transferWithAuthorizationCall::SELECTOR.into(),
                "0xe3ee160e",
            ),
            (
                principal_bytes::transferWithAuthorizationCall::SELECTOR.into(),
                "0xcf092995",
            ),
            (messenger::depositForBurnCall::SELECTOR.into(), "0x8e0250ee"),
            (vault::depositCall::SELECTOR.into(), "0x6e553f65"),
            (vault::mintCall::SELECTOR.into(), "0x94bf804d"),
            (vault::withdrawCall::SELECTOR.into(), "0xb460af94"),
            (vault::redeemCall::SELECTOR.into(), "0xba087652"),
            (pool::supplyCall::SELECTOR.into(), "0x617ba037"),
            (pool::withdrawCall::SELECTOR.into(), "0x69328dec"),
        ] {
            assert_eq!(hex::encode_prefixed(selector), published);
        }
    }
}
