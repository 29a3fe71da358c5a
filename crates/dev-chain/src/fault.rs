//! Injected faults, so that tests can meet a misbehaving node. They lose or change answers,
//! withhold receipts and forget transactions. The blocks themselves stay correct.

use std::collections::HashMap;

use alloy_primitives::B256;

/// A fault in the next requests that name one JSON-RPC method.
///
/// By default it strikes once and before the method runs; with [`InjectedFault::after`] the method
/// takes effect and only the answer suffers.
///
/// ```
/// use dev_chain::{BadAnswer, InjectedFault};
///
/// // The node broadcasts the transaction, but its client never hears of it.
/// let lost = InjectedFault::new("eth_sendRawTransaction", BadAnswer::Close).after();
/// # let _ = lost;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InjectedFault {
    method: String,
    times: u32,
    after: bool,
    answer: BadAnswer,
}

/// The answer that the client gets instead of the real one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadAnswer {
    /// A JSON-RPC error. In a batch, only the call that names the method gets it.
    Error {
        /// The JSON-RPC error code, for example -32000.
        code: i64,
        /// The text.
        message: String,
    },
    /// The connection is closed before a byte is sent.
    Close,
    /// No answer, on a connection that stays open.
    Never,
    /// These bytes with this HTTP status.
    Raw {
        /// The HTTP status code.
        status: u16,
        /// The whole body.
        body: Vec<u8>,
    },
}

impl InjectedFault {
    /// The next request that names `method` gets this answer and has no effect.
    #[must_use]
    pub fn new(method: impl Into<String>, answer: BadAnswer) -> Self {
        Self {
            method: method.into(),
            times: 1,
            after: false,
            answer,
        }
    }

    /// Applies to this many requests.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }

    /// Lets the method take effect first.
    #[must_use]
    pub fn after(self) -> Self {
        Self {
            after: true,
            ..self
        }
    }
}

/// The pending faults, and how long receipts are withheld.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    pending: Vec<InjectedFault>,
    receipt_polls: u32,
    polled: HashMap<B256, u32>,
    forgotten_sends: u32,
}

/// A fault that occurs now.
#[derive(Debug)]
pub(crate) struct Strike {
    pub(crate) after: bool,
    pub(crate) answer: BadAnswer,
}

impl Faults {
    pub(crate) fn inject(&mut self, fault: InjectedFault) {
        self.pending.push(fault);
    }

    pub(crate) fn clear(&mut self) {
        self.pending.clear();
    }

    /// Uses up one of the faults for this method, oldest first.
    pub(crate) fn strike(&mut self, method: &str) -> Option<Strike> {
        let fault = self
            .pending
            .iter_mut()
            .find(|fault| fault.method == method && fault.times > 0)?;
        fault.times = fault.times.saturating_sub(1);
        let strike = Strike {
            after: fault.after,
            answer: fault.answer.clone(),
        };
        self.pending.retain(|fault| fault.times > 0);
        Some(strike)
    }

    /// Accepts the next `times` raw transactions and drops them.
    pub(crate) fn forget_sends(&mut self, times: u32) {
        self.forgotten_sends = times;
    }

    /// Counts an accepted transaction. Returns whether it is to be dropped.
    pub(crate) fn forgets(&mut self) -> bool {
        let forgets = self.forgotten_sends > 0;
        self.forgotten_sends = self.forgotten_sends.saturating_sub(1);
        forgets
    }

    /// From now on, the receipt of each transaction is withheld for this many requests.
    pub(crate) fn delay_receipts(&mut self, polls: u32) {
        self.receipt_polls = polls;
    }

    /// Counts a request for a receipt. Returns whether it is to be withheld.
    pub(crate) fn withhold_receipt(&mut self, transaction: B256) -> bool {
        if self.receipt_polls == 0 {
            return false;
        }
        let polled = self.polled.entry(transaction).or_default();
        *polled = polled.saturating_add(1);
        *polled <= self.receipt_polls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_occurs_as_often_as_configured() {
        let mut faults = Faults::default();
        faults.inject(InjectedFault::new("a", BadAnswer::Close).times(2));
        faults.inject(InjectedFault::new("a", BadAnswer::Never).after());
        assert!(faults.strike("b").is_none());
        assert!(!faults.strike("a").unwrap().after);
        assert_eq!(faults.strike("a").unwrap().answer, BadAnswer::Close);
        assert!(faults.strike("a").unwrap().after);
        assert!(faults.strike("a").is_none());
    }

    #[test]
    fn receipts_are_withheld_per_transaction() {
        let mut faults = Faults::default();
        faults.delay_receipts(1);
        let (a, b) = (B256::repeat_byte(1), B256::repeat_byte(2));
        assert!(faults.withhold_receipt(a));
        assert!(!faults.withhold_receipt(a));
        assert!(faults.withhold_receipt(b));
    }
}
