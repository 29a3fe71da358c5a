//! Signs requests to the OKX API: HMAC-SHA256 over the exact bytes of the request.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use crate::SettlementError;

/// The API credentials of the broker. They are never printed.
#[derive(Clone)]
pub struct OkxCredentials {
    /// The value of `OK-ACCESS-KEY`.
    pub api_key: SecretString,
    /// The key of the HMAC. It is not sent.
    pub secret_key: SecretString,
    /// The value of `OK-ACCESS-PASSPHRASE`.
    pub passphrase: SecretString,
}

impl fmt::Debug for OkxCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OkxCredentials").finish_non_exhaustive()
    }
}

impl OkxCredentials {
    /// Checks that a header can carry every value.
    pub(crate) fn check(&self) -> Result<(), SettlementError> {
        let parts = [
            ("settlement.okx_api_key", &self.api_key),
            ("settlement.okx_secret_key", &self.secret_key),
            ("settlement.okx_passphrase", &self.passphrase),
        ];
        for (key, value) in parts {
            let text = value.expose_secret();
            if text.is_empty()
                || !text
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() || byte == b' ')
            {
                return Err(SettlementError::Credential { key });
            }
        }
        Ok(())
    }

    /// Returns the headers of one request. `path` begins with `/api` and includes the query.
    /// `timestamp` is ISO 8601 in UTC with milliseconds.
    pub(crate) fn headers(
        &self,
        timestamp: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> HeaderMap {
        let signature = sign(&self.secret_key, timestamp, method, path, body);
        let parts = [
            ("ok-access-key", self.api_key.expose_secret()),
            ("ok-access-sign", &signature),
            ("ok-access-timestamp", timestamp),
            ("ok-access-passphrase", self.passphrase.expose_secret()),
        ];
        parts
            .into_iter()
            .filter_map(|(name, value)| {
                // `check` has already tested the value, so no header is left out here.
                let mut value = HeaderValue::from_str(value).ok()?;
                value.set_sensitive(true);
                Some((HeaderName::from_static(name), value))
            })
            .collect()
    }
}

/// Computes `OK-ACCESS-SIGN`: the base64 of the HMAC of timestamp, method, path with query, and
/// body.
fn sign(secret: &SecretString, timestamp: &str, method: &str, path: &str, body: &str) -> String {
    // HMAC accepts keys of any length, so this cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) else {
        return String::new();
    };
    for part in [timestamp, method, path, body] {
        mac.update(part.as_bytes());
    }
    STANDARD.encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(secret: &str) -> OkxCredentials {
        OkxCredentials {
            api_key: "key-of-the-test".into(),
            secret_key: secret.into(),
            passphrase: "pass-of-the-test".into(),
        }
    }

    /// The vectors are the examples of the broker's documentation.
    #[test]
    fn signatures_are_those_of_the_vectors() {
        let at = "2026-03-30T10:00:00.000Z";
        for (method, path, body, expected) in [
            (
                "POST",
                "/api/v6/pay/x402/verify",
                r#"{"x402Version":2}"#,
                "IU7Xnpn/mkL/qzwrNQxP8V28HRrHvREgguTaXzTA0gs=",
            ),
            (
                "GET",
                "/api/v6/pay/x402/settle/status?txHash=0xabc",
                "",
                "654iCDfPFdorbpHxa08hICkhH5NKYXhjGCiDv1ESu90=",
            ),
        ] {
            let headers = credentials("test-secret").headers(at, method, path, body);
            assert_eq!(headers["ok-access-sign"], expected);
            assert_eq!(headers["ok-access-timestamp"], at);
            assert_eq!(headers["ok-access-key"], "key-of-the-test");
            assert_eq!(headers["ok-access-passphrase"], "pass-of-the-test");
        }
    }

    #[test]
    fn no_secret_is_printed() {
        let credentials = credentials("secret-of-the-test");
        let printed = format!(
            "{credentials:?} {:?}",
            credentials.headers("t", "GET", "/p", "")
        );
        assert!(!printed.contains("of-the-test"), "{printed}");
    }

    #[test]
    fn a_value_that_cannot_be_sent_is_refused_by_its_key() {
        let mut bad = credentials("s");
        bad.passphrase = "line\nbreak".into();
        assert_eq!(
            bad.check(),
            Err(SettlementError::Credential {
                key: "settlement.okx_passphrase"
            })
        );
        assert_eq!(
            credentials("").check(),
            Err(SettlementError::Credential {
                key: "settlement.okx_secret_key"
            })
        );
    }
}
