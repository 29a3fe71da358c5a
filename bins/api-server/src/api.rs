//! The handler of the paid API: the order in which a request is decided.
//!
//! The head of a request decides first: the host, the path, and whether it carries a payment. Only
//! a call with a payment has its body read. [`PaymentProcessor`] decides everything about the
//! payment.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::B256;
use bytes::Bytes;
use data_sources::Clock;
use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Request};
use http_edge::{
    ClientAddress, Draining, Handler, Hosts, OnWritten, PROBES, RequestBody, RequestId, read_body,
};
use ledger::{Journal, PaidAnswer, RequestBinding};
use route_catalog::{
    Allow, Catalog, ErrorCode, FREE_ROUTES, Operation, Problem, Resolution, resolve,
};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use server_process::count_answer;
use settlement::Settler;
use x402_wire::PaymentPayload;

use crate::Sources;
use crate::answer::Warning;
use crate::artifacts;
use crate::call::Call;
use crate::challenge::Challenger;
use crate::config::ServerSection;
use crate::cors::{READ, Readers, preflight, read_options};
use crate::delegation::{self, Endpoints};
use crate::free::Free;
use crate::observe::Challenges;
use crate::operations;
use crate::operations::begun_mandate;
use crate::payment::{
    self, Declined, Ended, PAYMENTS_PREFIX, PaidCall, PaymentProcessor, Worker, answer_look_up,
    deliver, read_payment,
};
use crate::reply::{ErrorReply, Reply, body_refused};
use crate::wallets::{INTENTS_PREFIX, answer_intent, begun_intent};

/// The paid API over a settler and a journal.
pub(crate) struct Api<S, J> {
    challenger: Challenger,
    /// The binding of a request without query and body, which never changes, by operation.
    plain: HashMap<Operation, RequestBinding>,
    processor: PaymentProcessor<S, J, Operations>,
    sources: Arc<Sources>,
    free: Free,
    delegations: Option<Endpoints>,
    challenges: Challenges,
    readers: Readers,
    hosts: Hosts,
    max_body_bytes: usize,
    body_timeout: Duration,
}

