#![doc = include_str!("../README.md")]

mod audit;
mod decision;
mod mandate;
mod pool;
mod position;
mod rules;
mod watched;

pub use self::audit::{AuditEntry, AuditError, AuditHead, AuditRecord, Event, verify};
pub use self::decision::{Decision, Inputs, MoveBounds, Snapshot, best_allowed};
pub use self::mandate::{Ended, MAX_ACTIVE, MAX_DAYS, Mandate, Mode, State};
pub use self::pool::Pool;
pub use self::position::{MoveKey, MoveOutcome, Position, Proposal};
pub use self::rules::{MAX_MOVES, Problem, Rules};
pub use self::watched::{AnnouncedOpportunity, Reading, Watched};
