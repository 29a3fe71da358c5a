//! A buyer that behaves like OKX's command line `onchainos` (4.4.10 of August 2026), like the
//! marketplace tasks of OKX.AI, and like the newer direct call of the same tool. It is written from
//! a description of their sources, and takes no code of the service that it buys from.
//!
//! Some of its habits cost money if a seller does not expect them. They are kept: it never sends a
//! payment a second time, it forgets the parameters of a quote, it reads no `Retry-After`, and it
//! echoes no extension.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloy_primitives::{B256, U256};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use ethers_core::k256::ecdsa::SigningKey;
use judges::Account;
use reqwest::{Client, Method, StatusCode, Url};
use serde_json::{Map, Value, json};
use x402_wire::{Asset, Authorization, Network};

use crate::ethers;

/// How long a quote waits for its answer.
const QUOTE: Duration = Duration::from_secs(10);
/// How long a marketplace check waits for its answer.
const CHECK: Duration = Duration::from_secs(15);
/// How long a paid request waits for its answer.
const PAY: Duration = Duration::from_secs(30);

/// Parameters as the person types them: `--param name=value`.
pub(crate) type Params<'a> = &'a [(&'a str, &'a str)];

pub(crate) struct OkxBuyer {
    http: Client,
    account: Account,
}

/// An answer of a seller.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    allow: Option<String>,
    challenge: Option<String>,
    receipt: Option<String>,
    pub(crate) body: String,
}

/// What a quote shows to the person.
#[derive(Debug)]
pub(crate) enum Quote {
    Paid(Card),
    Free,
    AuthRequired,
    /// The endpoint takes another method.
    OtherMethod,
    ServerError,
    /// Every other answer, a 400 included.
    Unreachable,
}

/// A payable quote.
#[derive(Debug, Clone)]
pub(crate) struct Card {
    url: Url,
    method: Method,
    challenge: Value,
    schema: Map<String, Value>,
    /// The required parameters that the person has not given yet.
    pub(crate) missing: BTreeSet<String>,
}

/// What a payment shows to the person.
#[derive(Debug)]
pub(crate) enum Paid {
    /// Any 2xx.
    Success {
        receipt: Option<Value>,
        body: String,
    },
    /// A 402. The model is told to fetch the challenge anew and to sign anew.
    Pending { body: String },
    /// Anything else, and a lost or late answer. The model may try once more, with a new nonce.
    Failed { status: Option<StatusCode> },
}

impl OkxBuyer {
    pub(crate) fn new(http: Client, account: Account) -> Self {
        Self { http, account }
    }

    /// `payment quote URL --method M --param …`.
    pub(crate) async fn quote(&self, method: &str, url: &str, params: Params<'_>) -> Quote {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let url = Url::parse(url).unwrap();
        let of_get = method == Method::GET;
        let carrier = |_: &str| if of_get { "query" } else { "body" };
        let answer = self.send(&method, &url, params, carrier, None, QUOTE).await;
        let Some(answer) = answer else {
            return Quote::Unreachable;
        };
        match answer.status.as_u16() {
            402 => {}
            200 => return Quote::Free,
            401 | 403 => return Quote::AuthRequired,
            405 => return Quote::OtherMethod,
            500.. => return Quote::ServerError,
            _ => return Quote::Unreachable,
        }
        let Some(challenge) = answer.any_challenge() else {
            return Quote::Unreachable;
        };
        let (schema, asked) = schema_of(&challenge)
            .or_else(|| schema_of(&answer.json()))
            .unwrap_or_default();
        let method = match asked {
            Some(asked) => Method::from_bytes(asked.as_bytes()).unwrap(),
            None => method,
        };
        // A field without `required` is optional in this generation.
        let required = schema
            .iter()
            .filter(|(_, field)| field["required"] == true)
            .map(|(name, _)| name.clone());
        let body = answer.json();
        let listed = body.get("missingParams").or_else(|| body.get("required"));
        let mut missing: BTreeSet<String> = required.chain(names(listed)).collect();
        missing.retain(|name| !params.iter().any(|(given, _)| given == name));
        Quote::Paid(Card {
            url,
            method,
            challenge,
            schema,
            missing,
        })
    }

    /// `payment pay --param …` with an option of a quote. Only these parameters are sent: those of
    /// the quote are forgotten.
    pub(crate) async fn pay(&self, card: &Card, option: &Value, params: Params<'_>) -> Paid {
        let proof = self.sign(option);
        let header = match card.challenge.get("resource") {
            Some(resource) => envelope(resource, option, proof),
            // Without a resource, the header has no envelope at all.
            None => proof["payload"].clone(),
        };
        let carrier = |name: &str| match card.schema.get(name).and_then(|it| it["carrier"].as_str())
        {
            Some("body") => "body",
            _ => "query",
        };
        let header = STANDARD.encode(header.to_string());
        let answer = self
            .send(&card.method, &card.url, params, carrier, Some(&header), PAY)
            .await;
        Paid::of(answer)
    }

