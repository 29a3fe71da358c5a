#![doc = include_str!("../README.md")]

mod account;
mod admit;
mod domain;
mod fence;
mod json;
mod log;
mod message;
mod name;
mod now;
pub mod onchain;
mod policy;
mod read_back;
mod receipt;
mod refusal;
mod rule;
mod send;
mod signature;
mod signed;
mod status;

pub use self::{
    account::{
        Account, ActiveGrant, EndReason, EndedGrant, MOST_GRANT_DAYS, MOST_GRANTS, MOST_TOMBSTONES,
        Novelty, Standing, TOMBSTONE_SECONDS, Tightest, Use, require_room_for_grant,
        require_room_for_stranger, require_room_for_tombstone,
    },
    admit::{
        Admitted, Budget, Confirmation, Foresight, LEAST_LIFE_SECONDS, Landing, Peg, Phase,
        PlanFacts, PlanWorth, Rates, Spent, Submission, WorthTooLow, admit, judge_plan,
    },
    domain::Domain,
    fence::{
        Fence, ISSUE_SKEW_SECONDS, Instance, REVOCATION_SKEW_SECONDS, ReceivedGrant, ReceivedLimit,
        ReceivedRevocation,
    },
    log::{LogEntry, LogEvent, LogHead, LogRecord, VerifiedLog, verify_log},
    message::{AccountKind, Grant, Limit, Message, Order, Revocation, TypedData, primary_type},
    name::Name,
    now::Now,
    policy::{Advice, Change, OutputToken, Policy, Shape, differences},
    read_back::ReadBack,
    receipt::RevocationReceipt,
    refusal::Refusal,
    rule::{Class, Rule},
    send::{
        Action, Block, ClearObstacle, ClearTransaction, Event, HaltReason, MOST_CLEARS, OutOfOrder,
        Report, Sending, State, Transaction, View,
    },
    signature::Signature,
    signed::Signed,
    status::FenceStatus,
};
