//! The action of a transaction: what it did, in one word and one sentence.

mod executions;
mod sides;
mod tokens;

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::{Address, U256};
use exact::format_units;
use serde::Serialize;

use super::{Status, View, warnings::Warning};
use crate::chain::{
    builtin::{Role, calls::DecodedCall, well_known},
    events::{Grant, Standard},
    network::NATIVE_DECIMALS,
    record::CodeAuthorization,
    text::shown_symbol,
};

/// The most assets that a sentence names.
const MAX_NAMED: usize = 4;

/// The action of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Action {
    /// The action in one word: `transfer`, `swap`, `approve`, …
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The action in one sentence from a template.
    pub summary: String,
}

/// The words for an action, in two forms of the verb.
struct DecodedAction {
    kind: &'static str,
    /// For example `Sent`.
    past: &'static str,
    /// For example `send`.
    infinitive: &'static str,
    /// For example `1 OKB to 0x…`.
    rest: String,
}

/// Returns the action, and warnings about facts that the sentence alone would hide.
pub(super) fn action(view: &View<'_>) -> (Action, Vec<Warning>) {
    let mut warnings = Vec::new();
    let action = view.action(&mut warnings);
    let minted = view.record.transaction.minted;
    let minted = minted.filter(|minted| !minted.is_zero());
    let unchanged = match minted {
        Some(_) => "",
        None => ": nothing but the fee changed",
    };
    let mut summary = match view.status {
        Status::Success => format!("{} {}.", action.past, action.rest),
        Status::Pending => format!("Waits to {} {}.", action.infinitive, action.rest),
        Status::Reverted => format!(
            "Tried to {} {}, and was reverted{unchanged}.",
            action.infinitive, action.rest
        ),
        Status::Unstated => format!(
            "Was to {} {}; whether it took effect is not stated.",
            action.infinitive, action.rest
        ),
    };
    if let Some(minted) = minted {
        // This is true whatever the outcome of the call is.
        summary.push_str(&format!(
            " Layer 1 made {} for the sender.",
            view.native(minted)
        ));
    }
    let authorizations = &view.record.transaction.authorizations;
    for authorization in authorizations.iter().take(MAX_NAMED) {
        summary.push_str(&format!(" {}.", view.delegated(authorization)));
    }
    let more = authorizations.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        summary.push_str(&format!(" {more} more signatures about code."));
    }
    let action = Action {
        kind: action.kind,
        summary,
    };
    (action, warnings)
}

