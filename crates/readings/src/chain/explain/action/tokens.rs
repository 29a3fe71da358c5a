//! The words for a call to a token, compared with the logs.

use alloy_primitives::{Address, U256};

use super::{
    super::{Status, View, warnings::Warning},
    DecodedAction,
};
use crate::chain::{
    builtin::calls::DecodedCall,
    events::{Approval, Grant, Standard, Transfer},
};

impl View<'_> {
    /// Returns the words for a transfer of a token. It happened only when the token logged it, with
    /// the logged amount.
    pub(super) fn moved(
        &self,
        call: &DecodedCall,
        kind: &'static str,
        (from, to, amount): (Address, Address, U256),
        how: String,
        warnings: &mut Vec<Warning>,
    ) -> DecodedAction {
        let token = call.to.unwrap_or_default();
        let places = |transfer: &&Transfer| {
            transfer.token == Some(token) && transfer.from == from && transfer.to == to
        };
        let logged = self.events.transfers.iter().find(places);
        if self.status == Status::Success && logged.is_none() {
            let is_unreadable = self.events.unreadable.contains(&token);
            warnings.push(Warning::new(
                "no_transfer_logged",
                match is_unreadable {
                    true => "The call succeeded, and the token logged a transfer in a form of no standard: whether it is this one is not known.",
                    false => "The call succeeded, but the token logged no such transfer: nothing moved, or the token hides the movement.",
                },
            ));
            return self.any_call(call, token);
        }
        let asset = match logged {
            Some(transfer) => self.asset_text(
                transfer.standard,
                Some(token),
                transfer.token_id,
                transfer.amount,
            ),
            None => self.asset_text(Standard::Erc20, Some(token), None, amount),
        };
        if logged.is_some_and(|transfer| {
            transfer.standard == Standard::Erc20 && transfer.amount != amount
        }) {
            warnings.push(Warning::new(
                "amount_differs",
                "The token moved another amount than the call states: it takes a tax, or its logs are not exact.",
            ));
        }
        let giver = match from == self.record.transaction.from {
            true => String::new(),
            false => format!(" from {}", from.to_checksum(None)),
        };
        DecodedAction {
            kind,
            past: "Transferred",
            infinitive: "transfer",
            rest: format!("{asset}{giver} to {}{how}", to.to_checksum(None)),
        }
    }

    pub(super) fn approved(
        &self,
        call: &DecodedCall,
        token: Address,
        spender: Address,
        amount: U256,
        warnings: &mut Vec<Warning>,
    ) -> Option<DecodedAction> {
        let owner = self.record.transaction.from;
        let places = |approval: &&Approval| {
            approval.token == token && approval.owner == owner && approval.spender == spender
        };
        let logged = self.events.approvals.iter().find(places);
        if self.status == Status::Success && logged.is_none() {
            warnings.push(Warning::new(
                "no_approval_logged",
                "The call succeeded, but the token logged no such approval: read the allowance itself before relying on it.",
            ));
            return None;
        }
        let is_revoked = spender.is_zero();
        let spender = spender.to_checksum(None);
        let text = call.reading.as_ref()?.signature.text();
        let allowed = match logged.map(|approval| &approval.grant) {
            Some(Grant::Allowance(amount)) => Some(*amount),
            Some(Grant::Nft(id)) if is_revoked => {
                let rest = format!(
                    "the right of others to move number {id} of {}",
                    self.token(token)
                );
                return Some(DecodedAction {
                    kind: "revoke",
                    past: "Took back",
                    infinitive: "take back",
                    rest,
                });
            }
            Some(Grant::Nft(id)) => {
                let rest = format!("{spender} to move number {id} of {}", self.token(token));
                return Some(DecodedAction {
                    kind: "approve",
                    past: "Allowed",
                    infinitive: "allow",
                    rest,
                });
            }
            _ if text.starts_with("approve(") => Some(amount),
            _ => None,
        };
        Some(match allowed {
            Some(amount) if amount.is_zero() => DecodedAction {
                kind: "revoke",
                past: "Took back",
                infinitive: "take back",
                rest: format!("the allowance of {spender} for {}", self.token(token)),
            },
            Some(amount) => DecodedAction {
                kind: "approve",
                past: "Allowed",
                infinitive: "allow",
                rest: format!("{spender} to spend {}", self.allowance(token, amount)),
            },
            None => DecodedAction {
                kind: "approve",
                past: "Changed",
                infinitive: "change",
                rest: format!("the allowance of {spender} for {}", self.token(token)),
            },
        })
    }
}