impl<S: Settler, J: Journal> Api<S, J> {
    /// Composes the API from its parts.
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        processor: PaymentProcessor<S, J, Operations>,
        sources: Arc<Sources>,
        server: &ServerSection,
        draining: Draining,
        clock: &dyn Clock,
    ) -> Self {
        let mut free = Free::new(catalog.clone(), draining, clock);
        if let Some(mandates) = sources.mandates() {
            free.dependencies().on_mandates(mandates.clone());
        }
        Self {
            free,
            challenger: Challenger::new(catalog),
            plain: Operation::ALL
                .iter()
                .map(|operation| (*operation, binding(*operation, None, b"")))
                .collect(),
            processor,
            sources,
            delegations: None,
            challenges: Challenges::new(),
            readers: Readers::new(server),
            hosts: hosts(server),
            max_body_bytes: server.max_body_bytes,
            body_timeout: Duration::from_secs(server.body_timeout_seconds),
        }
    }

    /// Also serves the delegations.
    pub(crate) fn serve_delegations(&mut self, endpoints: Endpoints) {
        self.free.dependencies().on_fence(endpoints.store());
        self.delegations = Some(endpoints);
    }

    /// The largest body in bytes, and how long it may take to arrive.
    pub(crate) fn body_bounds(&self) -> (usize, Duration) {
        (self.max_body_bytes, self.body_timeout)
    }

    /// Makes the decisions that need only the head of a request. Nearly every unpaid call ends
    /// here.
    fn dispatch(
        self: Arc<Self>,
        id: RequestId,
        client: ClientAddress,
        request: Request<RequestBody>,
    ) -> Dispatched {
        let is_probe = PROBES.contains(&request.uri().path());
        if !is_probe && !self.hosts.serve(request.uri(), request.headers()) {
            let message = "the Host header names a host that this server does not serve";
            let refusal = ErrorReply::new(ErrorCode::NotFound, message);
            return Dispatched::Answered(refusal.into_reply(id));
        }
        let (headers, uri) = (request.headers(), request.uri());
        let reply = match resolve(request.method().as_str(), uri.path()) {
            Resolution::Found { operation, head } if head || !has_payment(headers) => {
                self.challenges.count(operation);
                self.unpaid(operation, headers, uri.query(), head, id)
            }
            Resolution::Found { operation, .. } => match read_payment(headers) {
                Err(declined) => {
                    let ended = Ended::Refused(declined.into());
                    deliver(ended, &self.challenger, operation, uri.query(), id)
                }
                Ok(payload) => {
                    let paid = self.paid(operation, request, payload, id, client);
                    return Dispatched::Waiting(Box::pin(paid));
                }
            },
            Resolution::Options(allow) => preflight(allow),
            Resolution::MethodNotAllowed(allow) => method_not_allowed(request.method(), allow, id),
            Resolution::NotFound if uri.path().starts_with(delegation::PREFIX) => {
                return Dispatched::Waiting(Box::pin(async move {
                    let reply = match &self.delegations {
                        Some(endpoints) => endpoints.answer(request, id, client).await,
                        None => delegation::not_served(id),
                    };
                    count_answer(reply.status().as_u16());
                    reply
                }));
            }
            Resolution::NotFound => {
                let (parts, _body) = request.into_parts();
                return Dispatched::Waiting(Box::pin(async move {
                    let reply = self.free(&parts, id).await;
                    count_answer(reply.status().as_u16());
                    reply
                }));
            }
        };
        Dispatched::Answered(reply)
    }

    /// Answers the free paths: the states of payments and of intents, artifacts, and the endpoints
    /// of [`Free`].
    async fn free(&self, parts: &Parts, id: RequestId) -> Reply {
        let path = parts.uri.path();
        let store = self.sources.store();
        let store = store.filter(|_| path.starts_with(artifacts::PREFIX));
        let is_look_up = path.starts_with(PAYMENTS_PREFIX);
        let is_intent = path.starts_with(INTENTS_PREFIX);
        let is_endpoint = FREE_ROUTES.iter().any(|route| route.path == path);
        if !is_look_up && !is_intent && !is_endpoint && store.is_none() {
            return ErrorReply::new(ErrorCode::NotFound, "there is no such route")
                .detail("reason", "unknown_route")
                .into_reply(id);
        }
        match parts.method {
            Method::GET | Method::HEAD => {}
            Method::OPTIONS => return read_options(),
            _ => return only_read(&parts.method, id),
        }
        match store {
            Some(store) => artifacts::answer(parts, store.as_ref(), self.sources.now(), id).await,
            None if is_intent => {
                answer_intent(parts, self.sources.wallets.actions.as_ref(), id).await
            }
            None if is_look_up => answer_look_up(parts, &self.processor, id).await,
            None => {
                let free = self.free.answer(parts, &self.processor, &self.sources);
                free.await
            }
        }
    }

    fn unpaid(
        &self,
        operation: Operation,
        headers: &HeaderMap,
        query: Option<&str>,
        head: bool,
        id: RequestId,
    ) -> Reply {
        let declined = match read_payment(headers) {
            Err(declined) if !head => declined,
            _ => Declined::unpaid(),
        };
        self.challenger.reply(operation, query, &declined, id)
    }

    /// Reads the body, hands the call to the processor and renders its result.
    fn paid(
        self: Arc<Self>,
        operation: Operation,
        request: Request<RequestBody>,
        payload: PaymentPayload,
        id: RequestId,
        client: ClientAddress,
    ) -> impl Future<Output = Reply> + Send + 'static {
        let (parts, body) = request.into_parts();
        let (query, max_age) = (
            parts.uri.query().map(str::to_owned),
            max_age(&parts.headers),
        );
        let is_json = declares_json(&parts.headers);
        drop(parts);
        async move {
            let body = match self.body(operation, body, is_json).await {
                Ok(body) => body,
                Err(refusal) => return refusal.into_reply(id),
            };
            let binding = self.binding(operation, query.as_deref(), &body);
            let request = payment::Request {
                id,
                operation,
                query: query.clone(),
                body,
                max_age,
                client: Some(client.ip()),
                binding,
            };
            let is_identified = payload.payment_id().is_some();
            let call = PaidCall::new(request, &payload);
            let ended = self.processor.process(call, payload).await;
            // With an identifier, a purchase does not depend on its delivery. Who sends a settled
            // payment again need not be its payer: its header is on the chain.
            let bought = match &ended {
                Ended::Delivered(delivered)
                    if !is_identified && (!delivered.again || delivered.stored.is_repetition) =>
                {
                    Some(delivered.stored.entry)
                }
                _ => None,
            };
            let mut reply = deliver(ended, &self.challenger, operation, query.as_deref(), id);
            if let Some(entry) = bought {
                let notice = OnWritten::new(move || self.processor.delivered(entry));
                reply.extensions_mut().insert(notice);
            }
            reply
        }
    }

    /// The binding that a payment for this request carries.
    fn binding(&self, operation: Operation, query: Option<&str>, body: &Bytes) -> RequestBinding {
        let plain = self.plain.get(&operation);
        plain
            .filter(|_| query.is_none() && body.is_empty())
            .cloned()
            .unwrap_or_else(|| binding(operation, query, body))
    }

    /// Reads the body of a route that takes one. A body that neither claims to be JSON nor is JSON
    /// is refused here; the parameters of any other one are judged later.
    async fn body(
        &self,
        operation: Operation,
        body: RequestBody,
        is_json: bool,
    ) -> Result<Bytes, ErrorReply> {
        if !operation.route().takes_body() {
            return Ok(Bytes::new());
        }
        let reading = Box::pin(read_body(body, self.max_body_bytes, self.body_timeout));
        let body = reading.await.map_err(|error| body_refused(&error))?;
        if !is_json && serde_json::from_slice::<IgnoredAny>(&body).is_err() {
            let message = "expected a JSON body with Content-Type: application/json";
            return Err(ErrorReply::new(ErrorCode::UnsupportedMediaType, message));
        }
        Ok(body)
    }
}

