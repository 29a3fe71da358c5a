//! Tests of mandates' moves, over the real actions of a real wallet on an embedded chain.

mod bounds;
mod cancelled;
mod late;
mod ports;
mod restarts;
mod stage;
mod turns;
mod watched;
