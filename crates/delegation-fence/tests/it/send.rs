//! The send as a state machine: explored exhaustively with crashes, reorganisations, revocations,
//! displaced and reverted transactions, and a plan that ends between any two steps; then by random
//! schedules, each replayed from its events.

mod explore;
mod report;
mod schedules;
mod world;