impl View<'_> {
    /// Returns the sentence about an EIP-7702 signature, without its full stop.
    pub(super) fn delegated(&self, authorization: &CodeAuthorization) -> String {
        let CodeAuthorization {
            authority,
            delegate,
            chain_id,
            nonce,
        } = authorization;
        let chain = match chain_id.is_zero() {
            true => "every chain".to_owned(),
            false => format!("chain {chain_id}"),
        };
        let condition = match authority {
            None => "it belongs to no account and has no effect".to_owned(),
            Some(_) if !authorization.counts_on(self.record.network.id) => {
                "it has no effect on this chain".to_owned()
            }
            Some(_) => format!("it counts if the nonce of the account was {nonce}"),
        };
        let authority = match authority {
            Some(authority) => authority.to_checksum(None),
            None => "somebody".to_owned(),
        };
        let effect = match authorization.is_revocation() {
            true => "revokes the delegation of its code".to_owned(),
            false => format!("lets {} act as its code", delegate.to_checksum(None)),
        };
        format!("By a signature for {chain}, {authority} {effect}; {condition}")
    }

    fn action(&self, warnings: &mut Vec<Warning>) -> DecodedAction {
        let transaction = &self.record.transaction;
        let action = |kind, past, infinitive, rest| DecodedAction {
            kind,
            past,
            infinitive,
            rest,
        };
        let Some(to) = transaction.to else {
            let created = self
                .record
                .receipt
                .as_ref()
                .and_then(|receipt| receipt.created);
            let rest = match created {
                Some(address) => format!("the contract {}", address.to_checksum(None)),
                None => "a contract".to_owned(),
            };
            return action("contract_creation", "Created", "create", rest);
        };
        let Some(call) = self.call else {
            let native = self.native(transaction.value);
            if transaction.value.is_zero() && to == transaction.from {
                let rest =
                    "nothing to itself, which usually replaces another transaction".to_owned();
                return action("self_transfer", "Sent", "send", rest);
            }
            return action(
                "native_transfer",
                "Sent",
                "send",
                format!("{native} to {}", to.to_checksum(None)),
            );
        };
        let swaps = function(call).is_some_and(|name| name.to_ascii_lowercase().contains("swap"));
        self.known_call(call, to, warnings)
            .or_else(|| {
                if swaps {
                    self.trade()
                } else {
                    self.exchange(call, to)
                }
            })
            .unwrap_or_else(|| self.any_call(call, to))
    }

    /// The words for a call of a known function.
    fn known_call(
        &self,
        call: &DecodedCall,
        to: Address,
        warnings: &mut Vec<Warning>,
    ) -> Option<DecodedAction> {
        let reading = call.reading.as_ref()?;
        let row = reading.row?;
        let values = reading.decoded.values.as_slice();
        let sender = self.record.transaction.from;
        match (row.role, row.standard) {
            (Role::Transfer, "erc20") => {
                let (payee, amount) = (address(values, 0)?, number(values, 1)?);
                Some(self.moved(
                    call,
                    "transfer",
                    (sender, payee, amount),
                    String::new(),
                    warnings,
                ))
            }
            (Role::TransferFrom | Role::NftTransfer, "erc20" | "erc721") => {
                let (from, payee, amount) =
                    (address(values, 0)?, address(values, 1)?, number(values, 2)?);
                Some(self.moved(
                    call,
                    "transfer",
                    (from, payee, amount),
                    String::new(),
                    warnings,
                ))
            }
            (Role::AuthorizedTransfer, "eip3009") => {
                let (from, payee, amount) =
                    (address(values, 0)?, address(values, 1)?, number(values, 2)?);
                let how = ", as a signed authorization allowed".to_owned();
                Some(self.moved(
                    call,
                    "authorized_transfer",
                    (from, payee, amount),
                    how,
                    warnings,
                ))
            }
            (Role::CancelAuthorization, _) => Some(DecodedAction {
                kind: "cancel_authorization",
                past: "Cancelled",
                infinitive: "cancel",
                rest: format!(
                    "a signed authorization of {}",
                    address(values, 0)?.to_checksum(None)
                ),
            }),
            (Role::Approve, "erc20") => {
                self.approved(call, to, address(values, 0)?, number(values, 1)?, warnings)
            }
            (Role::ApproveAll, _) => {
                let operator = address(values, 0)?.to_checksum(None);
                let all = values.get(1)?.as_bool()?;
                let token = self.token(to);
                Some(if all {
                    let rest =
                        format!("{operator} to move every token of {token} that the sender has");
                    DecodedAction {
                        kind: "approve_all",
                        past: "Allowed",
                        infinitive: "allow",
                        rest,
                    }
                } else {
                    let rest = format!("the right of {operator} to move tokens of {token}");
                    DecodedAction {
                        kind: "revoke",
                        past: "Took back",
                        infinitive: "take back",
                        rest,
                    }
                })
            }
            (Role::Permit, "erc2612") => {
                let (owner, spender, amount) =
                    (address(values, 0)?, address(values, 1)?, number(values, 2)?);
                let rest = format!(
                    "{} to spend {} of {}, as a signature of theirs allowed",
                    spender.to_checksum(None),
                    self.allowance(to, amount),
                    owner.to_checksum(None)
                );
                Some(DecodedAction {
                    kind: "permit",
                    past: "Allowed",
                    infinitive: "allow",
                    rest,
                })
            }
            (Role::Wrap, _) if to == self.record.network.wrapped_native => Some(DecodedAction {
                kind: "wrap",
                past: "Wrapped",
                infinitive: "wrap",
                rest: self.native(self.record.transaction.value),
            }),
            (Role::Unwrap, _) if to == self.record.network.wrapped_native => Some(DecodedAction {
                kind: "unwrap",
                past: "Unwrapped",
                infinitive: "unwrap",
                rest: self.native(number(values, 0)?),
            }),
            (Role::SafeExecution, _) => Some(self.safe_execution(call, to, address(values, 0)?)),
            (Role::UserOperations, _) => Some(self.user_operations(call, to)),
            (Role::Supply, _) => Some(self.exchanged("supply", "Supplied to", "supply to", to)),
            (Role::Withdraw, _) => {
                Some(self.exchanged("withdraw", "Withdrew from", "withdraw from", to))
            }
            (Role::Borrow, _) => Some(self.exchanged("borrow", "Borrowed from", "borrow from", to)),
            (Role::Repay, _) => Some(self.exchanged("repay", "Paid back to", "pay back to", to)),
            (Role::Bridge, _) => Some(self.exchanged(
                "bridge",
                "Sent to another chain by way of",
                "send to another chain by way of",
                to,
            )),
            (Role::Liquidity, _) => Some(self.exchanged(
                "liquidity",
                "Changed liquidity at",
                "change liquidity at",
                to,
            )),
            (Role::Claim, _) => Some(self.exchanged("claim", "Claimed from", "claim from", to)),
            (Role::Swap | Role::Commands, _) => self.trade().or_else(|| {
                let rest = format!("tokens at {} ({})", self.contract(to), row.standard);
                Some(DecodedAction {
                    kind: "swap",
                    past: "Called for a swap of",
                    infinitive: "swap",
                    rest,
                })
            }),
            _ => None,
        }
    }

    fn exchanged(
        &self,
        kind: &'static str,
        past: &'static str,
        infinitive: &'static str,
        to: Address,
    ) -> DecodedAction {
        DecodedAction {
            kind,
            past,
            infinitive,
            rest: format!("{}{}", self.contract(to), self.sides()),
        }
    }

    fn any_call(&self, call: &DecodedCall, to: Address) -> DecodedAction {
        let what = match function(call) {
            Some(text) => text.to_owned(),
            None => match call.selector() {
                Some(selector) => format!("an unknown function ({selector})"),
                None => "no function, with a few bytes,".to_owned(),
            },
        };
        let kind = if call.inner.is_empty() {
            "call"
        } else {
            "batch"
        };
        let inside = match call.inner.len().saturating_add(call.left_out) {
            0 => String::new(),
            count => format!(" with {count} calls inside"),
        };
        DecodedAction {
            kind,
            past: "Called",
            infinitive: "call",
            rest: format!("{what} of {}{inside}{}", self.contract(to), self.sides()),
        }
    }

    fn native(&self, amount: U256) -> String {
        format!(
            "{} {}",
            format_units(amount, NATIVE_DECIMALS),
            self.record.network.native_symbol
        )
    }

    /// Writes `10 USDC`, or a text without the unit when the token does not state its decimals.
    fn asset_text(
        &self,
        standard: Standard,
        token: Option<Address>,
        token_id: Option<U256>,
        amount: U256,
    ) -> String {
        let Some(token) = token else {
            return self.native(amount);
        };
        let name = self.token(token);
        match (standard, token_id) {
            (Standard::Erc721, Some(id)) => format!("number {id} of {name}"),
            (Standard::Erc1155, Some(id)) => format!("{amount} of number {id} of {name}"),
            _ => match self.facts(token).and_then(|facts| facts.decimals) {
                Some(decimals) => format!("{} {name}", format_units(amount, decimals)),
                None => format!("{amount} atoms of {name}"),
            },
        }
    }

    fn allowance(&self, token: Address, amount: U256) -> String {
        if Grant::Allowance(amount).is_unlimited() {
            format!("any amount of {}", self.token(token))
        } else {
            self.asset_text(Standard::Erc20, Some(token), None, amount)
        }
    }

    /// The symbol of a token when it is safe to show in a sentence, otherwise its address.
    fn token(&self, token: Address) -> String {
        let symbol = self.facts(token).and_then(|facts| facts.symbol.as_deref());
        symbol.and_then(shown_symbol).map_or_else(
            || format!("the token {}", token.to_checksum(None)),
            str::to_owned,
        )
    }

    fn contract(&self, address: Address) -> String {
        match well_known(address) {
            Some(name) => format!("{name} ({})", address.to_checksum(None)),
            None => address.to_checksum(None),
        }
    }
}

fn function(call: &DecodedCall) -> Option<&str> {
    Some(call.reading.as_ref()?.signature.name())
}

fn address(values: &[DynSolValue], place: usize) -> Option<Address> {
    values.get(place)?.as_address()
}

fn number(values: &[DynSolValue], place: usize) -> Option<U256> {
    Some(values.get(place)?.as_uint()?.0)
}
