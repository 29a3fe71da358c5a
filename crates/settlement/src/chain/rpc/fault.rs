//! Calls to which a node gave no result, and the meaning of a node's error messages.

use alloy_json_rpc::{ErrorPayload, RpcError};
use alloy_transport::{TransportError, TransportErrorKind};

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

pub(super) fn fault(method: &'static str, error: TransportError) -> RpcFault {
    let call = RemoteCall::Rpc(method);
    match error {
        RpcError::ErrorResp(payload) => {
            let reverted = is_revert(&payload);
            let message = exact::shortened(&payload.message, 200);
            let cause = Cause::Rpc {
                call,
                code: payload.code,
                message,
            };
            if reverted {
                RpcFault::Reverted(cause)
            } else {
                RpcFault::Refused(cause)
            }
        }
        RpcError::Transport(TransportErrorKind::Custom(error)) => {
            let cause = error
                .downcast::<Cause>()
                .map_or(Cause::Interrupted { call }, |cause| *cause);
            RpcFault::Lost(named(call, cause))
        }
        RpcError::Transport(_) => RpcFault::Lost(Cause::Interrupted { call }),
        _ => RpcFault::Lost(Cause::Malformed {
            call,
            detail: Malformation::RpcResult,
        }),
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
fn is_revert(payload: &ErrorPayload) -> bool {
    payload.code == 3 || contains_any(&payload.message, &REVERTED)
}

fn contains_any(message: &str, words: &[&str]) -> bool {
    let message = message.to_ascii_lowercase();
    words.iter().any(|word| message.contains(word))
}

fn named(call: RemoteCall, cause: Cause) -> Cause {
    match cause {
        Cause::Timeout { after, .. } => Cause::Timeout { call, after },
        Cause::Unreachable { .. } => Cause::Unreachable { call },
        Cause::Oversize { limit, .. } => Cause::Oversize { call, limit },
        Cause::Status { status, .. } => Cause::Status { call, status },
        Cause::Malformed { detail, .. } => Cause::Malformed { call, detail },
        _ => Cause::Interrupted { call },
    }
}
