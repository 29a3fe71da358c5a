//! Calls, transfers, approvals and changes in the form of an answer.

use alloy_primitives::{Address, U256};
use exact::format_units;
use serde::Serialize;

use super::{MAX_SHOWN, View};
use crate::chain::{
    abi::{Argument, Budget},
    amount::with_sign,
    balances,
    builtin::{Role, calls::DecodedCall, commands},
    events::{Grant, Standard},
    knowledge::TokenFacts,
    network::NATIVE_DECIMALS,
    record::CodeAuthorization,
    signature::Confidence,
};

/// The most values that the calls of a transaction show together.
const MAX_VALUES: usize = 600;

pub(super) fn budget() -> Budget {
    Budget::of(MAX_VALUES)
}

/// A call, decoded as far as possible.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownCall {
    /// The called contract. Only a call inside another one has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Native coin that an inner call carries, in whole coins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The matching signature. Absent when none matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The first four bytes. Absent when there are fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The standard or protocol of the function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard: Option<&'static str>,
    /// How certain the signature is.
    pub signature_confidence: Confidence,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// The commands of Uniswap's universal router, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<&'static str>,
    /// The number of commands that are not named.
    #[serde(skip_serializing_if = "is_zero")]
    pub commands_left_out: usize,
    /// How many bytes follow the arguments. They often are an attribution.
    #[serde(skip_serializing_if = "is_zero")]
    pub trailing_bytes: usize,
    /// Other signatures that match equally well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_signatures: Vec<String>,
    /// The calls that it carries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Self>,
    /// How many calls were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub calls_left_out: usize,
}

/// A transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownTransfer {
    /// `native`, `erc20`, `erc721` or `erc1155`.
    pub standard: &'static str,
    /// The token and the amount.
    #[serde(flatten)]
    pub asset: ShownAsset,
    /// The sender. The zero address when the asset was minted.
    pub from: String,
    /// The receiver. The zero address when the asset was burned.
    pub to: String,
}

/// A token and an amount of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownAsset {
    /// The token's contract. Absent for the native coin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The token's own symbol. The text is untrusted.
    pub symbol: Option<String>,
    /// The decimals of the token. Absent for NFTs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimals: Option<u8>,
    /// The amount in atoms.
    pub raw: String,
    /// The amount in whole units. Null when the token's decimals are not known.
    pub amount: Option<String>,
    /// The id of an NFT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
}

/// A permission to spend the tokens of another account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownApproval {
    /// `allowance`, `permit2`, `nft` or `all`.
    pub kind: &'static str,
    /// The token.
    pub token: String,
    /// The token's own symbol. The text is untrusted.
    pub symbol: Option<String>,
    /// The owner of the tokens.
    pub owner: String,
    /// The account that may spend.
    pub spender: String,
    /// The limit, in atoms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// The limit in whole units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
    /// The id of an NFT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// The expiry of a Permit2 allowance, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// Whether it is practically unlimited.
    pub unlimited: bool,
    /// Whether it revokes an approval.
    pub revoked: bool,
}

/// An account's signature that lets a contract act as its code (EIP-7702).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownDelegation {
    /// The account that signed. Null when the signature belongs to no account: then it has no
    /// effect.
    pub authority: Option<String>,
    /// The contract that acts as its code. The zero address for a revocation.
    pub delegate: String,
    /// The chain for which it is signed. 0 means every chain; null is no chain's id.
    pub chain_id: Option<u64>,
    /// The nonce that the account must have: otherwise the chain skips the signature.
    pub nonce: u64,
    /// Whether it removes the account's code.
    pub revoked: bool,
    /// Whether it is signed for this chain. Otherwise it has no effect here.
    pub for_this_chain: bool,
}

/// A balance change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownChange {
    /// The account.
    pub account: String,
    /// `native`, `erc20`, `erc721` or `erc1155`.
    pub standard: &'static str,
    /// The asset and the amount. A loss has a minus sign.
    #[serde(flatten)]
    pub asset: ShownAsset,
}

pub(super) fn call(call: &DecodedCall, budget: &mut Budget) -> ShownCall {
    inner(call, true, budget)
}

fn inner(call: &DecodedCall, root: bool, budget: &mut Budget) -> ShownCall {
    let reading = call.reading.as_ref();
    let arguments =
        reading.map(|reading| reading.signature.arguments(&reading.decoded.values, budget));
    let commands = match call.role() {
        Some(Role::Commands) => reading.map(|reading| commands(&reading.decoded.values)),
        _ => None,
    };
    let (commands, commands_total) = commands.unwrap_or_default();
    let value = call.value.filter(|value| !root && !value.is_zero());
    ShownCall {
        to: call.to.filter(|_| !root).map(|to| to.to_checksum(None)),
        value: value.map(|value| format_units(value, NATIVE_DECIMALS)),
        function: reading.map(|reading| reading.signature.text().to_owned()),
        selector: call.selector().map(|selector| selector.to_string()),
        standard: reading
            .and_then(|reading| reading.row)
            .map(|row| row.standard),
        signature_confidence: reading.map_or(Confidence::Unknown, |reading| reading.confidence),
        arguments: arguments.unwrap_or_default(),
        commands_left_out: commands_total.saturating_sub(commands.len()),
        commands,
        trailing_bytes: reading.map_or(0, |reading| reading.decoded.trailing),
        other_signatures: reading
            .map(|reading| reading.others.clone())
            .unwrap_or_default(),
        calls: call
            .inner
            .iter()
            .map(|call| inner(call, false, budget))
            .collect(),
        calls_left_out: call.left_out,
    }
}