/// The hosts that are served: all of them unless the configuration names some.
fn hosts(server: &ServerSection) -> Hosts {
    let listed = server.hosts();
    if listed.is_empty() {
        return Hosts::any();
    }
    Hosts::listed(listed.iter().map(String::as_str))
}

/// The work behind paid operations, over the sources of a configuration.
pub(crate) struct Operations(Arc<Sources>);

impl Operations {
    pub(crate) fn over(sources: Arc<Sources>) -> Self {
        Self(sources)
    }
}

impl Worker for Operations {
    async fn answer(&self, call: &Call, _request: B256) -> Result<PaidAnswer, ErrorReply> {
        let sources = &self.0;
        let mut answered = operations::answer(sources, call).await?;
        if call.is_beside_undecidable {
            answered.warnings.push(both_may_be_charged());
        }
        Ok(answered.at(call, sources.now()))
    }

    async fn has_begun(&self, payment: B256) -> bool {
        let begun = async {
            if let Some(actions) = &self.0.wallets.actions {
                let intent = actions.of_payment(payment).await;
                let intent = intent.map_err(|error| error.code())?;
                if intent.is_some_and(|intent| intent.may_have_effect()) {
                    return Ok(true);
                }
            }
            match self.0.mandates() {
                Some(mandates) => {
                    let active = mandates.is_active(payment).await;
                    active.map_err(|error| error.code())
                }
                None => Ok(false),
            }
        };
        begun.await.unwrap_or_else(|code| {
            tracing::error!(code, "what a payment has begun cannot be read");
            true
        })
    }

