//! Calls to which a node gave no result, and the meaning of a node's error messages.

use tx_sender::RpcError;

use crate::{Cause, Malformation, RemoteCall};

/// Why a node gave no result to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RpcFault {
    /// The contract reverted.
    Reverted(Cause),
    /// The node answered with another error. It has received the call and has not executed it.
    Refused(Cause),
    /// There was no readable answer. The node may have executed the call.
    Lost(Cause),
}

impl RpcFault {
    /// Returns the fault for an error of a node.
    pub(super) fn of(method: &'static str, error: &RpcError) -> Self {
        let cause = Cause::Rpc {
            call: RemoteCall::Rpc(method),
            code: error.code,
            message: exact::shortened(&error.message, 200),
        };
        if is_revert(error) {
            Self::Reverted(cause)
        } else {
            Self::Refused(cause)
        }
    }

    /// Returns the fault for a result of another type.
    pub(super) fn malformed(method: &'static str) -> Self {
        let (call, detail) = (RemoteCall::Rpc(method), Malformation::RpcResult);
        Self::Lost(Cause::Malformed { call, detail })
    }

    /// Whether the contract needs more gas than it got.
    pub(crate) fn is_out_of_gas(&self) -> bool {
        match self {
            Self::Reverted(Cause::Rpc { message, .. }) => contains_any(message, &OUT_OF_GAS),
            _ => false,
        }
    }

    pub(crate) fn cause(self) -> Cause {
        match self {
            Self::Reverted(cause) | Self::Refused(cause) | Self::Lost(cause) => cause,
        }
    }
}

/// Words of messages that say that the contract itself ended the execution.
const REVERTED: [&str; 8] = [
    "revert",
    OUT_OF_GAS[0],
    OUT_OF_GAS[1],
    "invalid opcode",
    "invalid jump",
    "stack underflow",
    "stack limit reached",
    "write protection",
];

/// Words of messages that say that the execution needs more gas than it got.
const OUT_OF_GAS: [&str; 2] = ["out of gas", "gas required exceeds"];

/// Whether an error is a revert. Nodes have no common code for it; 3 is the most frequent.
fn is_revert(error: &RpcError) -> bool {
    error.code == 3 || contains_any(&error.message, &REVERTED)
}

fn contains_any(message: &str, words: &[&str]) -> bool {
    let message = message.to_ascii_lowercase();
    words.iter().any(|word| message.contains(word))
}
