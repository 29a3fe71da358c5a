//! An intent: one action of one wallet, with everything that was done for it.
//!
//! The record is the truth. It is written as a whole, on the condition that nobody wrote it since
//! it was read, before anything that follows from it is done. So a process that was killed at any
//! point goes on where the record stands.
//!
//! ```text
//! running → following → completed | partial | failed ⇄ reopened
//!    │          └── a bridge whose burn stands, while its mint is awaited
//!    └──→ completed | partial | failed | cancelled
//! ```
//!
//! A transaction of an intent is `planned → ordered → sealed | reverted | unsent`, or `skipped`
//! when the intent halts before it. `ordered` is written before the sender of transactions is told;
//! from there on only the sender's record says whether it was signed. A block that a reorganisation
//! takes away puts a transaction back to `ordered`, and an intent that was over is `reopened` until
//! it comes to its end again. It is looked after until no block can change what it says.

mod moves;
mod next;

use alloy_primitives::{Address, B256, Bytes, U256};
use chain_reader::Block;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::moves::IllegalMove;
pub(crate) use self::moves::Lost;
pub(crate) use self::next::{CANCELLED, Next};
use crate::{IntentId, StepKind};

/// One action of one wallet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// Its id.
    pub id: IntentId,
    /// How often it was written.
    #[serde(skip)]
    pub revision: u64,
    /// Whose wallet acts, as a CAIP-10 id.
    pub owner: String,
    /// The wallet.
    pub wallet: Address,
    /// The digest of the payment's authorization: one payment buys one intent.
    pub payment: B256,
    /// The call that was paid for, as the caller of this crate keeps it. It is never shown.
    pub call: String,
    /// What the call costs, in micro US dollars.
    pub price_micro_usd: u64,
    /// What is done.
    pub operation: Operation,
    /// When it was made, in Unix seconds.
    pub created_at: u64,
    /// The Unix second from which on nothing new is begun for it.
    pub not_after: u64,
    /// How far it has come.
    pub state: State,
    /// Why it does not go on as planned, if it does not.
    pub halted: Option<String>,
    /// Its transactions, in the order in which they are sent.
    pub steps: Vec<Step>,
    /// What it allows somebody to take.
    pub allowance: Option<Allowance>,
    /// The other side of a bridge.
    pub bridge: Option<Bridge>,
    /// What was asked and planned, for answers.
    pub plan: Value,
    /// When it came to its end, in Unix seconds.
    pub ended_at: Option<u64>,
    /// Whether it is over, and no block can change what it says any more.
    #[serde(default)]
    pub is_final: bool,
    /// When a reorganisation last changed it after its end, in Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorganised_at: Option<u64>,
}

/// What an intent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Swaps tokens on one chain.
    Swap,
    /// Moves USDC to another chain.
    Bridge,
    /// Sends tokens to the owner.
    Withdraw,
    /// Deposits into a product.
    Invest,
    /// Takes a deposit back.
    Divest,
}

impl Operation {
    /// The word in answers and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Swap => "swap",
            Self::Bridge => "bridge",
            Self::Withdraw => "withdraw",
            Self::Invest => "defi_invest",
            Self::Divest => "defi_withdraw",
        }
    }
}

/// How far an intent has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its transactions are sent.
    Running,
    /// Its transactions on the source chain stand; the mint on the other chain is awaited.
    Following,
    /// It did what was asked.
    Completed,
    /// It did something, and less than was asked.
    Partial,
    /// It did not do what was asked. Transactions before the decisive one may stand.
    Failed,
    /// It was given up before anything was signed.
    Cancelled,
    /// It was over, and a reorganisation has taken a transaction of it back: it goes on.
    Reopened,
}

impl State {
    /// The word in answers and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Following => "following",
            Self::Completed => "completed",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Reopened => "reopened",
        }
    }

    /// Whether nothing is left to do.
    #[must_use]
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Running | Self::Following | Self::Reopened)
    }
}

