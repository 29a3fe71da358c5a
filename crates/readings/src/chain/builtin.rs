//! Functions of common standards: their names, their effects, and the calls that they carry.

pub mod calls;
mod carried;
mod table;

use std::{collections::BTreeMap, sync::LazyLock};

use alloy_primitives::{Address, Selector, address};

pub(crate) use self::carried::commands;
use self::table::ROWS;
use super::abi::Signature;

/// The contract Permit2, which has one address on every chain.
pub const PERMIT2: Address = address!("000000000022D473030F116dDEE9F6B43aC78BA3");

/// Contracts that have one address on every chain.
const WELL_KNOWN: [(Address, &str); 5] = [
    (PERMIT2, "Permit2"),
    (
        address!("5FF137D4b0FDCD49DcA30c7CF57E578a026d2789"),
        "ERC-4337 EntryPoint 0.6",
    ),
    (
        address!("0000000071727De22E5E9d8BAf0edAc6f37da032"),
        "ERC-4337 EntryPoint 0.7",
    ),
    (
        address!("4337084D9E255Ff0702461CF8895CE9E3b5Ff108"),
        "ERC-4337 EntryPoint 0.8",
    ),
    (
        address!("cA11bde05977b3631167028862bE2a173976CA11"),
        "Multicall3",
    ),
];

/// A function of a standard.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// Its standard or protocol.
    pub standard: &'static str,
    /// Its effect.
    pub role: Role,
    /// Its declaration with the names of its parameters.
    pub declaration: &'static str,
}

/// The effect of a function, as far as an explanation needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Moves the sender's tokens.
    Transfer,
    /// Moves the tokens of an account that allowed it.
    TransferFrom,
    /// Moves NFTs.
    NftTransfer,
    /// Sets an allowance.
    Approve,
    /// Sets an operator of all NFTs of a collection.
    ApproveAll,
    /// Sets an allowance by a signature.
    Permit,
    /// Moves tokens by a signed authorization.
    AuthorizedTransfer,
    /// Invalidates a signed authorization.
    CancelAuthorization,
    /// Wraps the chain's own coin.
    Wrap,
    /// Unwraps the chain's own coin.
    Unwrap,
    /// Collects the remaining balance of a router at the end.
    Sweep,
    /// Trades tokens.
    Swap,
    /// Gives liquidity to a pool, or takes it back.
    Liquidity,
    /// Lends or deposits.
    Supply,
    /// Takes back lent or deposited tokens.
    Withdraw,
    /// Borrows.
    Borrow,
    /// Pays back.
    Repay,
    /// Sends tokens to another chain.
    Bridge,
    /// Collects rewards.
    Claim,
    /// Calls itself several times.
    SelfCalls,
    /// Calls others.
    Calls,
    /// Executes a transaction of a multi-signature account.
    SafeExecution,
    /// Makes several calls, which one blob of a multi-signature account lists.
    MultiSend,
    /// Executes operations of contract accounts.
    UserOperations,
    /// Runs a list of commands of Uniswap's universal router.
    Commands,
}

impl Row {
    /// Whether the called contract is a token.
    #[must_use]
    pub fn is_of_token(&self) -> bool {
        matches!(
            self.standard,
            "erc20" | "erc2612" | "eip3009" | "erc721" | "erc1155" | "weth"
        )
    }
}

static TABLE: LazyLock<BTreeMap<Selector, Vec<(Signature, &'static Row)>>> = LazyLock::new(|| {
    let mut table: BTreeMap<Selector, Vec<(Signature, &'static Row)>> = BTreeMap::new();
    for row in ROWS {
        if let Some(signature) = Signature::parse(row.declaration) {
            table
                .entry(signature.selector())
                .or_default()
                .push((signature, row));
        }
    }
    table
});

/// The known functions with this selector.
#[must_use]
pub fn with_selector(selector: Selector) -> &'static [(Signature, &'static Row)] {
    TABLE.get(&selector).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the row of a signature. The names of its parameters do not matter.
#[must_use]
pub fn row(signature: &Signature) -> Option<&'static Row> {
    with_selector(signature.selector())
        .iter()
        .find(|(known, _)| known.text() == signature.text())
        .map(|(_, row)| *row)
}

/// The name of the contract at this address on every chain.
#[must_use]
pub fn well_known(address: Address) -> Option<&'static str> {
    WELL_KNOWN
        .iter()
        .find(|(known, _)| *known == address)
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_readable_and_unique() {
        let texts: Vec<String> = ROWS
            .iter()
            .map(|row| {
                let signature = Signature::parse(row.declaration);
                signature
                    .unwrap_or_else(|| panic!("{}", row.declaration))
                    .text()
                    .to_owned()
            })
            .collect();
        let mut sorted = texts.clone();
        sorted.sort_unstable();
        assert!(
            sorted.windows(2).all(|pair| pair[0] != pair[1]),
            "{sorted:#?}"
        );
        assert!(TABLE.values().all(|rows| rows.len() == 1));
    }

    /// The selectors are published.
    #[test]
    fn selectors_are_the_published_ones() {
        let published = [
            ("a9059cbb", "transfer(address,uint256)"),
            ("23b872dd", "transferFrom(address,address,uint256)"),
            ("095ea7b3", "approve(address,uint256)"),
            ("a22cb465", "setApprovalForAll(address,bool)"),
            ("42842e0e", "safeTransferFrom(address,address,uint256)"),
            (
                "f242432a",
                "safeTransferFrom(address,address,uint256,uint256,bytes)",
            ),
            (
                "2eb2c2d6",
                "safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)",
            ),
            ("d0e30db0", "deposit()"),
            ("2e1a7d4d", "withdraw(uint256)"),
            (
                "e3ee160e",
                "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
            ),
            (
                "cf092995",
                "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
            ),
            (
                "ef55bec6",
                "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
            ),
            (
                "38ed1739",
                "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)",
            ),
            (
                "414bf389",
                "exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))",
            ),
            (
                "04e45aaf",
                "exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))",
            ),
            ("3593564c", "execute(bytes,bytes[],uint256)"),
            ("ac9650d8", "multicall(bytes[])"),
            ("5ae401dc", "multicall(uint256,bytes[])"),
            ("82ad56cb", "aggregate3((address,bool,bytes)[])"),
            (
                "6a761202",
                "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
            ),
            ("8d80ff0a", "multiSend(bytes)"),
            (
                "1fad948c",
                "handleOps((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address)",
            ),
            (
                "765e827f",
                "handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)",
            ),
            (
                "2b67b570",
                "permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)",
            ),
            ("36c78516", "transferFrom(address,address,uint160,address)"),
            ("87517c45", "approve(address,address,uint160,uint48)"),
            ("617ba037", "supply(address,uint256,address,uint16)"),
            ("69328dec", "withdraw(address,uint256,address)"),
            ("6e553f65", "deposit(uint256,address)"),
            ("b460af94", "withdraw(uint256,address,address)"),
            (
                "8e0250ee",
                "depositForBurn(uint256,uint32,bytes32,address,bytes32,uint256,uint32)",
            ),
        ];
        for (selector, text) in published {
            let selector: Selector = selector.parse().unwrap();
            let found: Vec<&str> = with_selector(selector)
                .iter()
                .map(|(known, _)| known.text())
                .collect();
            assert_eq!(found, [text]);
        }
    }

    #[test]
    fn well_known_addresses_have_names() {
        assert_eq!(well_known(PERMIT2), Some("Permit2"));
        assert_eq!(well_known(Address::ZERO), None);
    }
}
