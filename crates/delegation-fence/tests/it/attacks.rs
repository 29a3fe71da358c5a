//! The attacks on the fence, by name. A distinct rule refuses each.

mod accounts;
mod chain;
mod delegations;
mod grants;
mod limits;
mod orders;
mod plans;
mod policies;
mod revocations;
mod rules;
mod signatures;
mod stage;
mod typed_data;

#[path = "../../../plan-builder/tests/it/swap/sample.rs"]
#[allow(dead_code, reason = "the tests of the constructor use all of it")]
mod sample;
