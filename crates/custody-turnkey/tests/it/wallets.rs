//! Tests of which owner has which key, despite races, lost answers, and other users of the Turnkey
//! organization.

use std::sync::Arc;

use alloy_primitives::Address;
use custody::{Custody as _, CustodyError, Purpose, Subject};
use custody_turnkey::{Identity, TurnkeyConfig, TurnkeyCustody};
use tokio::sync::Barrier;

use crate::conformance::{ALICE, BOB};
use crate::signer_conformance::{DYNAMIC, unsigned};
use crate::stand_in::{ORGANIZATION, StandIn, WORDS};

const LIST: &str = "/public/v1/query/get_private_keys";
const CREATE: &str = "/public/v1/submit/create_private_keys";

/// Two servers have both seen no key, and their creations reach Turnkey at the same time.
async fn race(stand_in: &StandIn) {
    stand_in.set(|it| it.creators = Some(Arc::new(Barrier::new(2))));
    let (one, two) = (stand_in.connect(), stand_in.connect());
    let (first, second) = tokio::join!(one.get_or_create(ALICE), two.get_or_create(ALICE));
    stand_in.set(|it| it.creators = None);
    let wallet = first.unwrap();
    assert_eq!(second, Ok(wallet));
    // A third server comes later.
    assert_eq!(stand_in.connect().get_or_create(ALICE).await, Ok(wallet));
    let asked = unsigned(DYNAMIC);
    for server in [one, two] {
        let signature = server.sign(
            wallet.address,
            Subject::Transaction(&asked),
            Purpose::FencedPlan,
        );
        assert!(signature.await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_that_create_at_once_have_one_wallet() {
    // Turnkey documents that identical bytes are the same activity. Where that fails, the first of
    // two keys counts. Where names are unique, the second creation fails, and its server answers
    // with the first key.
    for (is_idempotent, has_unique_names, keys) in
        [(false, false, 2), (false, true, 1), (true, false, 1)]
    {
        let stand_in = StandIn::start().await;
        stand_in.set(|it| {
            it.is_idempotent = is_idempotent;
            it.has_unique_names = has_unique_names;
        });
        race(&stand_in).await;
        // At the border of two steps of time, the requests have different bytes.
        let made = stand_in.keys();
        assert!(made == keys || (is_idempotent && made == 2), "{made}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_whose_answer_was_lost_is_found() {
    let stand_in = StandIn::start().await;
    stand_in.set(|it| it.loses_answer = true);
    let wallet = stand_in.connect().get_or_create(ALICE).await.unwrap();
    assert_eq!(stand_in.connect().get_or_create(ALICE).await, Ok(wallet));
    assert_eq!(stand_in.keys(), 1);
    assert_eq!(stand_in.requests(CREATE).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_exported_at_turnkey_signs_nothing() {
    let stand_in = StandIn::start().await;
    let custody = stand_in.connect();
    let wallet = custody.get_or_create(ALICE).await.unwrap();
    let asked = unsigned(DYNAMIC);
    let sign = || {
        custody.sign(
            wallet.address,
            Subject::Transaction(&asked),
            Purpose::FencedPlan,
        )
    };
    assert!(sign().await.is_ok());
    stand_in.export_all();
    assert_eq!(sign().await, Err(CustodyError::Exported(wallet.address)));
    let exported = custody::Wallet {
        exported: true,
        ..wallet
    };
    for server in [custody.clone(), stand_in.connect()] {
        assert_eq!(server.get_or_create(ALICE).await, Ok(exported));
        assert_eq!(server.find(ALICE).await, Ok(Some(exported)));
        assert_eq!(server.wallet_at(wallet.address).await, Ok(Some(exported)));
        let attested = server.attest(ALICE).await.unwrap().unwrap();
        assert!(attested.statement.contains("it was exported to its owner"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_key_is_not_used_as_a_wallet() {
    let stand_in = StandIn::start().await;
    stand_in.import(&format!("wallet-eip155-196-{:#x}", ALICE.address()));
    let custody = stand_in.connect();
    assert_eq!(custody.find(ALICE).await, Ok(None));
    let wallet = custody.get_or_create(ALICE).await.unwrap();
    assert_eq!(stand_in.connect().get_or_create(ALICE).await, Ok(wallet));
    assert_eq!(wallet.created_at, Some(1_795_600_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attestation_has_the_document_of_the_enclave_if_there_is_one() {
    let stand_in = StandIn::start().await;
    let custody = stand_in.connect();
    custody.get_or_create(ALICE).await.unwrap();
    let attested = custody.attest(ALICE).await.unwrap().unwrap();
    assert_eq!(
        attested.evidence.as_deref(),
        Some(b"an attestation document".as_slice())
    );
    assert!(attested.statement.contains(ORGANIZATION));
    stand_in.set(|it| it.has_attestation = false);
    let attested = custody.attest(ALICE).await.unwrap().unwrap();
    assert_eq!(attested.evidence, None);
    assert!(attested.statement.ends_with("this is Turnkey's word"));
}

/// Anyone may ask for the owner of an address.
#[tokio::test(flavor = "multi_thread")]
async fn many_questions_at_once_are_few_requests() {
    let stand_in = StandIn::start().await;
    let custody = stand_in.connect();
    let wallet = custody.get_or_create(BOB).await.unwrap();
    stand_in.requests(LIST);
    for _ in 0..100 {
        assert_eq!(custody.wallet_at(wallet.address).await, Ok(Some(wallet)));
        assert_eq!(custody.get_or_create(BOB).await, Ok(wallet));
    }
    assert_eq!(stand_in.requests(LIST).len(), 0);
    let asked: Vec<_> = (0..200_u8)
        .map(|number| {
            let custody = custody.clone();
            tokio::spawn(async move { custody.wallet_at(Address::repeat_byte(number)).await })
        })
        .collect();
    for task in asked {
        assert_eq!(task.await.unwrap(), Ok(None));
    }
    let lists = stand_in.requests(LIST).len();
    assert!((1..100).contains(&lists), "{lists}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_of_the_api_key_is_reported() {
    let stand_in = StandIn::start().await;
    let identity = Identity {
        organization_id: ORGANIZATION.to_owned(),
        organization_name: "Acme".to_owned(),
        username: "jane".to_owned(),
    };
    assert_eq!(stand_in.connect().whoami().await, Ok(identity));
    let other = TurnkeyConfig {
        organization_id: "0a1b2c3d-0000-4000-8000-000000000009".to_owned(),
        ..stand_in.config()
    };
    let other = TurnkeyCustody::connect(&other).unwrap();
    let refused = other.whoami().await.unwrap_err();
    assert_eq!(refused.code(), "custody_provider_refused");
    assert!(!refused.to_string().contains(WORDS));
    // The key of an API user whom Turnkey does not know.
    let key = p256::ecdsa::SigningKey::from_slice(&[0x44; 32]).unwrap();
    let public = key.verifying_key().to_encoded_point(true);
    let unknown = TurnkeyConfig {
        api_public_key: alloy_primitives::hex::encode(public.as_bytes()),
        api_private_key: "44".repeat(32).into(),
        ..stand_in.config()
    };
    let unknown = TurnkeyCustody::connect(&unknown).unwrap();
    let refused = unknown.whoami().await.unwrap_err().to_string();
    let expected = "the custody provider refuses to say who we are: HTTP 401, code 16";
    assert_eq!(refused, expected);
}
