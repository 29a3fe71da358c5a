//! The two sides of a transaction: the amounts that its sender gave and got.

use alloy_primitives::Address;

use super::{
    super::{Status, View},
    DecodedAction, MAX_NAMED, function,
};
use crate::chain::{
    balances::{self, Change},
    builtin::calls::DecodedCall,
    events::Standard,
};

impl View<'_> {
    /// Returns the words for a trade: the sender gave one asset and got another one, without
    /// counting the fee.
    pub(super) fn trade(&self) -> Option<DecodedAction> {
        let (given, taken) = self.one_for_one()?;
        Some(DecodedAction {
            kind: "swap",
            past: "Swapped",
            infinitive: "swap",
            rest: format!("{given} for {taken}"),
        })
    }

    fn one_for_one(&self) -> Option<(String, String)> {
        if self.status != Status::Success {
            return None;
        }
        let (given, taken) = self.sender_changes();
        match (given.as_slice(), taken.as_slice()) {
            ([given], [taken]) => Some((given.clone(), taken.clone())),
            _ => None,
        }
    }

    /// Returns the words for the same exchange by a function that is not known to trade. It may be
    /// a deposit that returns shares.
    pub(super) fn exchange(&self, call: &DecodedCall, to: Address) -> Option<DecodedAction> {
        let (given, taken) = self.one_for_one()?;
        let how = match function(call) {
            Some(name) => name.to_owned(),
            None => "an unknown function".to_owned(),
        };
        Some(DecodedAction {
            kind: "exchange",
            past: "Gave",
            infinitive: "give",
            rest: format!(
                "{given} and got {taken} by calling {how} of {}",
                self.contract(to)
            ),
        })
    }

    /// The assets that the sender gave and got, as a text.
    pub(super) fn sides(&self) -> String {
        if self.status != Status::Success {
            return String::new();
        }
        let (given, taken) = self.sender_changes();
        let list = |mut assets: Vec<String>| {
            let more = assets.len().saturating_sub(MAX_NAMED);
            assets.truncate(MAX_NAMED);
            let named = assets.join(", ");
            if more > 0 {
                format!("{named} and {more} more")
            } else {
                named
            }
        };
        match (given.is_empty(), taken.is_empty()) {
            (true, true) => String::new(),
            (false, true) => format!("; the sender gave {}", list(given)),
            (true, false) => format!("; the sender got {}", list(taken)),
            (false, false) => format!("; the sender gave {} and got {}", list(given), list(taken)),
        }
    }

    /// The sender's losses and gains without the fee. Empty when they cannot be determined.
    fn sender_changes(&self) -> (Vec<String>, Vec<String>) {
        let (mut given, mut taken) = (Vec::new(), Vec::new());
        if self.record.transaction.undetermined_balances().is_some() {
            return (given, taken);
        }
        let sender = self.record.transaction.from;
        let changes = balances::changes_without_fee(self.record, self.events);
        let may_return = self.native_may_return(&changes);
        for change in changes
            .iter()
            .filter(|change| change.holding.account == sender)
        {
            let holding = change.holding;
            let text = self.asset_text(
                holding.standard,
                holding.token,
                holding.token_id,
                change.amount,
            );
            match (change.negative, holding.standard) {
                (true, Standard::Native) if may_return => given.push(format!("at most {text}")),
                (true, _) => given.push(text),
                (false, _) => taken.push(text),
            }
        }
        (given, taken)
    }

    /// Whether a contract that got native coins may have returned some of them. No log would show
    /// that. The tokens of the wrapping contract account for its coins.
    fn native_may_return(&self, changes: &[Change]) -> bool {
        let network = self.record.network;
        network.native_ledger.is_none()
            && changes.iter().any(|change| {
                change.holding.standard == Standard::Native
                    && !change.negative
                    && change.holding.account != self.record.transaction.from
                    && change.holding.account != network.wrapped_native
            })
    }
}