/// A transaction of an intent. It carries no coins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What it is for.
    pub kind: StepKind,
    /// Its chain.
    pub chain_id: u64,
    /// Whom it calls.
    pub to: Address,
    /// Its calldata.
    pub input: Bytes,
    /// What it has to bring, if it is measured.
    pub expects: Option<Expected>,
    /// Whether it is called without being sent first, and what it returns has to reach
    /// [`Expected::at_least`].
    pub returns_amount: bool,
    /// It is called without being sent first, and what it returns must not exceed this: the shares
    /// that a vault takes for an amount that it pays out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns_at_most: Option<U256>,
    /// How far it has come.
    pub status: Status,
}

/// What a transaction has to bring, by the logs of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The token.
    pub token: Address,
    /// Who gets it.
    pub receiver: Address,
    /// The least that counts as done, in the token's smallest unit.
    pub at_least: U256,
}

/// How far a transaction has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    Planned,
    /// The sender of transactions has it, or is about to.
    Ordered {
        /// The most gas that it may use.
        gas_limit: u64,
    },
    /// It stands in a sealed block, and was executed.
    Sealed {
        /// Where.
        at: At,
        /// The most gas that it might use.
        gas_limit: u64,
        /// What it brought, where that is measured.
        received: Option<U256>,
    },
    /// It stands in a sealed block, and was reverted.
    Reverted {
        /// Where.
        at: At,
    },
    /// It was not sent, and never will be.
    Unsent,
    /// The intent halted before it.
    Skipped,
}

impl Status {
    /// The word in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Ordered { .. } => "in_flight",
            Self::Sealed { .. } => "success",
            Self::Reverted { .. } => "reverted",
            Self::Unsent => "not_sent",
            Self::Skipped => "skipped",
        }
    }

    /// Where the transaction stands.
    #[must_use]
    pub const fn at(self) -> Option<At> {
        match self {
            Self::Sealed { at, .. } | Self::Reverted { at } => Some(at),
            _ => None,
        }
    }
}

/// Where a transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct At {
    /// The transaction.
    pub transaction: B256,
    /// The number of its block.
    pub number: u64,
    /// The hash of its block.
    pub block: B256,
}

/// An allowance that an intent gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// Its chain.
    pub chain_id: u64,
    /// The token.
    pub token: Address,
    /// Who may take it.
    pub spender: Address,
    /// What was left of it when it was last read after the intent's transactions.
    pub left: Option<U256>,
    /// How often it was cleared.
    pub clears: u8,
}

/// The other side of a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bridge {
    /// The destination chain.
    pub chain_id: u64,
    /// The protocol's number of the source chain.
    pub source_domain: u32,
    /// The protocol's number of the destination chain.
    pub destination_domain: u32,
    /// The token that was burned.
    pub burned_token: Address,
    /// The token that is minted.
    pub minted_token: Address,
    /// The contract that takes the attested message.
    pub transmitter: Address,
    /// How much was burned.
    pub amount: U256,
    /// The most that the protocol deducts.
    pub max_fee: U256,
    /// Who gets what the wallet receives, where that is not the wallet.
    pub forward_to: Option<Address>,
    /// Whether somebody else has brought the message to the destination chain.
    pub minted_by_others: bool,
}

impl At {
    /// The block.
    #[must_use]
    pub const fn block(self) -> Block {
        Block {
            number: self.number,
            hash: self.block,
        }
    }
}

impl Intent {
    /// Whether something happened that is charged for: a transaction of the wallet that stands and
    /// was executed.
    #[must_use]
    pub fn has_effect(&self) -> bool {
        let sealed = |step: &Step| matches!(step.status, Status::Sealed { .. });
        self.steps.iter().any(sealed)
    }

    /// Whether a transaction was handed to the sender of transactions.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        let planned = |step: &Step| matches!(step.status, Status::Planned | Status::Skipped);
        !self.steps.iter().all(planned)
    }

    /// The key under which the sender of transactions knows a transaction of the intent.
    #[must_use]
    pub fn key(&self, index: usize) -> String {
        format!("wallet/{}/{index}", self.id)
    }

    /// What the measured transactions brought.
    pub fn received(&self) -> impl Iterator<Item = (&Step, Expected, U256)> {
        self.steps.iter().filter_map(|step| match step.status {
            Status::Sealed {
                received: Some(received),
                ..
            } => Some((step, step.expects?, received)),
            _ => None,
        })
    }
}