    /// `agent x402-check`: the option of a token, if the seller's challenge is good for a task.
    pub(crate) async fn check(&self, url: &str, token: &str, listed: U256) -> Option<Value> {
        let url = Url::parse(url).unwrap();
        let answer = self
            .send(&Method::GET, &url, &[], |_| "query", None, CHECK)
            .await?;
        if answer.status != StatusCode::PAYMENT_REQUIRED {
            return None;
        }
        // This reader knows only the standard alphabet.
        let header = STANDARD.decode(answer.challenge.as_deref()?).ok()?;
        let challenge: Value = serde_json::from_slice(&header).ok()?;
        let entries = challenge["accepts"].as_array()?;
        let is_whole = |entry: &&Value| {
            ["asset", "payTo", "network", "amount"]
                .iter()
                .all(|name| entry[*name].is_string())
        };
        let mut of_token = entries
            .iter()
            .filter(is_whole)
            .filter(|entry| entry["asset"] == token);
        let first = of_token.next()?.clone();
        let exact = of_token.find(|entry| entry["scheme"] == "exact").cloned();
        let option = match first["scheme"] == "exact" {
            true => first,
            false => exact.unwrap_or(first),
        };
        let amount: U256 = option["amount"].as_str()?.parse().ok()?;
        (amount.abs_diff(listed) <= U256::ONE).then_some(option)
    }

    /// `agent task-402-pay`: a GET with a payment that names no resource.
    pub(crate) async fn pay_task(&self, url: &str, option: &Value) -> Paid {
        let url = Url::parse(url).unwrap();
        let header = envelope(&Value::Null, option, self.sign(option));
        let header = STANDARD.encode(header.to_string());
        let answer = self
            .send(&Method::GET, &url, &[], |_| "query", Some(&header), PAY)
            .await;
        Paid::of(answer)
    }

    /// The newer tool: the method that it uses when GET was only the default. `None` when it blocks
    /// the service.
    pub(crate) async fn verified_method(&self, url: &str) -> Option<Method> {
        let url = Url::parse(url).unwrap();
        let posted = self.send(&Method::POST, &url, &[], |_| "body", None, QUOTE);
        let posted = posted.await?;
        match posted.status.as_u16() {
            402 | 200..300 => Some(Method::POST),
            405 => {
                let allow = posted.allow?;
                let lists_post = allow.split(',').any(|method| method.trim() == "POST");
                (!lists_post).then_some(Method::GET)
            }
            _ => None,
        }
    }

    /// The newer tool: the parameters for which it asks the person after a request with `given`.
    pub(crate) async fn asked_for(&self, url: &str, given: Params<'_>) -> BTreeSet<String> {
        let url = Url::parse(url).unwrap();
        let answer = self
            .send(&Method::GET, &url, given, |_| "query", None, QUOTE)
            .await
            .unwrap();
        let body = answer.json();
        // Without `required`, a field is required in this generation. The values that were given
        // are taken off.
        let (schema, _) = schema_of(&body).unwrap_or_default();
        let kinds = ["string", "number", "integer", "boolean", "object", "array"];
        let mut asked: BTreeSet<String> = schema
            .iter()
            .inspect(|(name, field)| {
                let kind = field["type"].as_str().unwrap();
                assert!(kinds.contains(&kind), "the tool stops at `{name}`: {kind}");
            })
            .filter(|(_, field)| field["required"] != false)
            .map(|(name, _)| name.clone())
            .collect();
        asked.retain(|name| !given.iter().any(|(known, _)| known == name));
        // A name that is listed here is asked for again even when its value was sent.
        let listed = body.get("missingParams").or_else(|| body.get("required"));
        asked.extend(names(listed));
        asked
    }

    /// Signs an option, with a new nonce at every run.
    fn sign(&self, option: &Value) -> Value {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let is_deferred = option["scheme"] == "aggr_deferred";
        let lasts = option["maxTimeoutSeconds"].as_u64().unwrap_or(300);
        let authorization = Authorization {
            from: self.account.address,
            to: text(&option["payTo"]).parse().unwrap(),
            value: text(&option["amount"]).parse().unwrap(),
            valid_after: U256::ZERO,
            valid_before: match is_deferred {
                true => U256::MAX,
                false => U256::from(unix_now() + lasts),
            },
            nonce: B256::from(ethers_core::rand::random::<[u8; 32]>()),
        };
        let mut accepted = option.clone();
        let signature = if is_deferred {
            accepted["extra"]["sessionCert"] = json!("Y2VydGlmaWNhdGU=");
            // 64 bytes of a session key, which only the broker can judge.
            let session: [u8; 32] = ethers_core::rand::random();
            STANDARD.encode([session, session].concat())
        } else {
            let asset = Asset {
                address: text(&option["asset"]).parse().unwrap(),
                name: text(&option["extra"]["name"]),
                version: text(&option["extra"]["version"]),
            };
            let network = text(&option["network"]);
            let chain = network.strip_prefix("eip155:").unwrap().parse().unwrap();
            let typed = ethers::typed_data(&asset, Network::evm(chain), &authorization);
            let digest = ethers_core::types::transaction::eip712::Eip712::encode_eip712(&typed);
            let key: B256 = self.account.private_key.parse().unwrap();
            let key = SigningKey::from_slice(key.as_slice()).unwrap();
            let signature = ethers::sign(&key, B256::from(digest.unwrap()));
            alloy_primitives::hex::encode_prefixed(signature)
        };
        json!({
            "accepted": accepted,
            "payload": {"signature": signature, "authorization": authorization},
        })
    }

