//! The send of one admitted plan, as a state machine without effects.
//!
//! The history of a send is a list of [`Event`]s that only grows. [`Sending`] is the state after
//! that list, so a process that was killed at any point continues where the list ends.
//! [`Sending::next`] names the next action; the sender does it and appends the result.
//!
//! # Duties of the sender
//! - A plan that goes out as one transaction ([`Admitted::as_one`]) is [`Transaction::Swap`] alone:
//!   its block is the block of all three steps.
//! - An event is durable before any action that follows from it, and is appended only while the
//!   writer holds the plan's lease.
//! - [`Event::Ordered`] is one conditional write with the reading behind [`View::confirmation`]: a
//!   revocation is either before it, and prevents it, or after it.
//! - One [`Transaction`] of one plan is one transaction of one nonce, however often it is submitted
//!   (the idempotency key of the sender of transactions consists of the plan's digest and
//!   [`Transaction::key`]).
//! - The allowance is read at a block above the blocks of the plan's sealed transactions. A block
//!   that is no longer canonical is first recorded as [`Event::Gone`].
//! - Only the one process that could still sign writes [`Event::Unsent`]: it states that nobody has
//!   signed and nobody will.

mod apply;
mod next;
mod record;
mod report;

use std::fmt;

use alloy_primitives::{B256, U256};
pub use calldata_checks::Block;
use calldata_checks::{StepKind, UtcSeconds};

pub use self::{
    apply::OutOfOrder,
    report::{ClearTransaction, Report, State},
};
use crate::{Admitted, Now, Rule};

/// Most transactions that clear an allowance before a person is asked.
pub const MOST_CLEARS: u8 = 3;

/// [`MOST_CLEARS`] as a length.
const CLEARS: usize = 3;

/// A transaction of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transaction {
    /// One of the three steps.
    Step(StepKind),
    /// All three steps, of which all take effect or none.
    Swap,
    /// The clearing of the allowance after a halt, by its number from 0.
    Clear(u8),
}

impl Transaction {
    /// Its key among the plan's transactions: `approve_reset`, `approve`, `call`, `swap`,
    /// `clear-0`.
    #[must_use]
    pub fn key(self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(kind) => f.write_str(kind.as_str()),
            Self::Swap => f.write_str("swap"),
            Self::Clear(number) => write!(f, "clear-{number}"),
        }
    }
}

/// An event of a send. Events are kept in the order of their writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// A transaction may be signed from now on.
    Ordered(Transaction),
    /// A transaction that was ordered was never signed, and will not be.
    Unsent(Transaction),
    /// A transaction is in a sealed block.
    Sealed {
        /// The transaction.
        transaction: Transaction,
        /// Its hash.
        hash: B256,
        /// Its block.
        block: Block,
        /// Whether it took effect; `false` when it reverted.
        effective: bool,
        /// The router's allowance, read at that block.
        allowance: U256,
    },
    /// A transaction was signed and will never take effect, because another one has its nonce.
    Void(Transaction),
    /// The block of a sealed transaction is no longer canonical.
    Gone(Transaction),
    /// The amount of the output token that the account received, according to the logs of the
    /// call's block.
    Landed(U256),
    /// No further step goes out.
    Halting {
        /// The step before or during which it halts. When all three are one transaction, it is the
        /// first step.
        at: StepKind,
        /// The reason.
        reason: HaltReason,
    },
    /// The router's allowance, read at a sealed block.
    ReadBack {
        /// The allowance.
        allowance: U256,
        /// The block.
        block: Block,
    },
    /// The service cannot clear the allowance, so its owner must act.
    ClearImpossible(ClearObstacle),
    /// The plan reached its end.
    Finished,
}

/// The reason why a send halts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HaltReason {
    /// A confirmation fails now, by the rule's name.
    Refused(Rule),
    /// The plan, or before the first step the order, is over.
    Over,
    /// A step reverted.
    Reverted,
    /// A step was not signed, because it would have reverted.
    WouldRevert,
    /// A step was displaced: another transaction has its nonce.
    Displaced,
    /// The allowance that was read back differs from the one that the step sets.
    Allowance,
}

