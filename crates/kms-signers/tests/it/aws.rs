//! Tests of the signer for AWS KMS. The stand-in follows the documented wire form: AWS JSON 1.1,
//! `TrentService.GetPublicKey` and `TrentService.Sign`.

use std::sync::Arc;
use std::time::Duration;

use alloy_signer_aws::aws_config::{self, BehaviorVersion, Region, timeout::TimeoutConfig};
use alloy_signer_aws::aws_sdk_kms::Client;
use alloy_signer_aws::aws_sdk_kms::config::{Credentials, SharedCredentialsProvider};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use hyper::http::request::Parts;
use k256::pkcs8::EncodePublicKey as _;
use kms_signers::{AwsKms, ConnectError};
use serde_json::{Value, json};
use tx_sender::{SignError, TransactionSigner as _, signed};

use crate::conformance::{Behaviour, DYNAMIC, conforms, unsigned, withstands};
use crate::service::{Answer, Service};

const FORM: &str = "application/x-amz-json-1.1";
const ALIAS: &str = "alias/gas";
const ARN: &str = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";

fn refused(kind: &str) -> Answer {
    let message = format!("User: arn:aws:iam::111122223333:user/svc may not use {ARN}");
    Answer::json(400, FORM, &json!({ "__type": kind, "Message": message }))
}

fn answer(service: &Service, parts: &Parts, body: &[u8]) -> Answer {
    let header = |name| parts.headers.get(name).unwrap().to_str().unwrap();
    assert_eq!(
        (parts.method.as_str(), header("content-type")),
        ("POST", FORM)
    );
    assert!(header("authorization").starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"));
    let request: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(request["KeyId"], ALIAS);
    let target = header("x-amz-target");
    service.note(target);
    match service.behaviour() {
        Behaviour::Refuses => return refused("AccessDeniedException"),
        Behaviour::Busy => return refused("ThrottlingException"),
        Behaviour::Fails => {
            let body = json!({ "__type": "KMSInternalException", "Message": "try again" });
            return Answer::json(500, FORM, &body);
        }
        Behaviour::OtherForm => return Answer::json(200, FORM, &json!("<html>")),
        _ => {}
    }
    match target {
        "TrentService.GetPublicKey" => {
            let key = service.public_key().to_public_key_der().unwrap();
            let body = json!({
                "KeyId": ARN,
                "PublicKey": BASE64_STANDARD.encode(key.as_bytes()),
                "KeySpec": "ECC_SECG_P256K1",
                "CustomerMasterKeySpec": "ECC_SECG_P256K1",
                "KeyUsage": "SIGN_VERIFY",
                "SigningAlgorithms": ["ECDSA_SHA_256"],
            });
            Answer::json(200, FORM, &body)
        }
        "TrentService.Sign" => {
            assert_eq!(request["MessageType"], "DIGEST");
            assert_eq!(request["SigningAlgorithm"], "ECDSA_SHA_256");
            let digest = BASE64_STANDARD
                .decode(request["Message"].as_str().unwrap())
                .unwrap();
            let der = match service.behaviour() {
                Behaviour::Garbage => vec![0x30, 2, 1, 1],
                _ => service.sign(&digest).0.to_der().as_bytes().to_vec(),
            };
            let signature = BASE64_STANDARD.encode(der);
            let body = json!({
                "KeyId": ARN, "Signature": signature, "SigningAlgorithm": "ECDSA_SHA_256",
            });
            Answer::json(200, FORM, &body)
        }
        other => panic!("{other}"),
    }
}

/// Makes a client as the environment would, but with the address and the credentials of the
/// stand-in.
async fn client(service: &Arc<Service>) -> Client {
    let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, None, "test");
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(Duration::from_secs(3));
    let config = aws_config::defaults(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(service.serve(answer).await)
        .timeout_config(timeouts.build());
    Client::new(&config.load().await)
}

#[tokio::test]
async fn it_passes_the_suite() {
    let service = Service::new();
    let signer = AwsKms::over(client(&service).await, ALIAS).await.unwrap();
    assert_eq!(signer.account(), service.account());
    conforms(&signer).await;
    withstands(&signer, |behaviour| service.behave(behaviour)).await;
}

/// The alias is pointed to another key. The signer then asks for the present key and reports that
/// it is another one.
#[tokio::test]
async fn an_alias_that_names_another_key_is_found_out() {
    let service = Service::new();
    let signer = AwsKms::over(client(&service).await, ALIAS).await.unwrap();
    service.behave(Behaviour::Rotated);
    let rotated = AwsKms::over(client(&service).await, ALIAS).await.unwrap();
    let outcome = signed(&signer, &unsigned(DYNAMIC), Duration::from_secs(5)).await;
    let expected = SignError::OtherAccount {
        expected: service.account(),
        observed: rotated.account(),
    };
    assert_eq!(outcome, Err(expected));
    let requests = service.requests();
    assert_eq!(
        requests[requests.len() - 2..],
        ["TrentService.Sign", "TrentService.GetPublicKey"]
    );
}

#[tokio::test]
async fn no_refusal_names_the_key_or_the_user() {
    let service = Service::new();
    let signer = AwsKms::over(client(&service).await, ALIAS).await.unwrap();
    service.behave(Behaviour::Refuses);
    let outcome = signed(&signer, &unsigned(DYNAMIC), Duration::from_secs(5)).await;
    let message = "AccessDeniedException".to_owned();
    assert_eq!(
        outcome,
        Err(SignError::Refused {
            message: message.clone()
        })
    );
    let start = AwsKms::over(client(&service).await, ALIAS)
        .await
        .unwrap_err();
    assert_eq!(start, ConnectError::Refused { message });
    service.behave(Behaviour::OtherForm);
    let start = AwsKms::over(client(&service).await, ALIAS)
        .await
        .unwrap_err();
    assert_eq!(start, ConnectError::NotAKey);
    assert!(!format!("{signer:?}").contains("alias"));
}
