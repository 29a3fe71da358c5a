//! Serves recorded upstreams that fail sometimes, and records every request to them.

mod quotas;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use alloy_primitives::{Address, hex};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use replay::{Recordings, ReplayServer};
use serde_json::Value;

use self::quotas::family;
pub use self::quotas::{DAILY, Quota, quotas};
use crate::SiegeError;
use crate::bank::{PAYEE, THIEF};
use crate::chance::Chance;
use crate::client::{Client, Request};
use crate::payment::now;
use crate::weather::Weather;
use crate::wire::{self, Asked, Reply};

/// The account to which the recorded quotes pay their fee. It belongs to local chains, and
/// `mcp-server serve` refuses to pay such an account.
const RECORDED_RECIPIENT: Address = dev_chain::PAYEE.address;

/// A request that an upstream got.
#[derive(Debug, Clone)]
pub struct UpstreamCall {
    /// The host of the upstream.
    pub host: String,
    /// The name of the host's limit that covers the call, if the host has several. Empty when it is
    /// unknown.
    pub family: &'static str,
    /// When it came, counted from the beginning of the siege.
    pub at: Duration,
    /// How much the upstream counts it for.
    pub weight: u32,
    /// Whether it asked a model for work.
    pub is_model: bool,
    /// The address to which it was sent, as an index of [`Upstreams::addresses`].
    pub asked_at: usize,
}

/// The hosts on which honest buyers, owners and agents depend.
const KEPT_SELLING: [&str; 3] = ["web3.okx.com", "li.quest", "coins.llama.fi"];

/// The route of the aggregator that quotes the swaps of sub-wallets, and the one that names whom a
/// wallet approves. It lies about half of them while the crowd is there.
const QUOTE: &str = "/dex/aggregator/swap";
const APPROVAL: &str = "/dex/aggregator/approve-transaction";

/// The hosts of models. Only the crowd uses them.
const MODELS: [&str; 5] = [
    "api.anthropic.com",
    "api.openai.com",
    "api.perplexity.ai",
    "generativelanguage.googleapis.com",
    "queue.fal.run",
];

/// The members in which models list their citations.
const CITATIONS: [&str; 5] = [
    "annotations",
    "citations",
    "groundingChunks",
    "groundingSupports",
    "search_results",
];

/// The upstreams, with one address for each caller.
#[derive(Debug)]
pub struct Upstreams {
    /// The address for each caller.
    pub addresses: Vec<SocketAddr>,
    calls: Arc<Mutex<Vec<UpstreamCall>>>,
}

struct Proxy {
    replay: ReplayServer,
    weather: Arc<Weather>,
    calls: Arc<Mutex<Vec<UpstreamCall>>>,
    start: Instant,
}

impl Upstreams {
    /// Serves the recordings to this many callers.
    ///
    /// # Errors
    /// When no port is available, or the recordings cannot be read.
    pub async fn open(
        callers: usize,
        weather: Arc<Weather>,
        start: Instant,
    ) -> Result<Self, SiegeError> {
        let calls: Arc<Mutex<Vec<UpstreamCall>>> = Arc::default();
        let proxy = Arc::new(Proxy {
            // Quotes and prices are of today.
            replay: ReplayServer::start(Recordings::embedded()?.at(now())).await?,
            weather,
            calls: calls.clone(),
            start,
        });
        let mut addresses = Vec::new();
        for caller in 0..callers {
            let proxy = proxy.clone();
            let address = wire::serve(move |asked| {
                let proxy = proxy.clone();
                async move { proxy.answer(caller, asked).await }
            });
            addresses.push(address.await?);
        }
        Ok(Self { addresses, calls })
    }

    /// Returns every call so far.
    pub fn calls(&self) -> Vec<UpstreamCall> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.clone()
    }
}

