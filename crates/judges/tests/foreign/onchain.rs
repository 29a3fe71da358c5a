//! The fence on a chain: the contracts of the MetaMask delegation framework, as their authors
//! publish them, on an anvil with the id of Base. No code of the service runs here; the attacker
//! has the redeemer's key, and often the delegate's too.

mod encoders;
mod end;
mod fence;
pub(crate) mod install;
mod plans;
mod stage;
mod stock;
mod tool;
