//! The position of a wallet whose mandate acts, and the move that the mandate requests.

use std::fmt;

use alloy_primitives::B256;
use jiff::Timestamp;
use readings::Figure;
use serde::{Deserialize, Serialize};

use crate::Pool;

/// The position of the owner's wallet at a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Position {
    /// The position was not read, so there is no decision.
    Unread {
        /// Why it was not read.
        reason: String,
    },
    /// The money is in no product.
    Idle {
        /// How many dollars the wallet could invest.
        idle_usd: Figure,
    },
    /// The money is in a product.
    Held {
        /// The product, with its current yield.
        pool: Pool,
        /// How many dollars are in it.
        amount_usd: Figure,
    },
}

impl Position {
    /// Returns the held product. `None` when no product is held.
    #[must_use]
    pub const fn pool(&self) -> Option<&Pool> {
        match self {
            Self::Held { pool, .. } => Some(pool),
            Self::Unread { .. } | Self::Idle { .. } => None,
        }
    }
}

/// The permanent name of a move: the mandate's id, and the number of the check that requested it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MoveKey(String);

impl MoveKey {
    /// Makes the key of the move that record `seq` of the mandate's audit requests.
    #[must_use]
    pub fn new(mandate: &str, seq: u64) -> Self {
        Self(format!("{mandate}:{seq}"))
    }

    /// Returns the key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MoveKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A move that a mandate requests, within its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// The key of the move.
    pub key: MoveKey,
    /// The product to leave. `None` when idle money is invested.
    pub from: Option<Pool>,
    /// The product to enter.
    pub to: Pool,
    /// The most dollars to move.
    pub max_move_usd: Figure,
    /// The most slippage, in basis points.
    pub max_slippage_bps: u32,
    /// When the yields behind the move become stale. Nothing is signed later.
    pub valid_until: Timestamp,
}

/// The end of a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MoveOutcome {
    /// The money is in the new product.
    Moved {
        /// The id of the wallet's action that moved it.
        intent_id: String,
        /// The last transaction of that action.
        tx_hash: B256,
        /// How many dollars were moved.
        moved_usd: Figure,
    },
    /// The move was refused before anything was signed.
    Refused {
        /// Why it was refused.
        reason: String,
    },
    /// The move has begun, and did not complete.
    Failed {
        /// Why it failed.
        reason: String,
        /// The id of the wallet's action.
        intent_id: String,
        /// The last transaction of that action. `None` when it has none.
        tx_hash: Option<B256>,
    },
    /// The move was stopped before anything was signed.
    Stopped {
        /// Why it was stopped: `cancelled`, `expired` or `stale_data`.
        reason: String,
    },
}

impl MoveOutcome {
    /// Returns the last transaction of the move. `None` when it has none.
    #[must_use]
    pub const fn tx_hash(&self) -> Option<B256> {
        match self {
            Self::Moved { tx_hash, .. } => Some(*tx_hash),
            Self::Failed { tx_hash, .. } => *tx_hash,
            Self::Refused { .. } | Self::Stopped { .. } => None,
        }
    }
}