impl HaltReason {
    /// The name: a rule's, or `plan_expired`, `step_reverted`, `step_would_revert`,
    /// `step_displaced`, `allowance_unexpected`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused(rule) => rule.as_str(),
            Self::Over => Rule::PlanExpired.as_str(),
            Self::Reverted => "step_reverted",
            Self::WouldRevert => "step_would_revert",
            Self::Displaced => "step_displaced",
            Self::Allowance => "allowance_unexpected",
        }
    }
}

/// The reason why the service cannot clear an allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClearObstacle {
    /// The service has lost its permission to send for the account.
    NotPermitted,
    /// The contract that the service sends through is paused.
    Paused,
    /// There is no coin to pay gas with.
    NoGas,
    /// It was tried [`MOST_CLEARS`] times.
    Exhausted,
}

impl ClearObstacle {
    /// Every obstacle.
    pub const ALL: [Self; 4] = [
        Self::NotPermitted,
        Self::Paused,
        Self::NoGas,
        Self::Exhausted,
    ];

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotPermitted => "clear_not_permitted",
            Self::Paused => "clear_paused",
            Self::NoGas => "clear_without_gas",
            Self::Exhausted => "clear_exhausted",
        }
    }
}

/// The present state, read again before every step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Both clocks.
    pub now: Now,
    /// Whether every confirmation holds now, by [`admit`](crate::admit).
    pub confirmation: Result<(), Rule>,
    /// Whether the service could clear the allowance now.
    pub clear: Result<(), ClearObstacle>,
}

/// The next action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Append [`Event::Ordered`], then hand the transaction over to be signed and sent.
    Order(Transaction),
    /// Ask for the outcome of a transaction: append [`Event::Unsent`], [`Event::Sealed`] or
    /// [`Event::Void`], or wait. Never submit it for signing.
    Resolve(Transaction),
    /// Use up the transaction's nonce without effect if possible, then continue as in
    /// [`Self::Resolve`].
    Cancel(Transaction),
    /// Read the logs of the call's block; append [`Event::Landed`].
    ReadLanding,
    /// Read the allowance at a sealed block; append [`Event::ReadBack`].
    ReadAllowance,
    /// Append this event: it follows from a decision.
    Append(Event),
    /// Do nothing while nothing changes. In [`State::HaltedDirty`] the allowance is read again from
    /// time to time and appended ([`Event::ReadBack`]), because another party may clear it.
    Rest(State),
}

/// The outcome of a transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
enum Fate {
    /// It was not ordered, or was never signed.
    #[default]
    None,
    /// It may be signed, and may be in a block.
    Open {
        /// Whether it is known to be signed: it was in a block that is not canonical any more.
        signed: bool,
    },
    /// It is in a sealed block.
    Sealed {
        hash: B256,
        block: Block,
        effective: bool,
        allowance: U256,
    },
    /// It never takes effect.
    Void,
}

/// The state of one plan's send, after its events.
///
/// # Example
/// ```
/// use alloy_primitives::{Address, B256, Bytes, U256};
/// use delegation_fence::{Action, Admitted, Event, Landing, Now, Sending, State, Transaction, View};
/// use calldata_checks::{Step, StepKind, UtcSeconds};
///
/// # let step = |kind| Step { kind, to: Address::ZERO, value: U256::ZERO, data: Bytes::new() };
/// # let admitted = Admitted {
/// #     account: Address::ZERO, grant_id: B256::ZERO, order_digest: B256::ZERO, payload_digest: B256::ZERO, chain_id: 8453,
/// #     steps: StepKind::ALL.map(step), as_one: false, token: Address::ZERO, spender: Address::ZERO, amount: U256::from(7),
/// #     valid_until: UtcSeconds::from_unix(1_000), deadline: UtcSeconds::from_unix(1_000),
/// #     landing: Landing { token: Address::ZERO, account: Address::ZERO, at_least: U256::ONE },
/// # };
/// let mut send = Sending::new(&admitted);
/// let view = |now, confirmation| View { now: Now::offline(UtcSeconds::from_unix(now)), confirmation, clear: Ok(()) };
/// let reset = Transaction::Step(StepKind::ApproveReset);
/// assert_eq!(send.next(&view(900, Ok(()))), Action::Order(reset));
///
/// // A process that was killed here finds the event, and asks first what became of it.
/// send.apply(&Event::Ordered(reset))?;
/// assert_eq!(send.next(&view(910, Ok(()))), Action::Resolve(reset));
/// assert_eq!(send.state(), State::Sending);
/// # Ok::<(), delegation_fence::OutOfOrder>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sending {
    amount: U256,
    valid_until: u64,
    deadline: u64,
    at_least: U256,
    as_one: bool,
    steps: [Fate; 3],
    swap: Fate,
    clears: [Fate; CLEARS],
    landed: Option<U256>,
    halt: Option<(StepKind, HaltReason)>,
    read_back: Option<(U256, Block)>,
    obstacle: Option<ClearObstacle>,
    finished: bool,
}

