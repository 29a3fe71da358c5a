//! Tests of the signer for Google Cloud KMS. The stand-in follows the documented wire form: gRPC,
//! `GetPublicKey` (PEM) and `AsymmetricSign` (DER).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use alloy_signer_gcp::gcloud_sdk::google::cloud::kms::v1::key_management_service_client::KeyManagementServiceClient;
use alloy_signer_gcp::gcloud_sdk::google::cloud::kms::v1::{
    AsymmetricSignRequest, AsymmetricSignResponse, GetPublicKeyRequest, PublicKey, digest::Digest,
};
use alloy_signer_gcp::gcloud_sdk::prost::Message;
use alloy_signer_gcp::gcloud_sdk::{
    GoogleApi, GoogleAuthMiddleware, Source, Token, TokenSourceType, error,
};
use hyper::http::request::Parts;
use k256::pkcs8::{EncodePublicKey as _, LineEnding};
use kms_signers::{ConnectError, GcpKey, GcpKms};
use tx_sender::{SignError, TransactionSigner as _, signed};

use crate::conformance::{Behaviour, DYNAMIC, conforms, unsigned, withstands};
use crate::service::{Answer, Service};

type Client = GoogleApi<KeyManagementServiceClient<GoogleAuthMiddleware>>;

const NAME: &str = "projects/p/locations/global/keyRings/r/cryptoKeys/gas/cryptoKeyVersions/3";

fn key() -> GcpKey {
    GcpKey {
        project: "p".to_owned(),
        location: "global".to_owned(),
        key_ring: "r".to_owned(),
        key: "gas".to_owned(),
        version: 3,
    }
}

struct FixedToken;

#[async_trait::async_trait]
impl Source for FixedToken {
    async fn token(&self) -> error::Result<Token> {
        let expiry = SystemTime::now() + Duration::from_secs(3600);
        Ok(Token::new(
            "Bearer".to_owned(),
            "t0ken".into(),
            expiry.into(),
        ))
    }
}

/// Makes the end of a call: its code and its message, which follow the body or replace it.
fn end(body: Vec<u8>, code: u8, words: &str) -> Answer {
    Answer {
        status: 200,
        headers: vec![("content-type", "application/grpc")],
        body,
        trailers: vec![
            ("grpc-status", code.to_string()),
            ("grpc-message", words.to_owned()),
        ],
    }
}

/// Frames one message: uncompressed, with its length.
fn message(message: &impl Message) -> Answer {
    let bytes = message.encode_to_vec();
    let mut body = vec![0];
    body.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
    body.extend(bytes);
    end(body, 0, "")
}

fn answer(service: &Service, parts: &Parts, body: &[u8]) -> Answer {
    let header = |name| parts.headers.get(name).unwrap().to_str().unwrap();
    assert_eq!(header("authorization"), "Bearer t0ken");
    assert_eq!(header("x-goog-request-params"), format!("name={NAME}"));
    service.note(parts.uri.path());
    match service.behaviour() {
        Behaviour::Refuses => return end(Vec::new(), 9, "key version 3 is DISABLED"),
        Behaviour::Busy => return end(Vec::new(), 8, "quota"),
        Behaviour::Fails => return end(Vec::new(), 14, "backend"),
        _ => {}
    }
    let body = body.get(5..).unwrap();
    match parts.uri.path() {
        "/google.cloud.kms.v1.KeyManagementService/GetPublicKey" => {
            let request = GetPublicKeyRequest::decode(body).unwrap();
            assert_eq!(request.name, NAME);
            let pem = match service.behaviour() {
                Behaviour::OtherForm => "no PEM".to_owned(),
                _ => service
                    .public_key()
                    .to_public_key_pem(LineEnding::LF)
                    .unwrap(),
            };
            message(&PublicKey {
                pem,
                // EC_SIGN_SECP256K1_SHA256
                algorithm: 31,
                name: NAME.to_owned(),
                ..PublicKey::default()
            })
        }
        "/google.cloud.kms.v1.KeyManagementService/AsymmetricSign" => {
            let request = AsymmetricSignRequest::decode(body).unwrap();
            assert_eq!(request.name, NAME);
            let Some(Digest::Sha256(digest)) = request.digest.unwrap().digest else {
                panic!("another digest");
            };
            let signature = match service.behaviour() {
                Behaviour::Garbage => vec![0x30, 2, 1, 1],
                // Protobuf leaves an empty member out, so the answer lacks its signature.
                Behaviour::OtherForm => Vec::new(),
                _ => service.sign(&digest).0.to_der().as_bytes().to_vec(),
            };
            message(&AsymmetricSignResponse {
                signature,
                name: NAME.to_owned(),
                ..AsymmetricSignResponse::default()
            })
        }
        other => panic!("{other}"),
    }
}

