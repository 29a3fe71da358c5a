//! The position of a mandate that acts, and the move that it asks for.

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
    /// It was not read, so there is no decision.
    Unread {
        /// The reason.
        reason: String,
    },
    /// In no product: the dollars that the wallet could invest.
    Idle {
        /// Dollars.
        idle_usd: Figure,
    },
    /// In a product.
    Held {
        /// The product, with its present yield.
        pool: Pool,
        /// Dollars in it.
        amount_usd: Figure,
    },
}

impl Position {
    /// The held product.
    #[must_use]
    pub const fn pool(&self) -> Option<&Pool> {
        match self {
            Self::Held { pool, .. } => Some(pool),
            Self::Unread { .. } | Self::Idle { .. } => None,
        }
    }
}

/// The permanent name of a move: the mandate's id, and the number of the check that asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MoveKey(String);

impl MoveKey {
    /// The move that record `seq` of the mandate's audit asks for.
    #[must_use]
    pub fn new(mandate: &str, seq: u64) -> Self {
        Self(format!("{mandate}:{seq}"))
    }

    /// As text.
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

/// A move that a mandate asks for, inside its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// Its name.
    pub key: MoveKey,
    /// The product to leave; `None` for a first investment of idle money.
    pub from: Option<Pool>,
    /// The product to enter.
    pub to: Pool,
    /// Most dollars to move.
    pub max_move_usd: Figure,
    /// Most slippage, in basis points.
    pub max_slippage_bps: u32,
    /// The time at which the yields behind it become stale. Nothing is signed later.
    pub valid_until: Timestamp,
}

/// The end of a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MoveOutcome {
    /// The money is in the new product.
    Moved {
        /// The action of the wallet that moved it.
        intent_id: String,
        /// Its last transaction.
        tx_hash: B256,
        /// The moved dollars.
        moved_usd: Figure,
    },
    /// The move was refused before anything was signed.
    Refused {
        /// The reason.
        reason: String,
    },
    /// The move was begun and did not complete.
    Failed {
        /// The reason.
        reason: String,
        /// The action of the wallet.
        intent_id: String,
        /// Its last transaction, if there is one.
        tx_hash: Option<B256>,
    },
    /// The move was stopped before anything was signed.
    Stopped {
        /// `cancelled`, `expired` or `stale_data`.
        reason: String,
    },
}

impl MoveOutcome {
    /// The transaction that ended it.
    #[must_use]
    pub const fn tx_hash(&self) -> Option<B256> {
        match self {
            Self::Moved { tx_hash, .. } => Some(*tx_hash),
            Self::Failed { tx_hash, .. } => *tx_hash,
            Self::Refused { .. } | Self::Stopped { .. } => None,
        }
    }
}
