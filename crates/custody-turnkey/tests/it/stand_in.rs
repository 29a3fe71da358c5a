//! Turnkey by its documented wire form: stamped JSON, queries, and activities that are identical
//! when their bytes are.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, B256, U256, hex, keccak256};
use alloy_signer::utils::public_key_to_address;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use custody_turnkey::{TurnkeyConfig, TurnkeyCustody};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use k256::ecdsa::{RecoveryId, Signature, SigningKey};
use p256::ecdsa::signature::Verifier as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Barrier;

use crate::signer_conformance::Behaviour;

pub(crate) const ORGANIZATION: &str = "0a1b2c3d-0000-4000-8000-000000000001";
pub(crate) const API_PRIVATE: &str =
    "3333333333333333333333333333333333333333333333333333333333333333";
pub(crate) const API_PUBLIC: &str =
    "0351a7580833898ea1b183cbd7350a4099078c6ef1c1e18e970cd7683035f25e7d";

/// Words of the service that no message may repeat.
pub(crate) const WORDS: &str = "user jane of organization Acme may not";

/// How long the service accepts a request after its time, in milliseconds.
const LIVENESS: u64 = 30_000;

/// The service's content and behaviour.
pub(crate) struct State {
    pub(crate) behaviour: Behaviour,
    /// How often the service reports an activity as pending before it works on it.
    pub(crate) pending: usize,
    /// Every activity ends like this, without any work.
    pub(crate) ends: Option<&'static str>,
    /// Whether identical bytes are the same activity, as documented.
    pub(crate) is_idempotent: bool,
    /// Whether the service refuses a second key of the same name.
    pub(crate) has_unique_names: bool,
    /// The service works on the next activity, and its answer is lost.
    pub(crate) loses_answer: bool,
    /// Creations wait for each other at this barrier.
    pub(crate) creators: Option<Arc<Barrier>>,
    pub(crate) has_attestation: bool,
    keys: Vec<StoredKey>,
    activities: HashMap<B256, Value>,
    polls: HashMap<B256, usize>,
    pub(crate) requests: Vec<(String, Value)>,
}

struct StoredKey {
    id: String,
    name: String,
    key: SigningKey,
    created: (u64, u32),
    exported: bool,
    imported: bool,
}

impl StoredKey {
    fn address(&self) -> Address {
        public_key_to_address(self.key.verifying_key())
    }

    fn told(&self) -> Value {
        json!({
            "privateKeyId": self.id,
            "publicKey": hex::encode(self.key.verifying_key().to_encoded_point(true).as_bytes()),
            "privateKeyName": self.name,
            "curve": "CURVE_SECP256K1",
            "addresses": [{"format": "ADDRESS_FORMAT_ETHEREUM", "address": self.address()}],
            "privateKeyTags": [],
            "createdAt": {"seconds": self.created.0.to_string(), "nanos": self.created.1.to_string()},
            "updatedAt": {"seconds": self.created.0.to_string(), "nanos": self.created.1.to_string()},
            "exported": self.exported,
            "imported": self.imported,
        })
    }
}

