//! An intent: the durable record of one action of one wallet, with every transaction of it.
//!
//! The record is the source of truth. Every change writes the whole record, on the condition that
//! nobody wrote it since it was read, and before any effect that depends on the change. After a
//! crash at any point, the next process continues from the record.
//!
//! ```text
//! running → following → completed | partial | failed ⇄ reopened
//!    │          └── has had an effect, and waits for the mint of a bridge or for gas
//!    └──→ completed | partial | failed | cancelled
//! ```
//!
//! A transaction of an intent goes `planned → ordered → sealed | reverted | unsent`. It is
//! `skipped` when the intent halts before it. The record says `ordered` before the sender receives
//! the transaction. From then on, only the sender's record shows whether it was signed. When a
//! reorganisation removes its block, a transaction returns to `ordered`. An intent that was over is
//! then `reopened` until it ends again. An ended intent is watched until no reorganisation can
//! change its result.

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
    /// Rises with every write of the record.
    #[serde(skip)]
    pub revision: u64,
    /// The owner of the wallet, as a CAIP-10 id.
    pub owner: String,
    /// The wallet.
    pub wallet: Address,
    /// The digest of the payment's authorization. The payment begins another intent only when this
    /// one had no effect and can get none.
    pub payment: B256,
    /// The paid call, as the caller of this crate has encoded it. Answers never show it. After the
    /// charge it may be shorter
    /// ([`WalletActions::note_charged`](crate::WalletActions::note_charged)).
    pub call: String,
    /// The digest of the purchase ([`Order::purchase`](crate::Order::purchase)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purchase: Option<B256>,
    /// Whether the paid call may still have to be charged. `false` for an action that nobody pays
    /// for.
    #[serde(default = "unknown_charge")]
    pub awaits_charge: bool,
    /// The price of the call, in micro US dollars.
    pub price_micro_usd: u64,
    /// The kind of action.
    pub operation: Operation,
    /// When the intent was created, in Unix seconds.
    pub created_at: u64,
    /// From this Unix second on, no further transaction is ordered. Only a clearing, a mint and a
    /// transfer that follow an effect are ordered later.
    pub not_after: u64,
    /// The state of the intent.
    pub state: State,
    /// Why the intent halted. `None` when it did not halt.
    pub halted: Option<String>,
    /// What holds the next transaction up, or the one that was ordered. `None` when nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Hold>,
    /// Its transactions, in the order of sending.
    pub steps: Vec<Step>,
    /// The allowance that the action gives. `None` when it gives none.
    pub allowance: Option<Allowance>,
    /// The destination side. `None` for an action that is no bridge.
    pub bridge: Option<Bridge>,
    /// The request and the plan, for answers.
    pub plan: Value,
    /// When the intent ended, in Unix seconds. `None` while it is open.
    pub ended_at: Option<u64>,
    /// Whether the intent is over and no reorganisation can change its result.
    #[serde(default)]
    pub is_final: bool,
    /// Since when it is known that the action is not charged, in Unix seconds. `None` while it is
    /// charged or may still be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncharged_at: Option<u64>,
    /// When a reorganisation last reopened the intent after its end, in Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorganised_at: Option<u64>,
}

/// Records of earlier versions do not say whether their calls were charged.
const fn unknown_charge() -> bool {
    true
}

/// What holds a transaction of an intent up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The stable name of the cause: that of a missing top-up for gas, or that of the hold of the
    /// sender of transactions ([`tx_sender::Hold::code`]).
    pub reason: String,
    /// When the intent was first found to be held by this cause, in Unix seconds.
    pub since: u64,
    /// From this Unix second on the chain does not execute the transaction any more, and the action
    /// ends without it. `None` when the transaction waits until the cause ends.
    pub until: Option<u64>,
}

/// The kind of an action.
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
    /// Withdraws a deposit from a product.
    Divest,
}

impl Operation {
    /// Every kind of action.
    pub const ALL: [Self; 5] = [
        Self::Swap,
        Self::Bridge,
        Self::Withdraw,
        Self::Invest,
        Self::Divest,
    ];

    /// Returns the name that answers and metrics use.
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

/// The state of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Transactions are being sent.
    Running,
    /// The action had an effect, and waits for the mint of a bridge or for gas. Other intents of
    /// the wallet may run meanwhile.
    Following,
    /// The action is complete.
    Completed,
    /// The action had an effect, but less than requested.
    Partial,
    /// The action failed. Transactions before the decisive one may have been executed.
    Failed,
    /// The intent was cancelled, and none of its transactions had an effect.
    Cancelled,
    /// The intent was over when a reorganisation removed one of its transactions. It continues.
    Reopened,
}

impl State {
    /// Returns the name that answers and the store use.
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

/// A transaction of an intent. It transfers no coins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The purpose of the transaction.
    pub kind: StepKind,
    /// Its chain.
    pub chain_id: u64,
    /// The contract or account that the transaction calls.
    pub to: Address,
    /// Its calldata.
    pub input: Bytes,
    /// The amount that the transaction must deliver. `None` when it is not measured.
    pub expects: Option<Expected>,
    /// Whether the call is simulated before sending and must return at least
    /// [`Expected::at_least`].
    pub returns_amount: bool,
    /// The most that the simulated call may return: the shares that a vault takes for the amount
    /// that it pays out. `None` when nothing limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns_at_most: Option<U256>,
    /// Its status.
    pub status: Status,
}

