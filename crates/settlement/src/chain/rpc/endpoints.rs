//! The endpoints of the chain. Requests go to them in the operator's order. Endpoints that do not
//! answer, or are behind, come last for a while.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tx_sender::{NodeFault, RpcAnswer, RpcError};

use super::fault::RpcFault;
use crate::http::Http;
use crate::{Cause, Malformation, RemoteCall};

/// For how long an endpoint that did not answer, or is behind, comes last.
const REST: Duration = Duration::from_secs(10);

/// The shortest time before a question is asked again: of the next endpoint, or of the only one. A
/// slow endpoint gets four times the duration of its last answer.
const LEAST_PATIENCE: Duration = Duration::from_millis(500);

/// What a node answered: the result, before its type is known, or an error.
type Answer = Result<Box<RawValue>, RpcError>;

/// One endpoint.
pub(crate) struct Endpoint {
    http: Http,
    url: Url,
    timeout: Duration,
    confirmed: AtomicBool,
    health: Mutex<Health>,
}

#[derive(Debug, Clone, Copy)]
struct Health {
    rests_until: Option<Instant>,
    patience: Duration,
}

impl Endpoint {
    pub(super) fn new(http: Http, url: Url, timeout: Duration) -> Self {
        Self {
            http,
            url,
            timeout,
            confirmed: AtomicBool::new(false),
            health: Mutex::new(Health {
                rests_until: None,
                patience: LEAST_PATIENCE,
            }),
        }
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn rests(&self) -> bool {
        let until = self.health().rests_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Puts the endpoint last for a while.
    pub(super) fn rest(&self) {
        self.health().rests_until = Some(Instant::now() + REST);
    }

    /// Whether the endpoint is confirmed to serve the chain.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed.load(Ordering::Relaxed)
    }

    /// Records that the endpoint serves the chain.
    pub(crate) fn confirm(&self) {
        self.confirmed.store(true, Ordering::Relaxed);
    }

    /// Returns this endpoint alone, for questions to it and no other one.
    pub(super) fn alone(self: &Arc<Self>) -> InOrder {
        InOrder(Arc::new([Arc::clone(self)]))
    }

    async fn ask(&self, call: RemoteCall, body: Vec<u8>) -> Result<Answer, Cause> {
        let began = Instant::now();
        let answer = self.post(call, body).await;
        match &answer {
            Ok(_) => {
                let patience = began.elapsed().saturating_mul(4).max(LEAST_PATIENCE);
                let mut health = self.health();
                (health.rests_until, health.patience) = (None, patience);
            }
            Err(_) => self.rest(),
        }
        answer
    }

    async fn post(&self, call: RemoteCall, body: Vec<u8>) -> Result<Answer, Cause> {
        let (url, headers) = (self.url.clone(), HeaderMap::new());
        let reply = self.http.post(call, url, headers, body, self.timeout);
        let reply = reply.await?;
        match RpcAnswer::read(&reply.body) {
            // Some nodes send errors with an error status and a JSON-RPC body.
            Some(RpcAnswer {
                result: None,
                error: Some(Some(error)),
            }) => Ok(Err(error)),
            Some(RpcAnswer {
                result: Some(result),
                error: None,
            }) if reply.is_success() => Ok(Ok(result.to_owned())),
            _ if reply.is_success() => {
                let detail = Malformation::Json;
                Err(Cause::Malformed { call, detail })
            }
            _ => {
                let status = reply.status;
                Err(Cause::Status { call, status })
            }
        }
    }
}

/// A transaction is sent to each endpoint separately.
impl tx_sender::Transport for Endpoint {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        let (call, url) = (RemoteCall::Rpc(method), self.url.clone());
        let reply = self
            .http
            .post(call, url, HeaderMap::new(), body, self.timeout);
        Box::pin(async move {
            match reply.await {
                // Some nodes send errors with an error status and a JSON-RPC body. The body
                // decides.
                Ok(reply) => Ok(reply.body.to_vec()),
                Err(Cause::Unreachable { .. }) => Err(NodeFault::Unreachable),
                Err(_) => Err(NodeFault::Lost { method }),
            }
        })
    }
}

