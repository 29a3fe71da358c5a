//! The reason why a chain cannot be read.

use thiserror::Error;
use tx_sender::NodeFault;

/// The JSON-RPC code of a call that reverts (geth and others).
const REVERTED: i64 = 3;

/// The reason why the chain cannot be read now. The caller retries and draws no conclusion from it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadFault {
    /// No node gives a usable answer.
    #[error("no node of chain {chain_id} gives a usable answer: {fault}")]
    Nodes {
        /// The chain.
        chain_id: u64,
        /// The fault of one of the nodes.
        fault: NodeFault,
    },
    /// Two nodes have different blocks with one number, or different answers as of one block.
    /// Neither counts.
    #[error("the nodes of chain {chain_id} contradict each other about block {number}")]
    Contradiction {
        /// The chain.
        chain_id: u64,
        /// The block's number.
        number: u64,
    },
    /// The newest sealed block is older than the required one.
    #[error(
        "block {needed} of chain {chain_id} is not sealed yet; the newest sealed block is {sealed}"
    )]
    Behind {
        /// The chain.
        chain_id: u64,
        /// The required block's number.
        needed: u64,
        /// The newest sealed block's number.
        sealed: u64,
    },
}

impl ReadFault {
    /// Whether a node reports that the call reverts.
    pub(crate) fn is_revert(&self) -> bool {
        match self {
            Self::Nodes {
                fault: NodeFault::Refused { code, message },
                ..
            } => *code == REVERTED || message.to_ascii_lowercase().contains("revert"),
            _ => false,
        }
    }
}