impl Proxy {
    async fn answer(&self, asked_at: usize, asked: Asked) -> Reply {
        let path = asked.target.trim_start_matches('/');
        let host = path.split(['/', '?']).next().unwrap_or_default().to_owned();
        let is_model = asked.method == Method::POST && MODELS.contains(&host.as_str());
        let call = UpstreamCall {
            family: family(path),
            weight: weight(&host, &asked.body),
            at: self.start.elapsed(),
            is_model,
            asked_at,
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
        if [QUOTE, APPROVAL]
            .iter()
            .any(|route| asked.target.contains(route))
        {
            let mut chance = self.weather.chance(&format!("quote {number}"));
            return match (chance.percent(50), self.recorded(&asked, false).await) {
                (
                    true,
                    Reply::Whole {
                        status,
                        headers,
                        body,
                    },
                ) => Reply::Whole {
                    status,
                    headers,
                    body: falsified(&body, &mut chance),
                },
                (_, reply) => reply,
            };
        }
        let may_hold = !KEPT_SELLING.contains(&path.split(['/', '?']).next().unwrap_or_default());
        let mut chance = self.weather.chance(&format!("upstream {number}"));
        match chance.below(100) {
            // Both answers stop the adapter for a long time. So hosts on which honest buyers depend
            // do not give them.
            96..98 if may_hold => too_many(None),
            98..100 if may_hold => Reply::json(402, r#"{"error":"the plan is used up"}"#),
            0..2 => Reply::json(500, r#"{"error":"internal"}"#),
            2..3 => Reply::json(503, "<html>"),
            3..4 => too_many(Some("1")),
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

/// Makes a lie of the aggregator's answer about a swap or an approval: another router or spender, a
/// ruinous price, other calldata, or a worthless token.
fn falsified(body: &Bytes, chance: &mut Chance) -> Bytes {
    let Ok(mut answer) = serde_json::from_slice::<Value>(body) else {
        return body.clone();
    };
    let thief = THIEF.to_string();
    let Some(row) = answer.pointer_mut("/data/0") else {
        return body.clone();
    };
    if let Some(spender) = row.get_mut("dexContractAddress") {
        *spender = thief.clone().into();
        return answer.to_string().into();
    }
    let ruinous = chance.below(40).saturating_add(2);
    let stolen = format!("0xa9059cbb{:0>64}{:064x}", hex::encode(THIEF), 1_000_000);
    let (pointer, lie): (_, Value) = match chance.below(5) {
        0 => ("/tx/to", thief.into()),
        1 => ("/routerResult/toToken/isHoneyPot", true.into()),
        2 => ("/tx/data", stolen.into()),
        3 => return divided(answer, ruinous, true),
        _ => return divided(answer, ruinous, false),
    };
    if let Some(member) = row.pointer_mut(pointer) {
        *member = lie;
    }
    answer.to_string().into()
}

/// Makes a quote this many times worse: in its amounts and its calldata, or in the calldata alone.
fn divided(mut answer: Value, by: u64, openly: bool) -> Bytes {
    let number =
        |answer: &Value, pointer: &str| answer.pointer(pointer)?.as_str()?.parse::<u128>().ok();
    let (out, least) = (
        "/data/0/routerResult/toTokenAmount",
        "/data/0/tx/minReceiveAmount",
    );
    let data = "/data/0/tx/data";
    let (Some(promised), Some(minimum), Some(call)) = (
        number(&answer, out),
        number(&answer, least),
        answer.pointer(data).and_then(Value::as_str),
    ) else {
        return answer.to_string().into();
    };
    let by = u128::from(by);
    let call = call
        .replace(
            &format!("{minimum:064x}"),
            &format!("{:064x}", minimum / by),
        )
        .replace(
            &format!("{promised:040x}"),
            &format!("{:040x}", promised / by),
        );
    let mut lies = vec![(data, call)];
    if openly {
        lies.push((out, (promised / by).to_string()));
        lies.push((least, (minimum / by).to_string()));
    }
    for (pointer, lie) in lies {
        if let Some(member) = answer.pointer_mut(pointer) {
            *member = lie.into();
        }
    }
    answer.to_string().into()
}

/// Removes all citations from the answer of a model, so that the server does not sell it.
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

/// Makes the fee of a recorded quote go to our payee.
fn paid_to_us(body: Bytes) -> Bytes {
    let (recorded, ours) = (hex::encode(RECORDED_RECIPIENT), hex::encode(PAYEE));
    match std::str::from_utf8(&body) {
        Ok(text) if text.contains(&recorded) => text.replace(&recorded, &ours).into(),
        _ => body,
    }
}

/// Makes the answer "too many requests", with or without a time to wait.
fn too_many(retry_after: Option<&'static str>) -> Reply {
    let soon = retry_after.map(|after| (header::RETRY_AFTER, HeaderValue::from_static(after)));
    Reply::Whole {
        status: 429,
        headers: HeaderMap::from_iter(soon),
        body: Bytes::from_static(b"{}"),
    }
}

/// Returns the weight of a call. It is 1, except at Hyperliquid, which counts by the type of the
/// request. There it is the least possible weight.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn too_many_requests_come_with_and_without_a_time() {
        for after in [None, Some("1")] {
            let Reply::Whole {
                status, headers, ..
            } = too_many(after)
            else {
                panic!("an answer")
            };
            let told = headers.get(header::RETRY_AFTER);
            assert_eq!(status, 429);
            assert_eq!(told.map(|told| told.to_str().unwrap()), after);
        }
    }

    #[test]
    fn a_lie_about_a_quote_is_another_quote() {
        let quote = json!({"data": [{
            "routerResult": {"toTokenAmount": "1000", "toToken": {"isHoneyPot": false}},
            "tx": {"to": "0x7c5b", "minReceiveAmount": "990", "data": format!("0xf2c42696{:064x}", 990)},
        }]});
        let approval = json!({"data": [{"dexContractAddress": "0x8b77", "data": "0x095ea7b3"}]});
        let mut lies = std::collections::BTreeSet::new();
        let mut chance = Chance::of(1, "lies");
        for honest in [quote, approval] {
            let honest = Bytes::from(honest.to_string());
            for _ in 0..100 {
                let lie = falsified(&honest, &mut chance);
                assert_ne!(lie, honest);
                lies.insert(lie);
            }
        }
        assert!(lies.len() > 5);
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
