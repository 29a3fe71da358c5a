//! Requests to Turnkey: stamped JSON over HTTP, bounded in time and size.
//!
//! The client polls an activity until it ends. It maps every failure to a [`CustodyError`] that
//! repeats no message of the service. It does not know wallets or owners.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use custody::CustodyError;
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::TurnkeyConfigError;
use crate::api::{Activity, ActivityAnswer, Status, Whoami};
use crate::stamp::{ApiKey, HEADER};

/// The time limit for an answer, and for a pending activity: less than a sender waits for a
/// signature.
const PATIENCE: Duration = Duration::from_secs(9);

/// The first pause before a pending activity is polled; each later one is twice as long.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The longest answer in bytes. The list of a thousand keys has less than one million.
const MAX_BODY: usize = 8 * 1024 * 1024;

/// How long an idle connection is kept: less than the idle time-out of common servers.
const POOL_IDLE: Duration = Duration::from_secs(15);

/// The organisation, and the key that its requests are stamped with.
#[derive(Clone)]
pub struct TurnkeyConfig {
    /// Turnkey's base URL: `https`, or `http` on this machine.
    pub base_url: String,
    /// The organisation's id: a UUID.
    pub organization_id: String,
    /// The public half of the API key: a point on P-256 as hexadecimal digits.
    pub api_public_key: String,
    /// The private half: 32 bytes as hexadecimal digits.
    pub api_private_key: SecretString,
}

impl TurnkeyConfig {
    /// Turnkey's public base URL.
    pub const BASE_URL: &'static str = "https://api.turnkey.com";

    /// Checks that the configuration is usable. It sends no request.
    ///
    /// # Errors
    /// The unusable member.
    pub fn check(&self) -> Result<(), TurnkeyConfigError> {
        self.base()?;
        if !is_uuid(&self.organization_id) {
            return Err(TurnkeyConfigError::OrganizationId);
        }
        ApiKey::new(&self.api_private_key, &self.api_public_key).map(drop)
    }

    /// The URL to which paths are joined.
    fn base(&self) -> Result<Url, TurnkeyConfigError> {
        let base = Url::parse(&self.base_url).ok().filter(is_protected);
        let mut base = base.ok_or(TurnkeyConfigError::BaseUrl)?;
        // A path in it is a prefix of every request.
        let prefix = format!("{}/", base.path().trim_end_matches('/'));
        base.set_path(&prefix);
        Ok(base)
    }
}

/// Leaves out the keys.
impl std::fmt::Debug for TurnkeyConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnkeyConfig").finish_non_exhaustive()
    }
}

/// The identity of an API key at Turnkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The organisation's id.
    pub organization_id: String,
    /// Its name.
    pub organization_name: String,
    /// The user's name.
    pub username: String,
}

/// Turnkey, through one API key of one organisation.
pub(crate) struct TurnkeyClient {
    client: Client,
    base: Url,
    organization_id: String,
    api_key: ApiKey,
}

