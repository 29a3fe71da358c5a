//! Turnkey's answers, as far as they are read (`docs.turnkey.com/api-reference`). Other members may
//! appear and disappear.

use serde::Deserialize;

/// `ActivityResponse`.
#[derive(Debug, Deserialize)]
pub(crate) struct ActivityAnswer {
    pub(crate) activity: Activity,
}

/// An activity: the submission and its state.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Activity {
    pub(crate) id: String,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) result: Option<ActivityResult>,
}

/// The result of a completed activity: one member, by its type.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ActivityResult {
    #[serde(default)]
    pub(crate) sign_raw_payload_result: Option<RawSignature>,
}

/// A signature: each member as hexadecimal digits without prefix.
#[derive(Debug, Deserialize)]
pub(crate) struct RawSignature {
    pub(crate) r: String,
    pub(crate) s: String,
    pub(crate) v: String,
}

/// `GetPrivateKeysResponse`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrivateKeys {
    #[serde(default)]
    pub(crate) private_keys: Vec<PrivateKey>,
}

/// `GetPrivateKeyResponse`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OnePrivateKey {
    pub(crate) private_key: PrivateKey,
}

/// A private key, without its secret.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrivateKey {
    pub(crate) private_key_id: String,
    pub(crate) private_key_name: String,
    #[serde(default)]
    pub(crate) curve: String,
    #[serde(default)]
    pub(crate) addresses: Vec<KeyAddress>,
    #[serde(default)]
    pub(crate) created_at: Option<Moment>,
    #[serde(default)]
    pub(crate) exported: bool,
    #[serde(default)]
    pub(crate) imported: bool,
}

/// An address of a key.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct KeyAddress {
    pub(crate) format: String,
    pub(crate) address: String,
}

/// A time: whole numbers as text.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Moment {
    pub(crate) seconds: String,
    pub(crate) nanos: String,
}

/// `GetWhoamiResponse`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Whoami {
    pub(crate) organization_id: String,
    pub(crate) organization_name: String,
    pub(crate) username: String,
}

/// `GetAttestationDocumentResponse`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttestationDocument {
    /// In base64.
    pub(crate) attestation_document: String,
}

/// The body of an error (`google.rpc.Status`). Its words are not read.
#[derive(Debug, Deserialize)]
pub(crate) struct Status {
    #[serde(default)]
    pub(crate) code: i32,
}