async fn client(url: &str, token: TokenSourceType) -> error::Result<Client> {
    let new = KeyManagementServiceClient::new;
    let scopes = vec!["https://www.googleapis.com/auth/cloudkms".to_owned()];
    GoogleApi::from_function_with_token_source(new, url, None, scopes, token).await
}

async fn signer(service: &Arc<Service>) -> Result<GcpKms, ConnectError> {
    let token = TokenSourceType::ExternalSource(Box::new(FixedToken));
    let client = client(&service.serve(answer).await, token).await.unwrap();
    GcpKms::over(client, key()).await
}

#[tokio::test]
async fn it_passes_the_suite() {
    let service = Service::new();
    let signer = signer(&service).await.unwrap();
    assert_eq!(signer.account(), service.account());
    conforms(&signer).await;
    withstands(&signer, |behaviour| service.behave(behaviour)).await;
}

/// The key of a version never changes. If it did, the signer would notice.
#[tokio::test]
async fn a_version_with_another_key_is_found_out() {
    let service = Service::new();
    let signer = signer(&service).await.unwrap();
    service.behave(Behaviour::Rotated);
    let outcome = signed(&signer, &unsigned(DYNAMIC), Duration::from_secs(5)).await;
    let now = alloy_signer::utils::public_key_to_address(&service.public_key());
    let expected = SignError::OtherAccount {
        expected: service.account(),
        observed: now,
    };
    assert_eq!(outcome, Err(expected));
}

#[tokio::test]
async fn a_disabled_version_is_a_refusal_that_names_nothing() {
    let service = Service::new();
    let disabled = signer(&service).await.unwrap();
    service.behave(Behaviour::Refuses);
    let outcome = signed(&disabled, &unsigned(DYNAMIC), Duration::from_secs(5)).await;
    let message = "FAILED_PRECONDITION".to_owned();
    assert_eq!(
        outcome,
        Err(SignError::Refused {
            message: message.clone()
        })
    );
    assert_eq!(
        signer(&service).await.unwrap_err(),
        ConnectError::Refused { message }
    );
    service.behave(Behaviour::OtherForm);
    assert_eq!(signer(&service).await.unwrap_err(), ConnectError::NotAKey);
    assert!(!format!("{disabled:?}").contains("gas"));
}

/// The connection to the real service is encrypted. The client libraries do not choose a TLS
/// implementation themselves, and would panic here without a choice.
#[tokio::test]
async fn an_encrypted_connection_can_be_set_up() {
    kms_signers::choose_tls();
    let token = TokenSourceType::ExternalSource(Box::new(FixedToken));
    let client = client("https://localhost", token);
    let refused = tokio::time::timeout(Duration::from_secs(10), client).await;
    // No server listens at this address.
    assert!(refused.is_ok_and(|refused| refused.is_err()));
}

/// The RSA key in a service account's file signs the request for a token.
#[tokio::test]
async fn a_service_account_gets_its_token() {
    fn answer_token(service: &Service, parts: &Parts, body: &[u8]) -> Answer {
        if parts.uri.path() != "/token" {
            return answer(service, parts, body);
        }
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"));
        assert!(body.contains("assertion=eyJ"));
        let token = serde_json::json!({
            "access_token": "t0ken", "token_type": "Bearer", "expires_in": 3600,
        });
        Answer::json(200, "application/json", &token)
    }
    let service = Service::new();
    let url = service.serve(answer_token).await;
    let account = serde_json::json!({
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "1",
        "private_key": include_str!("service-account.pem"),
        "client_email": "svc@p.iam.gserviceaccount.com",
        "client_id": "1",
        "auth_uri": format!("{url}/auth"),
        "token_uri": format!("{url}/token"),
    });
    let client = client(&url, TokenSourceType::Json(account.to_string()))
        .await
        .unwrap();
    let signer = GcpKms::over(client, key()).await.unwrap();
    conforms(&signer).await;
}
