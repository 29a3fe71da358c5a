//! The stand-in over HTTP: stamps, paths and statuses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use alloy_primitives::hex;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use p256::ecdsa::signature::Verifier as _;
use serde_json::{Value, json};

use super::{API_PUBLIC, Answer, ORGANIZATION, State, StoredKey, WORDS};
use crate::signer_conformance::Behaviour;

/// The stamp is a signature of the body by the API key.
fn is_stamped(parts: &Parts, body: &[u8]) -> bool {
    let Some(stamp) = parts.headers.get("x-stamp") else {
        return false;
    };
    let stamp = BASE64_URL_SAFE_NO_PAD.decode(stamp).unwrap();
    let stamp: HashMap<String, String> = serde_json::from_slice(&stamp).unwrap();
    assert_eq!(stamp.len(), 3);
    assert_eq!(stamp["scheme"], "SIGNATURE_SCHEME_TK_API_P256");
    let bytes = |member: &str| hex::decode(&stamp[member]).unwrap();
    let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(&bytes("publicKey")).unwrap();
    let signature = p256::ecdsa::Signature::from_der(&bytes("signature")).unwrap();
    stamp["publicKey"] == API_PUBLIC && key.verify(body, &signature).is_ok()
}

pub(super) async fn answer(
    state: Arc<Mutex<State>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, &'static str> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| "lost")?.to_bytes();
    let (status, answer) = answer_to(&state, &parts, &body).await?;
    let response = Response::builder().status(status);
    let response = response.header("content-type", "application/json");
    Ok(response
        .body(answer.to_string().into_bytes().into())
        .unwrap())
}

async fn answer_to(state: &Mutex<State>, parts: &Parts, body: &Bytes) -> Answer {
    assert_eq!(parts.method, "POST");
    assert_eq!(parts.headers["content-type"], "application/json");
    if !is_stamped(parts, body) {
        return failed(401, 16);
    }
    let path = parts.uri.path().to_owned();
    let value: Value = serde_json::from_slice(body).unwrap();
    let (behaviour, creators) = {
        let mut state = state.lock().unwrap();
        state.requests.push((path.clone(), value.clone()));
        (state.behaviour, state.creators.clone())
    };
    match behaviour {
        Behaviour::Silent => std::future::pending().await,
        Behaviour::Closes => return Err("closed"),
        Behaviour::Refuses => return failed(403, 7),
        Behaviour::Busy => return failed(429, 8),
        Behaviour::Fails => return failed(500, 13),
        _ => {}
    }
    if value["organizationId"] != ORGANIZATION {
        return failed(404, 5);
    }
    if let Some(barrier) = creators.filter(|_| path.ends_with("/create_private_keys")) {
        barrier.wait().await;
    }
    let mut state = state.lock().unwrap();
    match path.as_str() {
        "/public/v1/query/whoami" => Ok((
            200,
            json!({
                "organizationId": ORGANIZATION, "organizationName": "Acme",
                "userId": "0a1b2c3d-0000-4000-8000-000000000002", "username": "jane",
            }),
        )),
        "/public/v1/query/get_private_keys" => {
            let keys: Vec<Value> = state.keys.iter().map(StoredKey::to_json).collect();
            Ok((200, json!({ "privateKeys": keys })))
        }
        "/public/v1/query/get_private_key" => {
            let id = value["privateKeyId"].as_str().unwrap();
            match state.keys.iter().find(|key| key.id == id) {
                Some(key) => Ok((200, json!({ "privateKey": key.to_json() }))),
                None => failed(404, 5),
            }
        }
        "/public/v1/query/get_attestation" => {
            assert_eq!(value["enclaveType"], "signer");
            if !state.has_attestation {
                return failed(404, 5);
            }
            let document = BASE64_STANDARD.encode("an attestation document");
            Ok((200, json!({ "attestationDocument": document })))
        }
        "/public/v1/submit/create_private_keys" | "/public/v1/submit/sign_raw_payload" => {
            let answer = state.submit(&path, body);
            if std::mem::take(&mut state.loses_answer) {
                return Err("lost");
            }
            answer
        }
        other => panic!("{other}"),
    }
}

fn failed(status: u16, code: u8) -> Answer {
    Ok((
        status,
        json!({ "code": code, "message": WORDS, "details": [] }),
    ))
}
