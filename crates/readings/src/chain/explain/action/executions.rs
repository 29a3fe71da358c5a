//! The words for calls that a contract makes for accounts. Such a call can fail although the
//! transaction succeeds.

use alloy_primitives::Address;

use super::{
    super::{Status, View},
    DecodedAction, MAX_NAMED, function,
};
use crate::chain::{
    builtin::calls::DecodedCall,
    events::{Executions, executions},
};

impl View<'_> {
    /// The words for a Safe's execution.
    pub(super) fn safe_execution(
        &self,
        call: &DecodedCall,
        safe: Address,
        target: Address,
    ) -> DecodedAction {
        let what = call.inner.first().and_then(function).unwrap_or("a call");
        let failed = self.logged(safe).failed > 0;
        let (past, outcome) = match failed {
            true => ("Ran", ", which failed"),
            false => ("Executed", ""),
        };
        DecodedAction {
            kind: "safe_execution",
            past,
            infinitive: "execute",
            rest: format!(
                "{what} of {} for the multi-signature account {}{outcome}",
                target.to_checksum(None),
                safe.to_checksum(None)
            ),
        }
    }

    /// The words for operations at an entry point of ERC-4337.
    pub(super) fn user_operations(
        &self,
        call: &DecodedCall,
        entry_point: Address,
    ) -> DecodedAction {
        let count = call.inner.len().saturating_add(call.left_out);
        let accounts: Vec<String> = call
            .inner
            .iter()
            .filter_map(|inner| inner.to)
            .take(MAX_NAMED)
            .map(|account| account.to_checksum(None))
            .collect();
        let Executions { succeeded, failed } = self.logged(entry_point);
        let (past, outcome) = if self.status != Status::Success || (succeeded, failed) == (count, 0)
        {
            ("Executed", String::new())
        } else if succeeded.saturating_add(failed) == count {
            ("Ran", format!(", {failed} of which failed"))
        } else {
            (
                "Ran",
                format!(": {succeeded} are logged as done and {failed} as failed"),
            )
        };
        let operations = match count {
            1 => "operation of a contract account",
            _ => "operations of contract accounts",
        };
        DecodedAction {
            kind: "user_operations",
            past,
            infinitive: "execute",
            rest: format!("{count} {operations} ({}){outcome}", accounts.join(", ")),
        }
    }

    fn logged(&self, contract: Address) -> Executions {
        match &self.record.receipt {
            Some(receipt) if self.status == Status::Success => executions(&receipt.logs, contract),
            _ => Executions::default(),
        }
    }
}