pub(crate) struct StandIn {
    state: Arc<Mutex<State>>,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Submission<T> {
    r#type: String,
    timestamp_ms: String,
    organization_id: String,
    parameters: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CreatePrivateKeys {
    private_keys: Vec<PrivateKeyParams>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PrivateKeyParams {
    private_key_name: String,
    curve: String,
    private_key_tags: Vec<String>,
    address_formats: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SignRawPayload {
    sign_with: String,
    payload: String,
    encoding: String,
    hash_function: String,
}

/// An HTTP answer; `Err`: the connection ends.
type Answer = Result<(u16, Value), &'static str>;

impl StandIn {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)));
        let listener = listener.await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            behaviour: Behaviour::Signs,
            pending: 0,
            ends: None,
            is_idempotent: true,
            has_unique_names: false,
            loses_answer: false,
            creators: None,
            has_attestation: true,
            keys: Vec::new(),
            activities: HashMap::new(),
            polls: HashMap::new(),
            requests: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let state = Arc::clone(&shared);
                tokio::spawn(async move {
                    let service = service_fn(move |request| answer(Arc::clone(&state), request));
                    let served =
                        http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                    drop(served.await);
                });
            }
        });
        Self { state, url }
    }

    pub(crate) fn config(&self) -> TurnkeyConfig {
        TurnkeyConfig {
            base_url: self.url.clone(),
            organization_id: ORGANIZATION.to_owned(),
            api_public_key: API_PUBLIC.to_owned(),
            api_private_key: API_PRIVATE.into(),
        }
    }

    /// A process that uses the service.
    pub(crate) fn connect(&self) -> TurnkeyCustody {
        TurnkeyCustody::connect(&self.config()).unwrap()
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
    }

    pub(crate) fn keys(&self) -> usize {
        self.state.lock().unwrap().keys.len()
    }

    /// The requests with this path since the last look.
    pub(crate) fn requests(&self, path: &str) -> Vec<Value> {
        let mut state = self.state.lock().unwrap();
        let (asked, others) = std::mem::take(&mut state.requests)
            .into_iter()
            .partition(|(to, _)| to == path);
        state.requests = others;
        let asked: Vec<(String, Value)> = asked;
        asked.into_iter().map(|(_, body)| body).collect()
    }

    /// Exports all keys, as an administrator does at Turnkey.
    pub(crate) fn export_all(&self) {
        let mut state = self.state.lock().unwrap();
        state.keys.iter_mut().for_each(|key| key.exported = true);
    }

    /// Imports a key under this name, before every other one.
    pub(crate) fn import(&self, name: &str) {
        let mut state = self.state.lock().unwrap();
        state.keys.push(StoredKey {
            id: "00000000-0000-4000-8000-000000000000".to_owned(),
            name: name.to_owned(),
            key: SigningKey::from_slice(&[9; 32]).unwrap(),
            created: (1, 0),
            exported: false,
            imported: true,
        });
    }
}

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