impl Sending {
    /// A send without events.
    #[must_use]
    pub fn new(admitted: &Admitted) -> Self {
        Self {
            amount: admitted.amount,
            valid_until: admitted.valid_until.unix(),
            deadline: admitted.deadline.unix(),
            at_least: admitted.landing.at_least,
            as_one: admitted.as_one,
            steps: [Fate::None; 3],
            swap: Fate::None,
            clears: [Fate::None; CLEARS],
            landed: None,
            halt: None,
            read_back: None,
            obstacle: None,
            finished: false,
        }
    }

    /// The state after a list of events.
    ///
    /// # Errors
    /// [`OutOfOrder`] for a list that is impossible for a send.
    pub fn replay<'a>(
        admitted: &Admitted,
        events: impl IntoIterator<Item = &'a Event>,
    ) -> Result<Self, OutOfOrder> {
        let mut send = Self::new(admitted);
        events
            .into_iter()
            .try_for_each(|event| send.apply(event))
            .map(|()| send)
    }

    /// Whether the approval took effect: only then is there an allowance of this plan.
    fn approved(&self) -> bool {
        is_effective(self.step(StepKind::Approve))
    }

    /// Whether all three steps took effect.
    fn executed(&self) -> bool {
        StepKind::ALL
            .into_iter()
            .all(|kind| is_effective(self.step(kind)))
    }

    /// The outcome of a step, by its transaction.
    fn step(&self, kind: StepKind) -> Fate {
        self.fate(match self.as_one {
            true => Transaction::Swap,
            false => Transaction::Step(kind),
        })
    }

    fn fate(&self, transaction: Transaction) -> Fate {
        self.place(transaction).copied().unwrap_or_default()
    }

    fn place(&self, transaction: Transaction) -> Option<&Fate> {
        match transaction {
            Transaction::Step(kind) => self.steps.get(index(kind)),
            Transaction::Swap => Some(&self.swap),
            Transaction::Clear(number) => self.clears.get(usize::from(number)),
        }
    }

    fn place_mut(&mut self, transaction: Transaction) -> Option<&mut Fate> {
        match transaction {
            Transaction::Step(kind) => self.steps.get_mut(index(kind)),
            Transaction::Swap => Some(&mut self.swap),
            Transaction::Clear(number) => self.clears.get_mut(usize::from(number)),
        }
    }
}

const fn is_effective(fate: Fate) -> bool {
    matches!(
        fate,
        Fate::Sealed {
            effective: true,
            ..
        }
    )
}

const fn index(kind: StepKind) -> usize {
    match kind {
        StepKind::ApproveReset => 0,
        StepKind::Approve => 1,
        StepKind::Call => 2,
    }
}

/// Every possible transaction of a plan, in the order in which they may be sent.
fn all() -> impl Iterator<Item = Transaction> {
    StepKind::ALL
        .into_iter()
        .map(Transaction::Step)
        .chain([Transaction::Swap])
        .chain((0..MOST_CLEARS).map(Transaction::Clear))
}

/// Whether the time after which a step may not be ordered has passed.
fn is_over(now: UtcSeconds, end: u64) -> bool {
    now.unix() >= end
}