/// Reads from the first endpoint that answers. The answer of that endpoint is the result, even if
/// it is an error. When an endpoint does not answer soon, the next one is asked too. Only requests
/// that may be repeated go through it.
#[derive(Clone)]
pub(super) struct InOrder(pub(super) Arc<[Arc<Endpoint>]>);

impl InOrder {
    /// Asks for a result of this type.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<T, RpcFault> {
        let body = tx_sender::rpc_request(method, params);
        let answer = self.exchange(RemoteCall::Rpc(method), body).await;
        let refused = |error: RpcError| RpcFault::of(method, &error);
        let result = answer.map_err(RpcFault::Lost)?.map_err(refused)?;
        serde_json::from_str(result.get()).map_err(|_| {
            // Some nodes send errors as the result.
            RpcError::read(&result).map_or_else(|| RpcFault::malformed(method), refused)
        })
    }

    /// Returns the endpoints in the order of asking, with resting ones last. Endpoints that are not
    /// confirmed to serve the chain are left out, unless none is confirmed.
    fn order(&self) -> Vec<Arc<Endpoint>> {
        let mut order: Vec<_> = self.0.to_vec();
        if order.iter().any(|endpoint| endpoint.is_confirmed()) {
            order.retain(|endpoint| endpoint.is_confirmed());
        }
        order.sort_by_key(|endpoint| endpoint.rests());
        order
    }

    async fn exchange(&self, call: RemoteCall, body: Vec<u8>) -> Result<Answer, Cause> {
        let mut left = self.order();
        let alone = left.len() == 1;
        if alone {
            left.extend_from_within(..);
        }
        left.reverse();
        let (mut asked, mut failure) = (JoinSet::new(), None);
        let interrupted = || Cause::Interrupted { call };
        loop {
            // The only endpoint could not answer one of the two questions, and has not answered the
            // other. Waiting for its time limit would take too long: the caller may ask again
            // sooner.
            let gives_up = alone && left.is_empty() && failure.is_some();
            let patience = match left.pop() {
                Some(endpoint) => {
                    let (patience, body) = (endpoint.health().patience, body.clone());
                    asked.spawn(async move { endpoint.ask(call, body).await });
                    patience
                }
                None if gives_up => self.patience(),
                None => self.longest(),
            };
            match tokio::time::timeout(patience, asked.join_next()).await {
                Ok(Some(Ok(Ok(answer)))) => return Ok(answer),
                Ok(Some(Ok(Err(error)))) => {
                    // The only endpoint has said that it cannot serve the request, so it is not
                    // asked again.
                    if alone {
                        left.clear();
                    }
                    failure.get_or_insert(error);
                }
                Err(_) if gives_up => return Err(failure.unwrap_or_else(interrupted)),
                Ok(Some(Err(_)) | None) | Err(_) => {}
            }
            if left.is_empty() && asked.is_empty() {
                return Err(failure.unwrap_or_else(interrupted));
            }
        }
    }

    /// Returns the longest time that an endpoint usually takes.
    fn patience(&self) -> Duration {
        let all = self.0.iter().map(|endpoint| endpoint.health().patience);
        all.max().unwrap_or_default()
    }

    fn longest(&self) -> Duration {
        let timeouts = self.0.iter().map(|endpoint| endpoint.timeout);
        timeouts.max().unwrap_or_default()
    }
}

/// The methods that this crate calls.
pub(crate) const METHODS: [&str; 13] = [
    "eth_call",
    "eth_chainId",
    "eth_estimateGas",
    "eth_gasPrice",
    "eth_getBalance",
    "eth_getBlockByNumber",
    "eth_getCode",
    "eth_getLogs",
    "eth_getTransactionByHash",
    "eth_getTransactionCount",
    "eth_getTransactionReceipt",
    "eth_maxPriorityFeePerGas",
    "eth_sendRawTransaction",
];

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("confirmed", &self.is_confirmed())
            .finish_non_exhaustive()
    }
}
