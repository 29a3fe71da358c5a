//! Recorded upstreams that fail, and that count how often they are asked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use alloy_primitives::{Address, hex};
use bytes::Bytes;
use data_sources::{Families, UpstreamSpec};
use http::{HeaderMap, HeaderValue, Method, header};
use replay::{Recordings, ReplayServer};
use serde_json::Value;

use crate::SiegeError;
use crate::bank::PAYEE;
use crate::client::{Client, Request};
use crate::weather::Weather;
use crate::wire::{self, Asked, Reply};

/// Who is paid the fee of the recorded quotes: an account of local chains, which `mcp-server serve` refuses to pay.
const RECORDED_RECIPIENT: Address = dev_chain::PAYEE.address;

/// A request that an upstream got.
#[derive(Debug, Clone)]
pub struct Call {
    /// Whom it was for.
    pub host: String,
    /// When, since the beginning of the siege.
    pub at: Duration,
    /// What the upstream counts it for.
    pub weight: u32,
    /// Whether it asked a model for work.
    pub is_model: bool,
}

/// How often a host may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// Whom.
    pub host: String,
    /// Weight of the calls in any stretch of time of this length.
    pub limit: u32,
    /// That length.
    pub window: Duration,
}

/// What hosts themselves say that they allow, where they do; otherwise our adapters' own limits count.
const PUBLISHED: [(&str, u32, u64); 6] = [
    ("api.coingecko.com", 30, 60),
    ("api.gopluslabs.io", 30, 60),
    ("api.hyperliquid.xyz", 1_200, 60),
    ("api.dexscreener.com", 300, 60),
    ("iris-api.circle.com", 35, 1),
    ("li.quest", 75, 7_200),
];

/// Upstreams with a quota of a day in the paid API's configuration: the adapter's name, its host, and the calls. Kills must
/// not make it more.
pub const DAILY: [(&str, &str, u32); 1] = [("coinpaprika", "api.coinpaprika.com", 60)];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Hosts of models, of which only the crowd wants something.
const MODELS: [&str; 5] = [
    "api.anthropic.com",
    "api.openai.com",
    "api.perplexity.ai",
    "generativelanguage.googleapis.com",
    "queue.fal.run",
];

/// Members in which models list what they cite.
const CITATIONS: [&str; 5] = [
    "annotations",
    "citations",
    "groundingChunks",
    "groundingSupports",
    "search_results",
];

/// Upstreams behind one address.
#[derive(Debug)]
pub struct Upstreams {
    /// Where they listen.
    pub address: SocketAddr,
    calls: Arc<Mutex<Vec<Call>>>,
}

struct Proxy {
    replay: ReplayServer,
    weather: Arc<Weather>,
    calls: Arc<Mutex<Vec<Call>>>,
    start: Instant,
}

impl Upstreams {
    /// Serves the recordings.
    ///
    /// # Errors
    /// When there is no port, or the recordings cannot be read.
    pub async fn open(weather: Arc<Weather>, start: Instant) -> Result<Self, SiegeError> {
        let calls: Arc<Mutex<Vec<Call>>> = Arc::default();
        let proxy = Arc::new(Proxy {
            replay: ReplayServer::start(Recordings::embedded()?).await?,
            weather,
            calls: calls.clone(),
            start,
        });
        let address = wire::serve(move |asked| {
            let proxy = proxy.clone();
            async move { proxy.answer(asked).await }
        });
        Ok(Self {
            address: address.await?,
            calls,
        })
    }

    /// Every call so far.
    pub fn calls(&self) -> Vec<Call> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.clone()
    }
}

