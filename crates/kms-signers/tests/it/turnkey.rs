//! Tests of the signer for Turnkey. The stand-in follows the documented wire form: stamped JSON,
//! and the activity `ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2`.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::hex;
use alloy_signer_turnkey::{TurnkeyClient, TurnkeyP256ApiKey};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use hyper::http::request::Parts;
use kms_signers::{ConnectError, Turnkey, TurnkeyKey};
use p256::ecdsa::signature::Verifier as _;
use serde_json::{Value, json};
use tx_sender::{SignError, TransactionSigner as _, signed};

use crate::conformance::{Behaviour, DYNAMIC, conforms, unsigned, withstands};
use crate::service::{Answer, Service, word};

const FORM: &str = "application/json";
const ORGANIZATION: &str = "0a1b2c3d-0000-4000-8000-000000000001";
const API_KEY: &str = "3333333333333333333333333333333333333333333333333333333333333333";

/// Asserts that the stamp is a signature of the body by the API key.
fn check_stamp(parts: &Parts, body: &[u8]) {
    let stamp = parts.headers.get("x-stamp").unwrap();
    let stamp = BASE64_URL_SAFE_NO_PAD.decode(stamp).unwrap();
    let stamp: Value = serde_json::from_slice(&stamp).unwrap();
    assert_eq!(stamp["scheme"], "SIGNATURE_SCHEME_TK_API_P256");
    let bytes = |member: &str| hex::decode(stamp[member].as_str().unwrap()).unwrap();
    let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(&bytes("publicKey")).unwrap();
    let signature = p256::ecdsa::Signature::from_der(&bytes("signature")).unwrap();
    key.verify(body, &signature).unwrap();
}

fn activity(status: &str, result: &Value) -> Answer {
    let activity = json!({ "activity": {
        "id": "act-1",
        "organizationId": ORGANIZATION,
        "status": status,
        "type": "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2",
        "result": result,
        "votes": [],
        "fingerprint": "sha256:00",
        "canApprove": false,
        "canReject": true,
        "createdAt": { "seconds": "1", "nanos": "0" },
        "updatedAt": { "seconds": "1", "nanos": "0" },
    }});
    Answer::json(200, FORM, &activity)
}

fn answer(service: &Service, parts: &Parts, body: &[u8]) -> Answer {
    assert_eq!(parts.uri.path(), "/public/v1/submit/sign_raw_payload");
    check_stamp(parts, body);
    let request: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(request["type"], "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2");
    assert_eq!(request["organizationId"], ORGANIZATION);
    assert!(request["timestampMs"].is_string());
    let asked = &request["parameters"];
    assert_eq!(asked["signWith"], service.account().to_string());
    assert_eq!(asked["encoding"], "PAYLOAD_ENCODING_HEXADECIMAL");
    assert_eq!(asked["hashFunction"], "HASH_FUNCTION_NO_OP");
    let failed = |status, code: u8, message: &str| {
        let body = json!({ "code": code, "message": message, "details": [] });
        Answer::json(status, FORM, &body)
    };
    let words = format!("organization {ORGANIZATION} may not");
    match service.behaviour() {
        Behaviour::Refuses => return failed(403, 7, &words),
        Behaviour::Busy => return failed(429, 8, "slow down"),
        Behaviour::Fails => return failed(500, 13, "internal"),
        Behaviour::OtherForm => {
            return activity(
                "ACTIVITY_STATUS_COMPLETED",
                &json!({ "signTransactionResult": {} }),
            );
        }
        _ => {}
    }
    let digest = hex::decode(asked["payload"].as_str().unwrap()).unwrap();
    let (signature, id) = service.sign(&digest);
    let (r, s) = signature.split_bytes();
    let mut result = json!({ "signRawPayloadResult": {
        "r": word(&r), "s": word(&s), "v": if id.is_y_odd() { "01" } else { "00" },
    }});
    if service.behaviour() == Behaviour::Garbage {
        result["signRawPayloadResult"]["s"] = json!("0102");
    }
    activity("ACTIVITY_STATUS_COMPLETED", &result)
}

fn key(service: &Service) -> TurnkeyKey {
    TurnkeyKey {
        organization_id: ORGANIZATION.to_owned(),
        account: service.account(),
    }
}

async fn signer(service: &Arc<Service>, handler: crate::service::Handler) -> Turnkey {
    let api_key = TurnkeyP256ApiKey::from_strings(API_KEY, None).unwrap();
    let client = TurnkeyClient::builder()
        .api_key(api_key)
        .base_url(service.serve(handler).await)
        .build();
    Turnkey::over(client.unwrap(), key(service))
}

#[tokio::test]
async fn it_passes_the_suite() {
    let service = Service::new();
    let signer = signer(&service, answer).await;
    assert_eq!(signer.account(), service.account());
    conforms(&signer).await;
    withstands(&signer, |behaviour| service.behave(behaviour)).await;
}

/// Some activities complete later, and others never complete.
#[tokio::test]
async fn an_activity_may_wait_or_end_without_a_signature() {
    fn waiting(service: &Service, parts: &Parts, body: &[u8]) -> Answer {
        service.note("asked");
        match service.requests().len() {
            1 => activity("ACTIVITY_STATUS_PENDING", &Value::Null),
            2 => answer(service, parts, body),
            3 => activity("ACTIVITY_STATUS_CONSENSUS_NEEDED", &Value::Null),
            4 => activity("ACTIVITY_STATUS_REJECTED", &Value::Null),
            _ => activity("ACTIVITY_STATUS_FAILED", &Value::Null),
        }
    }
    let service = Service::new();
    let signer = signer(&service, waiting).await;
    let asked = unsigned(DYNAMIC);
    let ask = || signed(&signer, &asked, Duration::from_secs(5));
    assert!(ask().await.is_ok());
    assert_eq!(service.requests().len(), 2);
    for status in ["CONSENSUS_NEEDED", "REJECTED", "FAILED"] {
        let message = format!("ACTIVITY_STATUS_{status}");
        assert_eq!(ask().await, Err(SignError::Refused { message }));
    }
}

#[tokio::test]
async fn no_refusal_names_the_organisation() {
    let service = Service::new();
    let signer = signer(&service, answer).await;
    service.behave(Behaviour::Refuses);
    let outcome = signed(&signer, &unsigned(DYNAMIC), Duration::from_secs(5)).await;
    let message = "HTTP 403".to_owned();
    assert_eq!(outcome, Err(SignError::Refused { message }));
    assert!(!format!("{signer:?}").contains(ORGANIZATION));
}

#[test]
fn a_malformed_api_key_is_not_repeated() {
    let service = Service::new();
    let zeros = "0".repeat(64);
    for text in ["", "s3cret", "33", &zeros, &"s3cret00".repeat(8)] {
        let refused = Turnkey::connect(&text.to_owned().into(), key(&service)).unwrap_err();
        assert_eq!(refused, ConnectError::ApiKey);
        assert!(!refused.to_string().contains("s3cret"));
    }
    assert!(Turnkey::connect(&API_KEY.to_owned().into(), key(&service)).is_ok());
}
