//! What is written about an account.

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::onchain::SignedDelegation;
use delegation_fence::{
    Admitted, Budget, Entry, Event, HaltReason, LogEvent, Order, ReceivedGrant, ReceivedLimit,
    Revocation, Rule, Signed, Transaction,
};

use super::Lease;

/// Changes to one account, all or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The account.
    pub account: Address,
    /// The version of the [`View`](super::View) that the changes were judged by.
    pub version: u64,
    /// The lease that must still be held; needed by what goes on with a plan.
    pub lease: Option<Lease>,
    /// When, by the server's clock.
    pub at: UtcSeconds,
    /// What.
    pub changes: Vec<Change>,
}

/// One change, with its record in the grant's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A grant that was received, with its delegations.
    Grant(Box<ReceivedGrant>, Vec<SignedDelegation>),
    /// A limit that was received.
    Limit(Box<ReceivedLimit>),
    /// The end of a grant; with the id of 32 zero bytes, of every grant of the account that was
    /// issued until then. The first end of a grant stays; the time of the end of all only rises.
    End {
        /// Which.
        grant_id: B256,
        /// When, in Unix seconds.
        ended_at: u64,
        /// Its holder's word; `None` when the service ends what it was permitted.
        signed: Option<Box<Signed<Revocation>>>,
    },
    /// A plan that was admitted.
    Accept(Box<Acceptance>),
    /// What happened to a plan.
    Event {
        /// Which plan.
        payload_digest: B256,
        /// Under which grant.
        grant_id: B256,
        /// How many events the plan has before this one.
        number: u64,
        /// What.
        event: Event,
        /// Whether the plan counts from now on as a use of the grant.
        counts: bool,
        /// Whether something is left to be done afterwards.
        is_open: bool,
    },
    /// What the plan's gas costs, instead of what was known.
    Gas {
        /// Which plan.
        payload_digest: B256,
        /// In micro US dollars.
        micro_usd: u64,
    },
}

/// A plan that was admitted, with everything that it was admitted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// The order.
    pub order: Signed<Order>,
    /// The tool's arguments, as they came.
    pub request: String,
    /// The plan, as it came.
    pub envelope: String,
    /// What is sent.
    pub admitted: Admitted,
    /// What its gas may cost: judged again in the write.
    pub budget: Budget,
}

impl Change {
    /// The record that the change leaves in a grant's log. The end of a grant writes its records
    /// where it is known which grants end.
    pub(super) fn entry(&self, at: UtcSeconds) -> Option<(B256, Entry)> {
        let plan = |event, payload_digest| Entry {
            payload_digest: Some(payload_digest),
            ..Entry::new(at, event)
        };
        match self {
            Self::Grant(received, _) => {
                Some((received.grant().grant_id, Entry::new(at, LogEvent::Granted)))
            }
            Self::Limit(received) => {
                Some((received.limit().grant_id, Entry::new(at, LogEvent::Limited)))
            }
            Self::Accept(acceptance) => Some((
                acceptance.admitted.grant_id,
                plan(LogEvent::Admitted, acceptance.admitted.payload_digest),
            )),
            Self::Event {
                payload_digest,
                grant_id,
                event,
                ..
            } => Some((
                *grant_id,
                told(*event, plan(LogEvent::Finished, *payload_digest)),
            )),
            Self::End { .. } | Self::Gas { .. } => None,
        }
    }
}

/// The record of an event of a send; `of_plan` names time and plan.
fn told(event: Event, of_plan: Entry) -> Entry {
    let about = |event, transaction: Transaction| Entry {
        event,
        step: Some(transaction),
        ..of_plan.clone()
    };
    match event {
        Event::Ordered(transaction) => about(LogEvent::Ordered, transaction),
        Event::Unsent(transaction) | Event::Void(transaction) | Event::Gone(transaction) => {
            about(LogEvent::Lost, transaction)
        }
        Event::Sealed {
            transaction,
            hash,
            block,
            allowance,
            ..
        } => Entry {
            tx_hash: Some(hash),
            block_hash: Some(block.hash),
            read_back: Some(allowance),
            ..about(LogEvent::Sealed, transaction)
        },
        Event::Landed(amount) => Entry {
            event: LogEvent::Landed,
            read_back: Some(amount),
            ..of_plan
        },
        Event::Halting { at, reason } => Entry {
            refused_by: match reason {
                HaltReason::Refused(rule) => Some(rule),
                HaltReason::Over => Some(Rule::PlanExpired),
                HaltReason::Reverted
                | HaltReason::WouldRevert
                | HaltReason::Displaced
                | HaltReason::Allowance => None,
            },
            ..about(LogEvent::Halted, Transaction::Step(at))
        },
        Event::ReadBack { allowance, block } => Entry {
            event: LogEvent::ReadBack,
            read_back: Some(allowance),
            block_hash: Some(block.hash),
            ..of_plan
        },
        Event::ClearImpossible(_) => Entry {
            event: LogEvent::ClearImpossible,
            ..of_plan
        },
        Event::Finished => of_plan,
    }
}
