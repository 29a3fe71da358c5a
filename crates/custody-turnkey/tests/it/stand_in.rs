//! Turnkey by its documented wire form: stamped JSON, queries, and activities that are identical
//! when their bytes are.

mod activities;
mod http;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use alloy_primitives::{Address, B256, hex};
use alloy_signer::utils::public_key_to_address;
use custody_turnkey::{TurnkeyConfig, TurnkeyCustody};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Barrier;

use self::http::answer;
use crate::signer_conformance::Behaviour;

pub(crate) const ORGANIZATION: &str = "0a1b2c3d-0000-4000-8000-000000000001";
pub(crate) const API_PRIVATE: &str =
    "3333333333333333333333333333333333333333333333333333333333333333";
pub(crate) const API_PUBLIC: &str =
    "0351a7580833898ea1b183cbd7350a4099078c6ef1c1e18e970cd7683035f25e7d";

/// Words of the service that no message may repeat.
pub(crate) const WORDS: &str = "user jane of organization Acme may not";

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

    fn to_json(&self) -> Value {
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