/// The transfers, and the number of all of them.
pub(super) fn transfers(view: &View<'_>) -> (Vec<ShownTransfer>, usize) {
    // A chain may log its own coin. Then the transaction's own transfer is among the logs.
    let own = match balances::native_is_logged(view.record, view.events) {
        true => Vec::new(),
        false => balances::own_moves(view.record),
    };
    let total = own.len().saturating_add(view.events.transfers.len());
    let moved = own.iter().chain(&view.events.transfers);
    let shown = moved
        .take(MAX_SHOWN)
        .map(|transfer| ShownTransfer {
            standard: transfer.standard.as_str(),
            asset: view.asset(
                transfer.standard,
                transfer.token,
                transfer.token_id,
                transfer.amount,
                false,
            ),
            from: transfer.from.to_checksum(None),
            to: transfer.to.to_checksum(None),
        })
        .collect();
    (shown, total)
}

pub(super) fn delegations(view: &View<'_>) -> Vec<ShownDelegation> {
    let chain_id = view.record.network.id;
    let shown = |authorization: &CodeAuthorization| ShownDelegation {
        authority: authorization
            .authority
            .map(|authority| authority.to_checksum(None)),
        delegate: authorization.delegate.to_checksum(None),
        chain_id: u64::try_from(authorization.chain_id).ok(),
        nonce: authorization.nonce,
        revoked: authorization.is_revocation(),
        for_this_chain: authorization.counts_on(chain_id),
    };
    let carried = view.record.transaction.authorizations.iter();
    carried.take(MAX_SHOWN).map(shown).collect()
}

pub(super) fn approvals(view: &View<'_>) -> Vec<ShownApproval> {
    let shown = view.events.approvals.iter().take(MAX_SHOWN);
    shown
        .map(|approval| {
            let facts = view.facts(approval.token);
            let (kind, raw, token_id, expires) = match approval.grant {
                Grant::Allowance(amount) => ("allowance", Some(amount), None, None),
                Grant::Permit2(amount, until) => ("permit2", Some(amount), None, Some(until)),
                Grant::Nft(id) => ("nft", None, Some(id), None),
                Grant::All(_) => ("all", None, None, None),
            };
            let decimals = facts.and_then(|facts| facts.decimals);
            ShownApproval {
                kind,
                token: approval.token.to_checksum(None),
                symbol: facts.and_then(|facts| facts.symbol.clone()),
                owner: approval.owner.to_checksum(None),
                spender: approval.spender.to_checksum(None),
                raw: raw.map(|raw| raw.to_string()),
                amount: raw
                    .zip(decimals)
                    .map(|(raw, decimals)| format_units(raw, decimals)),
                token_id: token_id.map(|id| id.to_string()),
                expires,
                unlimited: approval.grant.is_unlimited(),
                revoked: approval.is_revocation(),
            }
        })
        .collect()
}

pub(super) fn changes(view: &View<'_>) -> Vec<ShownChange> {
    let shown = view.changes.iter().take(MAX_SHOWN);
    shown
        .map(|change| {
            let holding = change.holding;
            ShownChange {
                account: holding.account.to_checksum(None),
                standard: holding.standard.as_str(),
                asset: view.asset(
                    holding.standard,
                    holding.token,
                    holding.token_id,
                    change.amount,
                    change.negative,
                ),
            }
        })
        .collect()
}

impl View<'_> {
    pub(super) fn facts(&self, token: Address) -> Option<&TokenFacts> {
        self.known.tokens.get(&token)
    }

    fn asset(
        &self,
        standard: Standard,
        token: Option<Address>,
        token_id: Option<U256>,
        raw: U256,
        negative: bool,
    ) -> ShownAsset {
        let facts = token.and_then(|token| self.facts(token));
        let decimals = match standard {
            Standard::Native => Some(NATIVE_DECIMALS),
            Standard::Erc20 => facts.and_then(|facts| facts.decimals),
            Standard::Erc721 | Standard::Erc1155 => None,
        };
        let amount = match standard {
            Standard::Erc721 | Standard::Erc1155 => Some(raw.to_string()),
            _ => decimals.map(|decimals| format_units(raw, decimals)),
        };
        let symbol = match standard {
            Standard::Native => Some(self.record.network.native_symbol.to_owned()),
            _ => facts.and_then(|facts| facts.symbol.clone()),
        };
        ShownAsset {
            token: token.map(|token| token.to_checksum(None)),
            symbol,
            decimals,
            raw: with_sign(negative, &raw.to_string()),
            amount: amount.map(|amount| with_sign(negative, &amount)),
            token_id: token_id.map(|id| id.to_string()),
        }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
