//! OKX's request signature: base64(HMAC-SHA256(secret, time + METHOD + path?query + body)).

use std::fmt;

use base64::{Engine, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use crate::error::SourceErrorKind;

const KEY: HeaderName = HeaderName::from_static("ok-access-key");
const SIGN: HeaderName = HeaderName::from_static("ok-access-sign");
const TIMESTAMP: HeaderName = HeaderName::from_static("ok-access-timestamp");
const PASSPHRASE: HeaderName = HeaderName::from_static("ok-access-passphrase");

/// Keys of an OKX developer account. Their `Debug` output hides the values.
#[derive(Clone)]
pub struct Credentials {
    /// Public part, sent with each request.
    pub api_key: SecretString,
    /// Signs each request; never sent.
    pub secret_key: SecretString,
    /// Sent with each request.
    pub passphrase: SecretString,
}

impl Credentials {
    /// The headers that authenticate one request. `path_and_query` and `body` must be the exact
    /// bytes of the request.
    pub(super) fn headers(
        &self,
        now: Timestamp,
        method: &str,
        path_and_query: &str,
        body: &str,
    ) -> Result<HeaderMap, SourceErrorKind> {
        let time = format!("{now:.3}");
        let signature = sign(
            self.secret_key.expose_secret(),
            &[&time, method, path_and_query, body],
        )?;
        let mut headers = HeaderMap::with_capacity(4);
        for (name, text) in [
            (KEY, self.api_key.expose_secret()),
            (SIGN, signature.as_str()),
            (TIMESTAMP, time.as_str()),
            (PASSPHRASE, self.passphrase.expose_secret()),
        ] {
            let mut value = HeaderValue::from_str(text).map_err(|_| SourceErrorKind::Disabled {
                reason: "a key contains characters that no header may",
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(..)")
    }
}

fn sign(secret: &str, parts: &[&str]) -> Result<String, SourceErrorKind> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map_err(|_| {
        SourceErrorKind::Disabled {
            reason: "the secret key is not usable",
        }
    })?;
    for part in parts {
        mac.update(part.as_bytes());
    }
    Ok(BASE64_STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> Credentials {
        Credentials {
            api_key: "key".into(),
            secret_key: "22582BD0CFF14C41EDBF1AB98506286D".into(),
            passphrase: "pass phrase".into(),
        }
    }

    /// Computed with Python's `hmac` and `base64` over the concatenated text.
    #[test]
    fn signs_like_an_independent_implementation() {
        let now: Timestamp = "2020-12-08T09:08:57.715Z".parse().unwrap();
        let get = credentials()
            .headers(
                now,
                "GET",
                "/api/v6/dex/aggregator/all-tokens?chainIndex=196",
                "",
            )
            .unwrap();
        assert_eq!(
            get["ok-access-sign"],
            "uWfn9c/uxvtCy5WaT5khYLxGZ6xNoOE2njfCY/RjZHw="
        );
        assert_eq!(get["ok-access-timestamp"], "2020-12-08T09:08:57.715Z");
        assert_eq!(get["ok-access-passphrase"], "pass phrase");
        let body = r#"[{"chainIndex":"196","tokenContractAddress":"0xe538905cf8410324e03a5a23c1c177a474d59b2b"}]"#;
        let post = credentials()
            .headers(now, "POST", "/api/v6/dex/market/price", body)
            .unwrap();
        assert_eq!(
            post["ok-access-sign"],
            "Iexr4sJBBW8wUdQ9UcaRIcyO3MSsBLXnZsy/vNOsQyY="
        );
    }

    #[test]
    fn times_always_have_three_decimals_and_keys_never_print() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let headers = credentials().headers(now, "GET", "/", "").unwrap();
        assert_eq!(headers["ok-access-timestamp"], "2027-01-15T08:00:00.000Z");
        let printed = format!("{:?} {:?}", credentials(), headers);
        assert!(
            !printed.contains("22582BD0")
                && !printed.contains("pass phrase")
                && !printed.contains("\"key\""),
            "{printed}"
        );
        let bad = Credentials {
            passphrase: "line\nbreak".into(),
            ..credentials()
        };
        assert!(matches!(
            bad.headers(now, "GET", "/", ""),
            Err(SourceErrorKind::Disabled { .. })
        ));
    }
}
