//! Tests of the fence on a chain. The chain is an anvil with the id of Base, and the contracts are
//! those that the authors of the MetaMask delegation framework publish. No code of the service runs
//! here. The attacker has the redeemer's key, and often also the delegate's.

mod encoders;
mod end;
mod fence;
pub(crate) mod install;
mod plans;
mod stage;
mod stock;
mod tool;