impl Proxy {
    async fn answer(&self, asked: Asked) -> Reply {
        let path = asked.target.trim_start_matches('/');
        let host = path.split(['/', '?']).next().unwrap_or_default().to_owned();
        let is_model = asked.method == Method::POST && MODELS.contains(&host.as_str());
        let call = Call {
            weight: weight(&host, &asked.body),
            at: self.start.elapsed(),
            is_model,
            host,
        };
        let number = {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.push(call);
            calls.len()
        };
        if self.weather.is_calm() {
            return self.recorded(&asked, is_model).await;
        }
        let mut chance = self.weather.chance(&format!("upstream {number}"));
        match chance.below(100) {
            0..2 => Reply::json(500, r#"{"error":"internal"}"#),
            2..3 => Reply::json(503, "<html>"),
            3..4 => too_many(),
            4..5 => Reply::Drop,
            5..6 => Reply::Silence,
            6..8 => match self.recorded(&asked, is_model).await {
                Reply::Whole { body, .. } => Reply::Torn(body),
                other => other,
            },
            8..9 => Reply::json(200, r#"{"code":"0","data":"#),
            9..16 => {
                tokio::time::sleep(chance.millis(50, 600)).await;
                self.recorded(&asked, is_model).await
            }
            _ => self.recorded(&asked, is_model).await,
        }
    }

    async fn recorded(&self, asked: &Asked, is_model: bool) -> Reply {
        let replay = self.replay.url().trim_start_matches("http://").parse();
        let Ok(replay) = replay else {
            return Reply::Drop;
        };
        let mut request = Request::get(&asked.target);
        request.method = asked.method.clone();
        request.body = asked.body.clone();
        let Ok(answer) = Client::new(replay).send(&request).await else {
            return Reply::Drop;
        };
        let mut headers = answer.headers;
        headers.remove(header::CONTENT_LENGTH);
        let body = match is_model {
            true => without_citations(&answer.body),
            false => paid_to_us(answer.body),
        };
        Reply::Whole {
            status: answer.status.as_u16(),
            headers,
            body,
        }
    }
}

/// What the crowd's prompts are built for: an answer that cites nothing, which the server does not sell.
fn without_citations(body: &Bytes) -> Bytes {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    match (CITATIONS.contains(&name.as_str()), &mut *member) {
                        (true, Value::Array(listed)) => listed.clear(),
                        _ => strip(member),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(mut value) => {
            strip(&mut value);
            value.to_string().into()
        }
        Err(_) => body.clone(),
    }
}

/// The recorded quotes pay their fee to somebody else.
fn paid_to_us(body: Bytes) -> Bytes {
    let (recorded, ours) = (hex::encode(RECORDED_RECIPIENT), hex::encode(PAYEE));
    match std::str::from_utf8(&body) {
        Ok(text) if text.contains(&recorded) => text.replace(&recorded, &ours).into(),
        _ => body,
    }
}

fn too_many() -> Reply {
    let soon = (header::RETRY_AFTER, HeaderValue::from_static("1"));
    Reply::Whole {
        status: 429,
        headers: HeaderMap::from_iter([soon]),
        body: Bytes::from_static(b"{}"),
    }
}

/// One, except where the upstream counts otherwise: Hyperliquid by the type of the request, at least so much.
fn weight(host: &str, body: &[u8]) -> u32 {
    if host != "api.hyperliquid.xyz" {
        return 1;
    }
    let body: Option<Value> = serde_json::from_slice(body).ok();
    match body
        .as_ref()
        .and_then(|body| body.get("type"))
        .and_then(Value::as_str)
    {
        Some(
            "l2Book"
            | "allMids"
            | "clearinghouseState"
            | "orderStatus"
            | "spotClearinghouseState"
            | "exchangeStatus",
        ) => 2,
        Some("userRole") => 60,
        _ => 20,
    }
}

/// How often each host may be asked: as it says itself, or else as our adapters allow themselves.
pub fn quotas(specs: &[&UpstreamSpec]) -> Vec<Quota> {
    let mut quotas: BTreeMap<String, Quota> = BTreeMap::new();
    for spec in specs {
        for (at, (_, url)) in spec.urls.iter().enumerate() {
            let host = url.trim_start_matches("https://");
            let host = host.split('/').next().unwrap_or_default().to_owned();
            let rates = spec.families.each(spec.urls.iter().map(|(key, _)| *key));
            let rates: Vec<_> = match spec.families {
                Families::EachAddress(_) => rates.skip(at).take(1).collect(),
                Families::One(_) | Families::Groups(_) => rates.collect(),
            };
            let limit = rates
                .iter()
                .map(|(_, rate)| rate.weight)
                .fold(0, u32::saturating_add);
            let seconds = rates.iter().map(|(_, rate)| rate.seconds).max();
            let window = Duration::from_secs(seconds.unwrap_or(60).into());
            let quota = quotas.entry(host.clone()).or_insert(Quota {
                host,
                limit: 0,
                window,
            });
            quota.limit = quota.limit.saturating_add(limit);
        }
    }
    for (host, limit, seconds) in PUBLISHED {
        let quota = Quota {
            host: host.to_owned(),
            limit,
            window: Duration::from_secs(seconds),
        };
        quotas.insert(host.to_owned(), quota);
    }
    let daily = DAILY.map(|(_, host, limit)| Quota {
        host: host.to_owned(),
        limit,
        window: DAY,
    });
    quotas.into_values().chain(daily).collect()
}

#[cfg(test)]
mod tests {
    use api_server::Sources;

    use super::*;

    #[test]
    fn quotas_are_those_of_hosts_or_else_of_adapters() {
        let quotas = quotas(&Sources::specs());
        let of = |host: &str| quotas.iter().find(|quota| quota.host == host).unwrap();
        assert_eq!(of("api.coingecko.com").limit, 30);
        assert_eq!(of("li.quest").window, Duration::from_secs(7_200));
        // The six families of one host together.
        assert_eq!(of("web3.okx.com").limit, 600);
        // Each address of its own.
        assert_eq!(of("eth.blockscout.com").limit, 120);
        let daily: Vec<_> = quotas.iter().filter(|quota| quota.window == DAY).collect();
        assert_eq!((daily.len(), daily[0].limit), (1, 60));
        for (name, host, _) in DAILY {
            let spec = Sources::specs().into_iter().find(|spec| spec.name == name);
            let urls = spec.unwrap().urls;
            assert!(urls.iter().all(|(_, url)| url.contains(host)), "{host}");
        }
        // What adapters allow themselves is never more than what hosts allow.
        for spec in Sources::specs() {
            let rates = spec.families.each(spec.urls.iter().map(|(key, _)| *key));
            for ((_, rate), (_, url)) in rates.zip(spec.urls) {
                let host = url.trim_start_matches("https://");
                if let Some((_, limit, seconds)) = PUBLISHED.iter().find(|(name, ..)| *name == host)
                {
                    assert_eq!(*seconds, u64::from(rate.seconds), "{host}");
                    assert!(rate.weight <= *limit, "{host}");
                }
            }
        }
    }

    #[test]
    fn a_model_cites_nothing() {
        let recorded = r#"{"output":[{"content":[{"annotations":[{"url":"u"}],"text":"t"}]}],"citations":["u"]}"#;
        let stripped = without_citations(&Bytes::from_static(recorded.as_bytes()));
        let expected = r#"{"citations":[],"output":[{"content":[{"annotations":[],"text":"t"}]}]}"#;
        assert_eq!(stripped, expected);
    }

    #[test]
    fn hyperliquid_counts_by_the_type_of_a_request() {
        let of = |body: &str| weight("api.hyperliquid.xyz", body.as_bytes());
        assert_eq!(of(r#"{"type":"l2Book","coin":"BTC"}"#), 2);
        assert_eq!(of(r#"{"type":"meta"}"#), 20);
        assert_eq!(of(r#"{"type":"userRole"}"#), 60);
        assert_eq!(weight("li.quest", b""), 1);
    }
}