    async fn began(&self, payment: B256) -> Option<Map<String, Value>> {
        let begun = async {
            if let Some(actions) = &self.0.wallets.actions {
                let intent = actions.of_payment(payment).await;
                if let Some(intent) = intent.map_err(|error| error.code())? {
                    return Ok(Some(begun_intent(&intent)));
                }
            }
            match self.0.mandates() {
                Some(mandates) => {
                    let kept = mandates.of_payment(payment).await;
                    let kept = kept.map_err(|error| error.code())?;
                    Ok(kept.map(|kept| begun_mandate(&kept, mandates.now())))
                }
                None => Ok(None),
            }
        };
        begun.await.unwrap_or_else(|code: &'static str| {
            tracing::error!(code, "what a payment has begun cannot be read");
            None
        })
    }
}

fn both_may_be_charged() -> Warning {
    Warning {
        code: "both_may_be_charged",
        message: "your earlier payment for this request has an outcome that only the operator can find out: both may be \
                  charged"
            .to_owned(),
    }
}

/// A request that is answered already, or one that still has to wait for something.
///
/// A future is as large as its largest state. The waiting futures are boxed one by one, so a
/// request that is answered from its head allocates none of them.
enum Dispatched {
    Answered(Reply),
    Waiting(Pin<Box<dyn Future<Output = Reply> + Send>>),
}

impl<S: Settler, J: Journal> Handler for Api<S, J> {
    fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        id: RequestId,
        client: ClientAddress,
    ) -> impl Future<Output = Reply> + Send + 'static {
        let origin = request.headers().get(header::ORIGIN).cloned();
        let dispatched = Arc::clone(&self).dispatch(id, client, request);
        async move {
            let mut reply = match dispatched {
                Dispatched::Answered(reply) => reply,
                Dispatched::Waiting(answering) => answering.await,
            };
            self.readers.allow(origin, reply.headers_mut());
            reply
        }
    }
}

fn binding(operation: Operation, query: Option<&str>, body: &[u8]) -> RequestBinding {
    let route = operation.route();
    RequestBinding::new(route.method.as_str(), route.path, query, body)
}

fn has_payment(headers: &HeaderMap) -> bool {
    headers.contains_key(x402_wire::header::PAYMENT_SIGNATURE)
}

/// Whether the body is declared as JSON, or as nothing.
fn declares_json(headers: &HeaderMap) -> bool {
    let Some(declared) = headers.get(header::CONTENT_TYPE) else {
        return true;
    };
    let essence = declared.to_str().unwrap_or_default().split(';').next();
    let essence = essence.unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "application/json" | "text/json") || essence.ends_with("+json")
}

fn max_age(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("x-max-age") else {
        return Ok(None);
    };
    route_catalog::read_max_age(value.to_str().unwrap_or_default()).map(Some)
}

/// The answer to any other method on a free path.
fn only_read(observed: &Method, id: RequestId) -> Reply {
    let message = format!("expected GET or HEAD, observed {observed}; nothing was executed");
    ErrorReply::new(ErrorCode::MethodNotAllowed, message)
        .detail("expected", vec!["GET", "HEAD"])
        .header(header::ALLOW, READ)
        .into_reply(id)
}

fn method_not_allowed(observed: &Method, allow: Allow, id: RequestId) -> Reply {
    let expected: Vec<&str> = allow
        .methods()
        .iter()
        .map(|method| method.as_str())
        .collect();
    let message = format!(
        "expected {}, observed {observed}; nothing was executed",
        expected.join(" or ")
    );
    ErrorReply::new(ErrorCode::MethodNotAllowed, message)
        .detail("expected", expected)
        .header(header::ALLOW, HeaderValue::from_static(allow.header()))
        .into_reply(id)
}
