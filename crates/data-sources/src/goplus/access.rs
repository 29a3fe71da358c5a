//! Access tokens: `POST /api/v1/token` with SHA-1 over key, time and secret.

use std::time::Duration;

use alloy_primitives::hex;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use sha1::{Digest, Sha1};

use super::{Goplus, Opened, TOKEN_SECURITY};
use crate::{
    error::{Error, SourceErrorKind},
    provenance::{Mode, Sourced},
};

impl Goplus {
    /// An access token, at most `max_age` old. `None` without keys, and when the token cannot be
    /// fetched: the interface also answers without one, but with a lower limit.
    pub(super) async fn access_token(&self, max_age: Option<Duration>) -> Option<SecretString> {
        let keys = self.source.api_key().zip(self.source.secret_key());
        if self.source.mode() == Mode::Replay || self.source.disabled().is_some() {
            return None;
        }
        let (key, secret) = keys.map(|(key, secret)| (key.clone(), secret.clone()))?;
        let goplus = self.clone();
        let fetch = || async move { goplus.fetch_access(&key, &secret).await };
        self.access
            .get((), max_age, fetch)
            .await
            .ok()
            .map(|found| found.value)
    }

    async fn fetch_access(
        &self,
        key: &SecretString,
        secret: &SecretString,
    ) -> Result<Sourced<SecretString>, Error> {
        #[derive(Deserialize)]
        struct Granted {
            access_token: SecretString,
        }
        let time = self.source.now();
        let body = json!({
            "app_key": key.expose_secret(),
            "time": time.as_second(),
            "sign": sign(key.expose_secret(), time, secret.expose_secret()),
        })
        .to_string();
        let ask = self.source.post(TOKEN_SECURITY, "/api/v1/token", &body);
        let answer: Sourced<Opened<Granted>> = self.opened(ask).await?;
        if answer.value.result.access_token.expose_secret().is_empty() {
            let kind = SourceErrorKind::Malformed {
                path: "/result/access_token".to_owned(),
                expected: "a token",
                observed: "nothing".to_owned(),
            };
            return Err(self.source.reject_response(TOKEN_SECURITY, kind).into());
        }
        Ok(answer.map(|opened| opened.result.access_token))
    }
}

fn sign(key: &str, time: Timestamp, secret: &str) -> String {
    let mut sha = Sha1::new();
    sha.update(key.as_bytes());
    sha.update(time.as_second().to_string().as_bytes());
    sha.update(secret.as_bytes());
    hex::encode(sha.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with Python's `hashlib.sha1` over the concatenated text.
    #[test]
    fn signs_like_an_independent_implementation() {
        let time = Timestamp::from_second(1_795_222_920).unwrap();
        assert_eq!(
            sign("app-key", time, "app-secret"),
            "0635b0810b0b4e2ae02ab10672097274ace9386e"
        );
    }
}
