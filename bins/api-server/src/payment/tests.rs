//! Tests of the payment path: each stage by itself, and the whole path under faults in a seeded
//! order.

mod credit;
mod deciding;
mod hanging_up;
mod known;
mod model_journal;
mod payer;
mod private;
mod repeated;
mod script;
mod servers;
mod settling;
mod simulation;
mod stage;