    /// Sends a request with each parameter at its place. `None`: no answer in time. A JSON body has
    /// every value as text.
    async fn send(
        &self,
        method: &Method,
        url: &Url,
        params: Params<'_>,
        carrier: impl Fn(&str) -> &'static str,
        payment: Option<&str>,
        limit: Duration,
    ) -> Option<Answer> {
        let mut url = url.clone();
        let mut body = BTreeMap::new();
        for (name, value) in params {
            match carrier(name) {
                "query" => {
                    url.query_pairs_mut().append_pair(name, value);
                }
                _ => {
                    body.insert(*name, *value);
                }
            }
        }
        let mut request = self.http.request(method.clone(), url).timeout(limit);
        if *method != Method::GET {
            request = request
                .header("content-type", "application/json")
                .body(json!(body).to_string());
        }
        if let Some(payment) = payment {
            request = request.header("PAYMENT-SIGNATURE", payment);
        }
        let response = request.send().await.ok()?;
        let header = |name: &str| {
            let value = response.headers().get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        Some(Answer {
            status: response.status(),
            allow: header("allow"),
            challenge: header("payment-required"),
            receipt: header("payment-response"),
            body: response.text().await.ok()?,
        })
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The challenge of the header in any of the forms that the tool decodes, else of the body. It
    /// has at least one entry of `accepts`.
    fn any_challenge(&self) -> Option<Value> {
        let challenge = match &self.challenge {
            Some(header) => {
                let decoded = STANDARD.decode(header).or_else(|_| URL_SAFE.decode(header));
                let bytes = decoded.unwrap_or_else(|_| header.clone().into_bytes());
                serde_json::from_slice(&bytes).ok()?
            }
            None => self.json(),
        };
        let is_payable = challenge["accepts"]
            .as_array()
            .is_some_and(|entries| !entries.is_empty());
        is_payable.then_some(challenge)
    }
}

impl Quote {
    #[track_caller]
    pub(crate) fn card(self) -> Card {
        match self {
            Self::Paid(card) => card,
            other => panic!("not payable: {other:?}"),
        }
    }
}

impl Card {
    /// The option that the card recommends to a wallet with a balance of every asset: the smallest
    /// amount, then the scheme, `aggr_deferred` first.
    pub(crate) fn recommended(&self) -> Value {
        self.first_by(&["aggr_deferred", "exact"])
    }

    /// The option that a signer without a card chooses: `exact` first.
    pub(crate) fn signers_choice(&self) -> Value {
        self.first_by(&["exact", "aggr_deferred"])
    }

    fn first_by(&self, schemes: &[&str]) -> Value {
        let entries = self.challenge["accepts"].as_array().unwrap();
        let rank = |entry: &&Value| {
            let amount: U256 = entry["amount"].as_str().unwrap().parse().unwrap();
            let scheme = schemes.iter().position(|scheme| entry["scheme"] == *scheme);
            (amount, scheme.unwrap_or(usize::MAX))
        };
        entries.iter().min_by_key(rank).unwrap().clone()
    }
}

impl Paid {
    fn of(answer: Option<Answer>) -> Self {
        let Some(answer) = answer else {
            return Self::Failed { status: None };
        };
        match answer.status.as_u16() {
            200..300 => Self::Success {
                receipt: answer
                    .receipt
                    .map(|it| serde_json::from_slice(&STANDARD.decode(it).unwrap()).unwrap()),
                body: answer.body,
            },
            402 => Self::Pending { body: answer.body },
            _ => Self::Failed {
                status: Some(answer.status),
            },
        }
    }

    #[track_caller]
    pub(crate) fn receipt(self) -> Value {
        match self {
            Self::Success {
                receipt: Some(receipt),
                body,
            } => {
                assert!(body.contains("\"data\""), "{body}");
                receipt
            }
            other => panic!("no receipt: {other:?}"),
        }
    }
}

fn envelope(resource: &Value, option: &Value, proof: Value) -> Value {
    assert_eq!(proof["accepted"]["asset"], option["asset"]);
    json!({
        "x402Version": 2,
        "resource": resource,
        "accepted": proof["accepted"],
        "payload": proof["payload"],
    })
}

/// The fields of a top-level `outputSchema`, and its method.
fn schema_of(json: &Value) -> Option<(Map<String, Value>, Option<String>)> {
    let schema = json.get("outputSchema")?;
    let fields = schema["input"].as_object()?.clone();
    Some((fields, schema["method"].as_str().map(str::to_owned)))
}

/// Names, or objects with a `name`.
fn names(listed: Option<&Value>) -> Vec<String> {
    let listed = listed.and_then(Value::as_array);
    listed
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.as_str().or_else(|| entry["name"].as_str()))
        .map(str::to_owned)
        .collect()
}

fn unix_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs()
}
