//! Tests of the swap constructor and its verifier, through the public interface.

mod arguments;
mod building;
mod market;
mod quotes;
pub(crate) mod sample;
mod simulation;
mod tampering;
mod transfer_fees;
mod vector;
