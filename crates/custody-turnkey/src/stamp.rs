//! The stamp of a request: a signature of its body by the API key.

use alloy_primitives::hex;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use zeroize::Zeroizing;

use crate::TurnkeyConfigError;

/// The name of the header.
pub(crate) const HEADER: &str = "X-Stamp";

/// A P-256 key whose public half Turnkey knows.
pub(crate) struct ApiKey {
    key: SigningKey,
    /// The compressed public key, as hexadecimal digits.
    public: String,
}

impl ApiKey {
    /// Reads the two halves, which must belong together. No error repeats either.
    pub(crate) fn new(private: &SecretString, public: &str) -> Result<Self, TurnkeyConfigError> {
        let mut bytes = Zeroizing::new([0_u8; 32]);
        hex::decode_to_slice(private.expose_secret().trim(), bytes.as_mut_slice())
            .map_err(|_| TurnkeyConfigError::ApiPrivateKey)?;
        let key = SigningKey::from_slice(bytes.as_slice())
            .map_err(|_| TurnkeyConfigError::ApiPrivateKey)?;
        let said = hex::decode(public.trim()).map_err(|_| TurnkeyConfigError::ApiPublicKey)?;
        let said =
            VerifyingKey::from_sec1_bytes(&said).map_err(|_| TurnkeyConfigError::ApiPublicKey)?;
        if said != *key.verifying_key() {
            return Err(TurnkeyConfigError::ApiKeyPair);
        }
        let public = hex::encode(key.verifying_key().to_encoded_point(true).as_bytes());
        Ok(Self { key, public })
    }

    /// The header's value for a body.
    pub(crate) fn stamp(&self, body: &[u8]) -> String {
        let signature: Signature = self.key.sign(body);
        let stamp = json!({
            "publicKey": self.public,
            "signature": hex::encode(signature.to_der().as_bytes()),
            "scheme": "SIGNATURE_SCHEME_TK_API_P256",
        });
        BASE64_URL_SAFE_NO_PAD.encode(stamp.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const PRIVATE: &str = "3333333333333333333333333333333333333333333333333333333333333333";
    const PUBLIC: &str = "0351a7580833898ea1b183cbd7350a4099078c6ef1c1e18e970cd7683035f25e7d";

    /// The stamp of the official crate `turnkey_api_key_stamper` 0.17.1.
    const STAMP: &str = "eyJwdWJsaWNLZXkiOiIwMzUxYTc1ODA4MzM4OThlYTFiMTgzY2JkNzM1MGE0MDk5MDc4YzZlZjFjMWUxOGU5NzBjZDc2ODMwMzVmMjVlN2QiLCJzaWduYXR1cmUiOiIzMDQ1MDIyMDZhNzA3ZDA3OGZiZjJmZGIxMTg5NjU3NWQ0MWM2YzQ2MGYzMjkzZTYwYWI1NjI3ZTUyOGRlMTExMjY1YTI4Y2EwMjIxMDA4NWI0NzllM2ZmMGViYWJmZTI0MDZmYzkxZDUwMDM0YzZlYzQ4NDQ5NjgxOWQxYzBjNjhhNTZmNDM1ODg1OWZkIiwic2NoZW1lIjoiU0lHTkFUVVJFX1NDSEVNRV9US19BUElfUDI1NiJ9";

    fn members(stamp: &str) -> Value {
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(stamp).unwrap()).unwrap()
    }

    #[test]
    fn a_stamp_is_that_of_the_official_stamper() {
        let key = ApiKey::new(&PRIVATE.into(), PUBLIC).unwrap();
        let stamp = key.stamp(br#"{"organizationId":"0a1b2c3d-0000-4000-8000-000000000001"}"#);
        assert_eq!(members(&stamp), members(STAMP));
    }

    #[test]
    fn a_key_that_is_none_is_named_and_not_repeated() {
        use TurnkeyConfigError::*;
        let other = "02ceb3832a72a4a1d2b6c2e3e3c47d5f3d9f9d3f0f3e1d3f0f3e1d3f0f3e1d3f0f";
        for (private, public, expected) in [
            ("", PUBLIC, ApiPrivateKey),
            ("5ec2e7", PUBLIC, ApiPrivateKey),
            (&"00".repeat(32), PUBLIC, ApiPrivateKey),
            (&"5ec2e7zz".repeat(8), PUBLIC, ApiPrivateKey),
            (PRIVATE, "", ApiPublicKey),
            (PRIVATE, &other[..10], ApiPublicKey),
            (&"44".repeat(32), PUBLIC, ApiKeyPair),
        ] {
            let refused = ApiKey::new(&private.into(), public).err().unwrap();
            assert_eq!(refused, expected);
            assert!(!refused.to_string().contains("5ec2e7"));
        }
    }
}