/// An amount that a transaction must deliver. The logs of the token show the delivered amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The token.
    pub token: Address,
    /// The account that receives it.
    pub receiver: Address,
    /// The smallest amount that counts as success, in the token's smallest unit.
    pub at_least: U256,
}

/// The status of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The transaction is not ordered yet.
    Planned,
    /// The order is recorded. The sender of transactions has the transaction, or receives it next.
    Ordered {
        /// Its gas limit.
        gas_limit: u64,
    },
    /// The transaction is in a sealed block, and it succeeded.
    Sealed {
        /// Its block.
        at: At,
        /// Its gas limit.
        gas_limit: u64,
        /// The amount that the transaction delivered. `None` when it is not measured.
        received: Option<U256>,
    },
    /// The transaction is in a sealed block, and it was reverted.
    Reverted {
        /// Its block.
        at: At,
    },
    /// The transaction was not sent, and never will be.
    Unsent,
    /// The intent halted before it was ordered.
    Skipped,
}

impl Status {
    /// Returns the name that answers use.
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

    /// Returns the transaction's block. `None` when it is in no block.
    #[must_use]
    pub const fn at(self) -> Option<At> {
        match self {
            Self::Sealed { at, .. } | Self::Reverted { at } => Some(at),
            _ => None,
        }
    }
}

/// The block in which a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct At {
    /// The hash of the transaction.
    pub transaction: B256,
    /// The number of its block.
    pub number: u64,
    /// The hash of its block.
    pub block: B256,
}

/// An allowance that an intent gives, and what is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// Its chain.
    pub chain_id: u64,
    /// The token.
    pub token: Address,
    /// The account that may spend it.
    pub spender: Address,
    /// The rest of the allowance after the intent's transactions when it was last read, in the
    /// token's smallest unit. `None` before that.
    pub left: Option<U256>,
    /// How many transactions that clear the allowance were planned.
    pub clears: u8,
}

/// The destination side of a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bridge {
    /// The destination chain.
    pub chain_id: u64,
    /// The protocol's domain number of the source chain.
    pub source_domain: u32,
    /// The protocol's domain number of the destination chain.
    pub destination_domain: u32,
    /// The burned token.
    pub burned_token: Address,
    /// The minted token.
    pub minted_token: Address,
    /// The contract that accepts the attested message.
    pub transmitter: Address,
    /// The burned amount.
    pub amount: U256,
    /// The highest fee that the protocol may deduct.
    pub max_fee: U256,
    /// The account to which the minted amount is forwarded. `None` when the wallet keeps it.
    pub forward_to: Option<Address>,
    /// Whether another account has submitted the message to the destination chain.
    pub minted_by_others: bool,
}

impl At {
    /// Returns the block.
    #[must_use]
    pub const fn block(self) -> Block {
        Block {
            number: self.number,
            hash: self.block,
        }
    }
}

impl Intent {
    /// Whether the action had an effect that is charged: one of its transactions is in a sealed
    /// block and succeeded.
    #[must_use]
    pub fn has_effect(&self) -> bool {
        let sealed = |step: &Step| matches!(step.status, Status::Sealed { .. });
        self.steps.iter().any(sealed)
    }

    /// Whether a transaction of this kind completes or clears what the action has done before. It
    /// is then ordered and sent whatever the time is.
    pub(crate) fn must_go_on(&self, kind: StepKind) -> bool {
        let follows = matches!(kind, StepKind::Clear | StepKind::Mint | StepKind::Transfer);
        follows && self.has_effect()
    }

    /// Whether the intent is over without such an effect. A reorganisation may still give it one.
    #[must_use]
    pub fn came_to_nothing(&self) -> bool {
        self.state.is_over() && !self.has_effect()
    }

    /// Whether the intent continues, had an effect, or may still get one by a reorganisation. As
    /// long as this is so, its payment begins no other intent.
    #[must_use]
    pub fn may_have_effect(&self) -> bool {
        !self.came_to_nothing() || (self.has_begun() && !self.is_final)
    }

    /// Whether the intent is over without a transaction in a block, and stays so: the action cost
    /// nobody anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let is_in_block = |step: &Step| step.status.at().is_some();
        !self.may_have_effect() && !self.steps.iter().any(is_in_block)
    }

    /// Whether any transaction was ordered.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        let planned = |step: &Step| matches!(step.status, Status::Planned | Status::Skipped);
        !self.steps.iter().all(planned)
    }

    /// Returns the key under which the sender of transactions records this transaction.
    #[must_use]
    pub fn key(&self, index: usize) -> String {
        format!("wallet/{}/{index}", self.id)
    }

    /// Returns the amounts that the measured transactions delivered.
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