impl TurnkeyClient {
    pub(crate) fn new(config: &TurnkeyConfig) -> Result<Self, TurnkeyConfigError> {
        config.check()?;
        let api_key = ApiKey::new(&config.api_private_key, &config.api_public_key)?;
        let tls = outbound_tls::http().map_err(|_| TurnkeyConfigError::Tls)?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!(
                env!("CARGO_PKG_NAME"),
                "/",
                env!("CARGO_PKG_VERSION")
            ))
            .redirect(Policy::none())
            .timeout(PATIENCE)
            .pool_idle_timeout(POOL_IDLE)
            .build()
            .map_err(|_| TurnkeyConfigError::Tls)?;
        Ok(Self {
            client,
            base: config.base()?,
            organization_id: config.organization_id.clone(),
            api_key,
        })
    }

    pub(crate) fn organization_id(&self) -> &str {
        &self.organization_id
    }

    /// A question about the organisation. `members` are those of the body beside `organizationId`.
    pub(crate) async fn query<T: DeserializeOwned>(
        &self,
        doing: &'static str,
        name: &str,
        members: Value,
    ) -> Result<T, CustodyError> {
        let mut body = json!({ "organizationId": self.organization_id });
        if let (Some(body), Value::Object(members)) = (body.as_object_mut(), members) {
            body.extend(members);
        }
        self.post(doing, &format!("public/v1/query/{name}"), &body.to_string())
            .await
    }

    pub(crate) async fn whoami(&self) -> Result<Identity, CustodyError> {
        let said: Whoami = self.query("to say who we are", "whoami", json!({})).await?;
        Ok(Identity {
            organization_id: said.organization_id,
            organization_name: said.organization_name,
            username: said.username,
        })
    }

    /// Submits an activity and waits for its end. Turnkey treats the same bytes as the same
    /// activity: a pending one is polled by submitting the bytes again.
    pub(crate) async fn submit(
        &self,
        doing: &'static str,
        name: &str,
        kind: &str,
        parameters: Value,
        timestamp_ms: u64,
    ) -> Result<Activity, CustodyError> {
        let path = format!("public/v1/submit/{name}");
        let body = json!({
            "type": kind,
            "timestampMs": timestamp_ms.to_string(),
            "organizationId": self.organization_id,
            "parameters": parameters,
        })
        .to_string();
        let (began, mut pause) = (Instant::now(), PAUSE);
        loop {
            let answer: ActivityAnswer = self.post(doing, &path, &body).await?;
            let activity = answer.activity;
            match activity.status.as_str() {
                "ACTIVITY_STATUS_COMPLETED" => return Ok(activity),
                "ACTIVITY_STATUS_CREATED" | "ACTIVITY_STATUS_PENDING" => {}
                "ACTIVITY_STATUS_CONSENSUS_NEEDED" | "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED" => {
                    tracing::warn!(
                        activity = shown(&activity.id),
                        doing,
                        "turnkey waits for approvals"
                    );
                    return Err(CustodyError::ApprovalNeeded { doing });
                }
                status @ ("ACTIVITY_STATUS_FAILED" | "ACTIVITY_STATUS_REJECTED") => {
                    tracing::warn!(
                        activity = shown(&activity.id),
                        doing,
                        status,
                        "turnkey refuses"
                    );
                    let status = status.to_owned();
                    return Err(CustodyError::ProviderRefused { doing, status });
                }
                _ => return Err(CustodyError::ProviderMalformed { doing }),
            }
            if began.elapsed().saturating_add(pause) > PATIENCE {
                let why = "the activity is still pending";
                return Err(CustodyError::ProviderUnavailable { doing, why });
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }

    async fn post<T: DeserializeOwned>(
        &self,
        doing: &'static str,
        path: &str,
        body: &str,
    ) -> Result<T, CustodyError> {
        let unavailable = |why| CustodyError::ProviderUnavailable { doing, why };
        let url = self
            .base
            .join(path)
            .map_err(|_| unavailable("no such URL"))?;
        let lost = |error: reqwest::Error| {
            unavailable(match () {
                () if error.is_connect() => "it cannot be reached",
                () if error.is_timeout() => "no answer in time",
                () => "the connection was lost",
            })
        };
        let request = self.client.post(url).body(body.to_owned());
        let mut response = request
            .header(CONTENT_TYPE, "application/json")
            .header(HEADER, self.api_key.stamp(body.as_bytes()))
            .send()
            .await
            .map_err(lost)?;
        let status = response.status();
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            if chunk.len() > MAX_BODY.saturating_sub(answer.len()) {
                return Err(CustodyError::ProviderMalformed { doing });
            }
            answer.extend_from_slice(&chunk);
        }
        match status {
            StatusCode::OK => {}
            StatusCode::TOO_MANY_REQUESTS => return Err(CustodyError::ProviderBusy { doing }),
            StatusCode::REQUEST_TIMEOUT => return Err(unavailable("HTTP 408")),
            status if status.is_server_error() => {
                return Err(unavailable("an error of the service (HTTP 5xx)"));
            }
            status => {
                // The body has an RPC code. Its message names organisations and users,
                // so it is not repeated.
                let code = serde_json::from_slice::<Status>(&answer).map_or(0, |said| said.code);
                let status = format!("HTTP {}, code {code}", status.as_u16());
                return Err(CustodyError::ProviderRefused { doing, status });
            }
        }
        // An answer that is not JSON comes from a proxy in front of the service.
        let answer: Value =
            serde_json::from_slice(&answer).map_err(|_| unavailable("an answer without JSON"))?;
        T::deserialize(answer).map_err(|_| CustodyError::ProviderMalformed { doing })
    }
}

/// Whether the transport protects requests.
fn is_protected(url: &Url) -> bool {
    let is_here = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    url.has_host() && (url.scheme() == "https" || (url.scheme() == "http" && is_here))
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths = groups.iter().map(|group| group.len());
    lengths.eq([8, 4, 4, 4, 12])
        && groups
            .iter()
            .all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// An id in a form for logs: whatever the service sends, it stays short and on one line.
fn shown(id: &str) -> String {
    let plain = |one: &char| one.is_ascii_alphanumeric() || *one == '-';
    id.chars().filter(plain).take(64).collect()
}

/// Now, in Unix milliseconds.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> TurnkeyConfig {
        TurnkeyConfig {
            base_url: TurnkeyConfig::BASE_URL.to_owned(),
            organization_id: "0a1b2c3d-0000-4000-8000-000000000001".to_owned(),
            api_public_key: "0351a7580833898ea1b183cbd7350a4099078c6ef1c1e18e970cd7683035f25e7d"
                .to_owned(),
            api_private_key: "33".repeat(32).into(),
        }
    }

    #[test]
    fn a_url_without_protection_and_an_id_that_is_none_are_refused() {
        use TurnkeyConfigError::*;
        assert!(TurnkeyClient::new(&config()).is_ok());
        for (url, expected) in [
            ("http://127.0.0.1:1", None),
            ("http://[::1]:1/prefix/", None),
            ("http://api.turnkey.com", Some(BaseUrl)),
            ("ftp://localhost", Some(BaseUrl)),
            ("", Some(BaseUrl)),
        ] {
            let base_url = url.to_owned();
            let made = TurnkeyClient::new(&TurnkeyConfig {
                base_url,
                ..config()
            });
            assert_eq!(made.err(), expected, "{url}");
        }
        for id in ["", "0a1b2c3d", "0a1b2c3d-0000-4000-8000-00000000000g"] {
            let organization_id = id.to_owned();
            let made = TurnkeyClient::new(&TurnkeyConfig {
                organization_id,
                ..config()
            });
            assert_eq!(made.err(), Some(OrganizationId), "{id}");
        }
        assert_eq!(format!("{:?}", config()), "TurnkeyConfig { .. }");
    }

    #[test]
    fn an_id_in_a_log_stays_short_and_on_its_line() {
        assert_eq!(shown("0a1b-\n\u{1b}[31m"), "0a1b-31m");
        assert_eq!(shown(&"a".repeat(100)).len(), 64);
    }
}
