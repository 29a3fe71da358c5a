//! Activities: keys are created and digests signed, once for identical bytes.

use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{B256, U256, hex, keccak256};
use k256::ecdsa::{RecoveryId, Signature, SigningKey};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, ORGANIZATION, State, StoredKey, WORDS};
use crate::signer_conformance::Behaviour;

/// How long the service accepts a request after its time, in milliseconds.
const LIVENESS: u64 = 30_000;

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

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

impl State {
    pub(super) fn submit(&mut self, path: &str, body: &[u8]) -> Answer {
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