async fn answer(
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
            let keys: Vec<Value> = state.keys.iter().map(StoredKey::told).collect();
            Ok((200, json!({ "privateKeys": keys })))
        }
        "/public/v1/query/get_private_key" => {
            let id = value["privateKeyId"].as_str().unwrap();
            match state.keys.iter().find(|key| key.id == id) {
                Some(key) => Ok((200, json!({ "privateKey": key.told() }))),
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

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

impl State {
    fn submit(&mut self, path: &str, body: &[u8]) -> Answer {
        let fingerprint = keccak256(body);
        if self.is_idempotent
            && let Some(activity) = self.activities.get(&fingerprint)
        {
            return Ok((200, activity.clone()));
        }
        let polls = self.polls.entry(fingerprint).or_default();
        *polls += 1;
        if *polls <= self.pending {
            return Ok((
                200,
                activity(fingerprint, "ACTIVITY_STATUS_PENDING", &Value::Null),
            ));
        }
        let ended = match self.ends {
            Some(status) => activity(fingerprint, status, &Value::Null),
            None => match path.ends_with("/create_private_keys") {
                true => self.create(fingerprint, body),
                false => self.sign(fingerprint, body),
            },
        };
        self.activities.insert(fingerprint, ended.clone());
        Ok((200, ended))
    }

    fn create(&mut self, fingerprint: B256, body: &[u8]) -> Value {
        let asked: CreatePrivateKeys = read(body, "ACTIVITY_TYPE_CREATE_PRIVATE_KEYS_V2");
        let [asked] = asked.private_keys.as_slice() else {
            panic!("one key")
        };
        assert_eq!(asked.curve, "CURVE_SECP256K1");
        assert_eq!(asked.address_formats, ["ADDRESS_FORMAT_ETHEREUM"]);
        assert!(asked.private_key_tags.is_empty());
        let is_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        assert!(asked.private_key_name.len() <= 64 && asked.private_key_name.bytes().all(is_label));
        let taken = self
            .keys
            .iter()
            .any(|key| key.name == asked.private_key_name);
        if taken && self.has_unique_names {
            return activity(fingerprint, "ACTIVITY_STATUS_FAILED", &Value::Null);
        }
        let number = self.keys.len();
        let key = StoredKey {
            // Ids do not reveal the order.
            id: format!("0a1b2c3d-0000-4000-9000-{:012x}", 0xffff - number),
            name: asked.private_key_name.clone(),
            key: SigningKey::from_slice(keccak256(format!("key {number}")).as_slice()).unwrap(),
            created: (1_795_600_000, u32::try_from(number).unwrap() + 1),
            exported: false,
            imported: false,
        };
        let result = json!({ "createPrivateKeysResultV2": { "privateKeys": [{
            "privateKeyId": key.id,
            "addresses": [{"format": "ADDRESS_FORMAT_ETHEREUM", "address": key.address()}],
        }]}});
        self.keys.push(key);
        activity(fingerprint, "ACTIVITY_STATUS_COMPLETED", &result)
    }

    fn sign(&self, fingerprint: B256, body: &[u8]) -> Value {
        let asked: SignRawPayload = read(body, "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2");
        assert_eq!(asked.encoding, "PAYLOAD_ENCODING_HEXADECIMAL");
        assert_eq!(asked.hash_function, "HASH_FUNCTION_NO_OP");
        let stored = self
            .keys
            .iter()
            .find(|key| key.id == asked.sign_with)
            .unwrap();
        let mut digest = hex::decode(&asked.payload).unwrap();
        assert_eq!(digest.len(), 32);
        if self.behaviour == Behaviour::OtherForm {
            let result = json!({ "signTransactionResult": {} });
            return activity(fingerprint, "ACTIVITY_STATUS_COMPLETED", &result);
        }
        if self.behaviour == Behaviour::OtherHash {
            digest[0] ^= 1;
        }
        let exchanged = SigningKey::from_slice(&[7; 32]).unwrap();
        let key = match self.behaviour {
            Behaviour::Rotated => &exchanged,
            _ => &stored.key,
        };
        let (mut signature, mut id) = key.sign_prehash_recoverable(&digest).unwrap();
        if self.behaviour == Behaviour::HighS {
            signature = Signature::from_scalars(signature.r(), -*signature.s()).unwrap();
            id = RecoveryId::new(!id.is_y_odd(), id.is_x_reduced());
        }
        let word = |bytes: &[u8]| format!("{:064x}", U256::from_be_slice(bytes));
        let (r, s) = signature.split_bytes();
        let s = match self.behaviour {
            Behaviour::Garbage => "0102".to_owned(),
            _ => word(&s),
        };
        let v = if id.is_y_odd() { "01" } else { "00" };
        let result = json!({ "signRawPayloadResult": { "r": word(&r), "s": s, "v": v } });
        activity(fingerprint, "ACTIVITY_STATUS_COMPLETED", &result)
    }
}

fn read<T: for<'de> Deserialize<'de>>(body: &[u8], kind: &str) -> T {
    let asked: Submission<T> = serde_json::from_slice(body).unwrap();
    assert_eq!(asked.r#type, kind);
    assert_eq!(asked.organization_id, ORGANIZATION);
    let at: u64 = asked.timestamp_ms.parse().unwrap();
    assert!(at.abs_diff(now_ms()) < LIVENESS);
    asked.parameters
}

fn activity(fingerprint: B256, status: &str, result: &Value) -> Value {
    json!({ "activity": {
        "id": "0a1b2c3d-0000-4000-a000-000000000003",
        "organizationId": ORGANIZATION,
        "status": status,
        "type": "ACTIVITY_TYPE_ANY",
        "intent": {},
        "result": result,
        "votes": [],
        "fingerprint": format!("sha256:{}", hex::encode(fingerprint)),
        "canApprove": false,
        "canReject": true,
        "createdAt": { "seconds": "1", "nanos": "0" },
        "updatedAt": { "seconds": "1", "nanos": "0" },
        "failure": if status.ends_with("FAILED") { json!({"code": 3, "message": WORDS}) } else { Value::Null },
    }})
}
