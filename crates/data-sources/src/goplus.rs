//! GoPlus: contract security of tokens.
//!
//! Peculiarities, all handled here: failures arrive inside HTTP 200. Code 2 means that the scan has
//! not finished. Answers are keyed by the lower-case address. Flags are the strings `"0"` and
//! `"1"`, and an absent flag is unknown. Shares and taxes are fractions of one.

mod access;
mod scan;

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use alloy_primitives::Address;
use readings::security::Scan;
use secrecy::SecretString;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use crate::{
    budget::{Families, Rate},
    cached::{Ages, Cached},
    error::{Error, SourceError, SourceErrorKind},
    json::read_json,
    provenance::{Clock, Sourced},
    source::{Ask, Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    text::clean,
    transport::{QUOTED_CHARS, Transport, TransportError},
};

/// Source id of the scans.
pub const TOKEN_SECURITY: &str = "goplus.token-security";
/// Source id of the list of chains.
pub const SUPPORTED_CHAINS: &str = "goplus.supported-chains";

/// Code of a success.
const OK: i64 = 1;
/// Code of a scan that has not finished.
const PARTIAL: i64 = 2;
/// Code of "too many requests".
const RATE_LIMITED: i64 = 4029;
/// Code of an unknown or expired access token.
const TOKEN_UNKNOWN: i64 = 4023;
/// How long an unfinished scan is kept before it is asked for again.
const UNFINISHED: Duration = Duration::from_secs(15);

/// GoPlus. Clones share everything.
#[derive(Clone)]
pub struct Goplus {
    source: Source,
    scans: Cached<(u64, Address), Scan>,
    chains: Cached<(), Arc<BTreeSet<u64>>>,
    access: Cached<(), SecretString>,
}

impl Goplus {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "goplus",
        urls: &[("base_url", "https://api.gopluslabs.io")],
        key: KeyRule::Optional,
        sources: &[TOKEN_SECURITY, SUPPORTED_CHAINS],
        families: Families::One(Rate::per_minute(25)),
        ..UpstreamSpec::DATA
    };

    /// Builds the adapter. It makes no connection yet. With `api_key` and `secret_key` (its app key
    /// and app secret), calls carry an access token; without them, they carry no key.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] when an address cannot be used.
    pub fn new(
        transport: &Transport,
        config: SourceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        Ok(Self {
            source: Source::new(transport, Self::SPEC, config, clock.clone())?,
            scans: Cached::new(4096, Ages::seconds(600, 600).with_floor(10), clock.clone()),
            chains: Cached::new(
                1,
                Ages::seconds(24 * 3600, 7 * 24 * 3600).with_floor(300),
                clock.clone(),
            ),
            access: Cached::new(1, Ages::seconds(1800, 1800).with_floor(5), clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The scan of `token` on `chain_id`, at most ten minutes old, or `max_age`. An unfinished scan
    /// says so, and is asked for again after 15 seconds.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] with `no_scan` when GoPlus does not know the token; [`Error::Source`]
    /// otherwise.
    pub async fn token_security(
        &self,
        chain_id: u64,
        token: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Scan>, Error> {
        let key = (chain_id, token);
        let fetch = || {
            let goplus = self.clone();
            || async move { goplus.fetch_scan(chain_id, token).await }
        };
        let found = self.scans.get(key, max_age, fetch()).await?;
        if found.value.complete {
            return Ok(found);
        }
        let sooner = max_age.map_or(UNFINISHED, |max_age| max_age.min(UNFINISHED));
        Ok(self
            .scans
            .get(key, Some(sooner), fetch())
            .await
            .unwrap_or(found))
    }

    /// The chains whose tokens GoPlus scans, asked for once a day.
    ///
    /// # Errors
    ///
    /// [`Error::Source`].
    pub async fn supported_chains(&self) -> Result<Sourced<Arc<BTreeSet<u64>>>, Error> {
        let goplus = self.clone();
        let fetch = || async move { goplus.fetch_chains().await };
        self.chains.get((), None, fetch).await
    }

    async fn fetch_scan(&self, chain_id: u64, token: Address) -> Result<Sourced<Scan>, Error> {
        let asked = format!("{token:#x}");
        let path = format!("/api/v1/token_security/{chain_id}?contract_addresses={asked}");
        let answer: Sourced<Opened<Option<serde_json::Map<String, Value>>>> =
            self.keyed(TOKEN_SECURITY, &path).await?;
        let none = || Error::NotFound {
            reason: "no_scan",
            message: format!("no scan of token {token} on chain {chain_id}"),
        };
        let rows = answer
            .value
            .result
            .as_ref()
            .filter(|rows| !rows.is_empty())
            .ok_or_else(none)?;
        let Some(row) = rows.get(&asked).and_then(Value::as_object) else {
            let other = rows.keys().next().map(String::as_str).unwrap_or_default();
            let kind = SourceErrorKind::Malformed {
                path: "/result".to_owned(),
                expected: "the token that was asked for",
                observed: clean(other, QUOTED_CHARS),
            };
            return Err(self.source.reject_response(TOKEN_SECURITY, kind).into());
        };
        let scan = scan::read(row, answer.value.code == OK);
        if scan.is_empty() {
            return Err(none());
        }
        Ok(answer.map(|_| scan))
    }

    async fn fetch_chains(&self) -> Result<Sourced<Arc<BTreeSet<u64>>>, Error> {
        #[derive(Deserialize)]
        struct Chain {
            id: Value,
        }
        let path = "/api/v1/supported_chains?name=token_security";
        let answer: Sourced<Opened<Vec<Chain>>> = self.keyed(SUPPORTED_CHAINS, path).await?;
        // Chains that are not EVM chains have words as ids.
        let id = |chain: &Chain| match &chain.id {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        };
        let chains: BTreeSet<u64> = answer.value.result.iter().filter_map(id).collect();
        if chains.is_empty() {
            let kind = SourceErrorKind::Malformed {
                path: "/result".to_owned(),
                expected: "a list of chains",
                observed: "none".to_owned(),
            };
            return Err(self.source.reject_response(SUPPORTED_CHAINS, kind).into());
        }
        Ok(answer.map(|_| Arc::new(chains)))
    }

    /// A GET with an access token if one is available, and with a new one if the first has expired.
    async fn keyed<T: DeserializeOwned>(
        &self,
        source: &'static str,
        path: &str,
    ) -> Result<Sourced<Opened<T>>, SourceError> {
        let access = self.access_token(None).await;
        let answer = self
            .opened(self.with(self.source.get(source, path), access.as_ref()))
            .await;
        match answer {
            Err(error) if access.is_some() && is_code(&error, TOKEN_UNKNOWN) => {
                let access = self.access_token(Some(Duration::ZERO)).await;
                self.opened(self.with(self.source.get(source, path), access.as_ref()))
                    .await
            }
            answer => answer,
        }
    }

    fn with<'a>(&self, ask: Ask<'a>, access: Option<&SecretString>) -> Ask<'a> {
        ask.secret_header("authorization", "", access)
    }

    /// Makes the call and opens the envelope.
    async fn opened<T: DeserializeOwned>(
        &self,
        ask: Ask<'_>,
    ) -> Result<Sourced<Opened<T>>, SourceError> {
        self.source
            .ask(ask, |reply| Ok::<_, Fault<SourceError>>(open(&reply.body)?))
            .await
    }
}

/// The content of an envelope.
struct Opened<T> {
    code: i64,
    result: T,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    code: i64,
    #[serde(default)]
    message: Option<String>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

/// `{"code": 1, "message": "OK", "result": …}`: any code but those of a success is a failure,
/// whatever the HTTP status says.
fn open<T: DeserializeOwned>(body: &[u8]) -> Result<Opened<T>, SourceErrorKind> {
    let envelope: Envelope<'_> =
        serde_json::from_slice(body).map_err(|error| SourceErrorKind::Malformed {
            path: String::new(),
            expected: "an envelope with code and result",
            observed: clean(&error.to_string(), QUOTED_CHARS),
        })?;
    match envelope.code {
        OK | PARTIAL => {
            let result = envelope.result.map_or("null", RawValue::get);
            Ok(Opened {
                code: envelope.code,
                result: read_json(result.as_bytes())?,
            })
        }
        RATE_LIMITED => Err(SourceErrorKind::RateLimited { retry_after: None }),
        code => Err(SourceErrorKind::Business {
            code: code.to_string(),
            message: clean(&envelope.message.unwrap_or_default(), QUOTED_CHARS),
        }),
    }
}

fn is_code(error: &SourceError, expected: i64) -> bool {
    matches!(&error.kind, SourceErrorKind::Business { code, .. } if *code == expected.to_string())
}

impl fmt::Debug for Goplus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Goplus")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_is_open_only_with_the_codes_of_a_success() {
        let of = |text: &str| {
            open::<Option<bool>>(text.as_bytes()).map(|opened| (opened.code, opened.result))
        };
        assert_eq!(
            of(r#"{"code":1,"message":"OK","result":true}"#),
            Ok((1, Some(true)))
        );
        assert_eq!(of(r#"{"code":2,"result":false}"#), Ok((2, Some(false))));
        assert_eq!(of(r#"{"code":1,"result":null}"#), Ok((1, None)));
        assert_eq!(of(r#"{"code":1}"#), Ok((1, None)));
        assert_eq!(
            of(r#"{"code":4029,"message":"too many requests","result":null}"#),
            Err(SourceErrorKind::RateLimited { retry_after: None })
        );
        assert_eq!(
            of("{\"code\":5000,\"message\":\"a\u{202e}b\",\"result\":true}"),
            Err(SourceErrorKind::Business {
                code: "5000".to_owned(),
                message: "ab".to_owned()
            })
        );
        for broken in [
            "",
            "null",
            "[]",
            "{}",
            r#"{"code":"1"}"#,
            r#"{"code":1.0,"result":true}"#,
            r#"{"code":1,"result":5}"#,
        ] {
            assert!(
                matches!(of(broken), Err(SourceErrorKind::Malformed { .. })),
                "{broken}"
            );
        }
    }
}
