//! The ends of activities that do not complete at once.

use custody::{Custody as _, CustodyError, Purpose, Subject, Wallet};
use custody_turnkey::TurnkeyCustody;

use crate::conformance::ALICE;
use crate::signer_conformance::{Behaviour, DYNAMIC, unsigned};
use crate::stand_in::{API_PRIVATE, ORGANIZATION, StandIn, WORDS};

async fn sign(custody: &TurnkeyCustody, wallet: Wallet) -> Result<(), CustodyError> {
    let asked = unsigned(DYNAMIC);
    let subject = Subject::Transaction(&asked);
    let signed = custody.sign(wallet.address, subject, Purpose::FencedPlan);
    signed.await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_activity_is_asked_for_again_with_the_same_bytes() {
    let stand_in = StandIn::start().await;
    stand_in.set(|it| it.pending = 2);
    let custody = stand_in.connect();
    let wallet = custody.get_or_create(ALICE).await.unwrap();
    sign(&custody, wallet).await.unwrap();
    for path in ["create_private_keys", "sign_raw_payload"] {
        let requests = stand_in.requests(&format!("/public/v1/submit/{path}"));
        assert_eq!(requests.len(), 3, "{path}");
        assert!(requests.iter().all(|request| *request == requests[0]));
    }
    assert_eq!(stand_in.keys(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_activity_that_does_not_end_well_has_a_name_and_repeats_nothing() {
    let stand_in = StandIn::start().await;
    let custody = stand_in.connect();
    let wallet = custody.get_or_create(ALICE).await.unwrap();
    // Requests of the same time are not the same activity.
    stand_in.set(|it| it.is_idempotent = false);
    for (ends, code) in [
        (
            "ACTIVITY_STATUS_CONSENSUS_NEEDED",
            "custody_approval_needed",
        ),
        (
            "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED",
            "custody_approval_needed",
        ),
        ("ACTIVITY_STATUS_FAILED", "custody_provider_refused"),
        ("ACTIVITY_STATUS_REJECTED", "custody_provider_refused"),
        ("ACTIVITY_STATUS_NEW", "custody_provider_malformed"),
    ] {
        stand_in.set(|it| it.ends = Some(ends));
        let creation = stand_in
            .connect()
            .get_or_create(crate::conformance::BOB)
            .await;
        for refused in [
            sign(&custody, wallet).await.unwrap_err(),
            creation.unwrap_err(),
        ] {
            assert_eq!(refused.code(), code, "{ends}");
            says_nothing(&refused);
        }
    }
    stand_in.set(|it| it.ends = None);
    sign(&custody, wallet).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_fails_has_a_name_and_repeats_nothing() {
    let stand_in = StandIn::start().await;
    let custody = stand_in.connect();
    let wallet = custody.get_or_create(ALICE).await.unwrap();
    for (behaviour, code) in [
        (Behaviour::Busy, "custody_provider_busy"),
        (Behaviour::Fails, "custody_provider_unavailable"),
        (Behaviour::Closes, "custody_provider_unavailable"),
        (Behaviour::Refuses, "custody_provider_refused"),
        (Behaviour::Garbage, "custody_provider_malformed"),
        (Behaviour::OtherForm, "custody_provider_malformed"),
        (Behaviour::Rotated, "custody_other_signer"),
        (Behaviour::OtherHash, "custody_other_signer"),
    ] {
        stand_in.set(|it| it.behaviour = behaviour);
        let refused = sign(&custody, wallet).await.unwrap_err();
        assert_eq!(refused.code(), code, "{behaviour:?}");
        says_nothing(&refused);
    }
    stand_in.set(|it| it.behaviour = Behaviour::Signs);
    sign(&custody, wallet).await.unwrap();
}

/// Both cases take nine seconds.
#[tokio::test(flavor = "multi_thread")]
async fn no_call_waits_for_ever() {
    let (silent, pending) = tokio::join!(StandIn::start(), StandIn::start());
    let connected = silent.connect();
    let wallet = connected.get_or_create(ALICE).await.unwrap();
    silent.set(|it| it.behaviour = Behaviour::Silent);
    pending.set(|it| it.pending = usize::MAX);
    let waiting = pending.connect();
    let (one, two) = tokio::join!(sign(&connected, wallet), waiting.get_or_create(ALICE));
    assert_eq!(
        one.unwrap_err().to_string(),
        "the custody provider is unavailable to show a key: no answer in time"
    );
    let two = two.unwrap_err();
    assert_eq!(
        two.to_string(),
        "the custody provider is unavailable to create a key: the activity is still pending"
    );
    assert_eq!(two.code(), "custody_provider_unavailable");
}

fn says_nothing(error: &CustodyError) {
    let said = format!("{error} {error:?}");
    for secret in [WORDS, ORGANIZATION, API_PRIVATE, "127.0.0.1"] {
        assert!(!said.contains(secret), "{said}");
    }
}
