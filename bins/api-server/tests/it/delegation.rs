//! Tests of the endpoints below `/delegation/`. The tests set the clock and the custody of the
//! listening server.

mod cli;
mod delegated;
mod limits;
mod market;
mod redeemed;
mod refusals;
mod requests;
pub(crate) mod sending;
mod served;
mod strangers;

#[path = "../../../../crates/fence-server/tests/it/dying.rs"]
#[allow(dead_code, reason = "the tests of the stores use all of it")]
mod dying;
#[path = "../../../../crates/fence-server/tests/it/onchain.rs"]
mod onchain;
#[path = "../../../../crates/plan-builder/tests/it/swap/sample.rs"]
#[allow(dead_code, reason = "the tests of the constructor use all of it")]
mod sample;
#[path = "../../../../crates/fence-server/tests/it/stage.rs"]
#[allow(dead_code, reason = "the tests of the records use all of it")]
mod stage;
#[path = "../../../../crates/fence-server/tests/it/world.rs"]
#[allow(dead_code, reason = "the tests of the operations use all of it")]
mod world;

/// Lets the seconds pass in which free readings of the chain are shared.
async fn after_the_shared_seconds() {
    test_support::skip(std::time::Duration::from_secs(4)).await;
}
