//! The provider over a stand-in that follows Turnkey's documentation, through the suites of
//! `custody` and `tx-sender`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "test code"
)]

mod activities;
#[path = "../../../custody/tests/it/conformance.rs"]
mod conformance;
#[path = "../../../tx-sender/tests/it/conformance.rs"]
mod signer_conformance;
mod stand_in;
mod wallets;

use std::sync::Arc;

use custody::{Custody as _, Purpose, lend};

use crate::conformance::ALICE;
use crate::stand_in::StandIn;

#[tokio::test(flavor = "multi_thread")]
async fn the_turnkey_provider_conforms() {
    let stand_in = StandIn::start().await;
    conformance::conforms(|| stand_in.connect()).await;
    // There is one key for each of three owners. Four processes create the first one's: at the
    // border of two steps of time, the requests have different bytes.
    let made = stand_in.keys();
    assert!((3..=6).contains(&made), "{made}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lent_wallet_withstands_the_failures_of_the_service() {
    let stand_in = StandIn::start().await;
    let custody = Arc::new(stand_in.connect());
    let wallet = custody.get_or_create(ALICE).await.unwrap();
    let signer = lend(custody, wallet.address, Purpose::FencedPlan);
    signer_conformance::withstands(&*signer, |behaviour| {
        stand_in.set(|it| it.behaviour = behaviour)
    })
    .await;
}
