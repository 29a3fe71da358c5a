//! The handler of the paid API: what is decided about a request, in order.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::hex;
use bytes::Bytes;
use data_sources::Clock;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Request, StatusCode};
use http_edge::{BodyError, Handler, RequestId, read_body};
use hyper::body::Incoming;
use ledger::{Journal, RequestBinding, StoredAnswer};
use route_catalog::{Allow, Catalog, ErrorCode, Operation, Problem, Resolution, resolve};
use settlement::Settler;
use x402_wire::{Payment, Reason};

use crate::Sources;
use crate::artifacts;
use crate::call::Call;
use crate::challenge::Challenger;
use crate::config::ServerSection;
use crate::free::Free;
use crate::observe::{self, Challenges};
use crate::operations;
use crate::paid::{Declined, Outcome, Till, Work, admit};
use crate::reply::{
    ErrorReply, PAYMENT_RESPONSE, REQUEST_ID, RESPONSE_DIGEST, Reply, header_value,
    own_header_value,
};
use crate::resource;

/// The paid API over a settler and a journal.
pub struct Api<S, J> {
    catalog: Arc<Catalog>,
    challenger: Challenger,
    /// What a request without query and body is bound to, by operation: always the same.
    plain: HashMap<Operation, RequestBinding>,
    till: Till<S, J>,
    sources: Arc<Sources>,
    free: Free,
    challenges: Challenges,
    origins: Origins,
    hosts: Vec<String>,
    max_body_bytes: usize,
    body_timeout: Duration,
}

impl<S: Settler, J: Journal> Api<S, J> {
    /// The API with these parts.
    pub fn new(
        catalog: Arc<Catalog>,
        till: Till<S, J>,
        sources: Arc<Sources>,
        server: &ServerSection,
        clock: &dyn Clock,
    ) -> Self {
        Self {
            free: Free::new(catalog.clone(), clock),
            challenger: Challenger::new(catalog.clone()),
            plain: Operation::ALL
                .iter()
                .map(|operation| (*operation, binding(*operation, None, b"")))
                .collect(),
            catalog,
            till,
            sources,
            challenges: Challenges::new(),
            origins: Origins::new(server.allowed_origins.as_deref()),
            hosts: server
                .allowed_hosts
                .iter()
                .map(|host| host.to_ascii_lowercase())
                .collect(),
            max_body_bytes: server.max_body_bytes,
            body_timeout: Duration::from_secs(server.body_timeout_seconds),
        }
    }

    /// Decides what can be decided from the head alone: nearly every unpaid call ends here.
    fn dispatch(self: Arc<Self>, id: RequestId, request: Request<Incoming>) -> Dispatched {
        let (parts, body) = request.into_parts();
        if !self.is_our_host(&parts) {
            let message = "the Host header names a host that is not served here";
            let refusal = ErrorReply::new(ErrorCode::NotFound, message);
            return Dispatched::Answered(refusal.into_reply(id));
        }
        let reply = match resolve(parts.method.as_str(), parts.uri.path()) {
            Resolution::Found { operation, head } if head || !has_payment(&parts.headers) => {
                self.challenges.count(operation);
                self.unpaid(operation, &parts, head, id)
            }
            Resolution::Found { operation, .. } => match self.admit(operation, &parts) {
                Err(declined) => self.declined(operation, parts.uri.query(), &declined, id),
                Ok(payment) => {
                    let paid = self.paid(operation, parts, body, payment, id);
                    return Dispatched::Waiting(Box::pin(paid));
                }
            },
            Resolution::Options(allow) => preflight(allow),
            Resolution::MethodNotAllowed(allow) => method_not_allowed(&parts.method, allow, id),
            Resolution::NotFound => {
                return Dispatched::Waiting(Box::pin(async move {
                    let reply = self.free(&parts, id).await;
                    observe::free_answer(reply.status().as_u16());
                    reply
                }));
            }
        };
        Dispatched::Answered(reply)
    }

    /// What costs nothing: artifacts, and the endpoints of [`Free`].
    async fn free(&self, parts: &Parts, id: RequestId) -> Reply {
        match self.sources.shelf() {
            Some(shelf) if parts.uri.path().starts_with(artifacts::PREFIX) => {
                artifacts::answer(parts, shelf.as_ref(), self.sources.now(), id).await
            }
            _ => {
                let free = self.free.answer(parts, &self.till, &self.sources, id);
                free.await
            }
        }
    }

    fn unpaid(&self, operation: Operation, parts: &Parts, head: bool, id: RequestId) -> Reply {
        let declined = if head || !parts.headers.contains_key(x402_wire::header::X_PAYMENT) {
            Declined::unpaid()
        } else {
            Declined::new(
                Reason::UnsupportedX402V1,
                "X-PAYMENT is the header of x402 v1; pay with x402 v2 in PAYMENT-SIGNATURE",
            )
        };
        self.challenger
            .reply(operation, parts.uri.query(), &declined, id)
    }

    /// What can be said of a payment from the request's head alone.
    fn admit(&self, operation: Operation, parts: &Parts) -> Result<Payment, Declined> {
        let payment = admit(&parts.headers, self.catalog.offer(operation))?;
        if let Some(paid_for) = payment.payload().resource() {
            let requested = self.catalog.resource_url(operation, parts.uri.query());
            if !resource::is_same(&paid_for.url, &requested) {
                return Err(Declined::new(
                    Reason::ResourceMismatch,
                    format!(
                        "resource.url: the payment was made for another request than {requested}"
                    ),
                ));
            }
        }
        Ok(payment)
    }

    fn declined(
        &self,
        operation: Operation,
        query: Option<&str>,
        declined: &Declined,
        id: RequestId,
    ) -> Reply {
        observe::declined(&declined.reason);
        // Anybody can send these by the million; they are counted, and logged only on request.
        tracing::debug!(request_id = %id, operation = operation.name(), reason = %declined.reason, "payment declined");
        self.challenger.reply(operation, query, declined, id)
    }

    fn paid(
        self: Arc<Self>,
        operation: Operation,
        parts: Parts,
        body: Incoming,
        payment: Payment,
        id: RequestId,
    ) -> impl Future<Output = Reply> + Send + 'static {
        let started = Instant::now();
        let head = Head::of(&parts);
        drop(parts);
        async move {
            let ordered = self.body(operation, body).await;
            let ordered =
                ordered.and_then(|body| self.order(operation, &head, &body, &payment, id));
            let outcome = match ordered {
                Ok((binding, work)) => self.till.take(payment, binding, work).await,
                Err(refusal) => Outcome::Refused(refusal),
            };
            let name = outcome.name();
            observe::paid_call(operation, name, started.elapsed());
            tracing::info!(
                request_id = %id,
                operation = operation.name(),
                outcome = name,
                milliseconds = started.elapsed().as_millis(),
                "paid call"
            );
            match outcome {
                Outcome::Declined(declined) => {
                    self.declined(operation, head.query.as_deref(), &declined, id)
                }
                Outcome::Refused(error) => error.into_reply(id),
                Outcome::Served { stored, again } => served(stored, again),
            }
        }
    }

    async fn body(&self, operation: Operation, body: Incoming) -> Result<Bytes, ErrorReply> {
        if !operation.route().takes_body() {
            return Ok(Bytes::new());
        }
        let reading = Box::pin(read_body(body, self.max_body_bytes, self.body_timeout));
        reading.await.map_err(|error| body_refused(&error))
    }

    /// The request that a payment is bound to, and the work that it pays for.
    fn order(
        &self,
        operation: Operation,
        head: &Head,
        body: &Bytes,
        payment: &Payment,
        id: RequestId,
    ) -> Result<(RequestBinding, Work), ErrorReply> {
        let query = head.query.as_deref();
        let route = operation.route();
        let max_age = head
            .max_age
            .clone()
            .map_err(|problem| invalid_parameters(&[problem]))?;
        let parameters = route
            .parse(query, body)
            .map_err(|problems| invalid_parameters(&problems))?;
        let plain = self.plain.get(&operation);
        let request = plain
            .filter(|_| query.is_none() && body.is_empty())
            .cloned()
            .unwrap_or_else(|| binding(operation, query, body));
        let asked = request.digest();
        let payload = payment.payload();
        let binding = request.for_payment(payload.signature().as_str(), payload.payment_id());
        let call = Call {
            operation,
            parameters,
            payer: payment.payer(),
            request_id: id,
            max_age,
        };
        let sources = self.sources.clone();
        let work = async move {
            let answered = operations::answer(&sources, &call).await?;
            Ok(answered.at(&call, sources.now(), sources.beginnings.of(asked)))
        };
        let work = Work {
            budget_seconds: route.work_seconds,
            answer: Box::pin(work),
        };
        Ok((binding, work))
    }

    fn is_our_host(&self, parts: &Parts) -> bool {
        if self.hosts.is_empty() {
            return true;
        }
        let host = parts
            .headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        host.is_some_and(|host| self.hosts.contains(&host.to_ascii_lowercase()))
    }
}

/// What a paid call needs of its request's head.
struct Head {
    query: Option<String>,
    max_age: Result<Option<u64>, Problem>,
}

impl Head {
    fn of(parts: &Parts) -> Self {
        Self {
            query: parts.uri.query().map(str::to_owned),
            max_age: max_age(&parts.headers),
        }
    }
}

/// A request that is answered, or that something has to be awaited for.
///
/// A future stays as large as its largest moment. So the ones that have to wait are on the heap by themselves, made where
/// they begin, and a request that is answered from its head carries none of them.
enum Dispatched {
    Answered(Reply),
    Waiting(Pin<Box<dyn Future<Output = Reply> + Send>>),
}

impl<S: Settler, J: Journal> Handler for Api<S, J> {
    fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
        id: RequestId,
    ) -> impl Future<Output = Reply> + Send + 'static {
        let origin = request.headers().get(header::ORIGIN).cloned();
        let dispatched = Arc::clone(&self).dispatch(id, request);
        async move {
            let mut reply = match dispatched {
                Dispatched::Answered(reply) => reply,
                Dispatched::Waiting(answering) => answering.await,
            };
            let headers = reply.headers_mut();
            headers.insert(REQUEST_ID, own_header_value(id.text()));
            self.origins.allow(origin, headers);
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

fn max_age(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("x-max-age") else {
        return Ok(None);
    };
    route_catalog::read_max_age(value.to_str().unwrap_or_default()).map(Some)
}

fn invalid_parameters(problems: &[Problem]) -> ErrorReply {
    let problems = serde_json::to_value(problems).unwrap_or_default();
    let message = "the parameters are not valid; the payment was not used";
    ErrorReply::new(ErrorCode::InvalidParams, message).detail("problems", problems)
}

fn served(stored: StoredAnswer, again: bool) -> Reply {
    let StoredAnswer {
        answer, receipt, ..
    } = stored;
    let status = StatusCode::from_u16(answer.status()).unwrap_or(StatusCode::OK);
    let mut reply = crate::reply::json(status, Bytes::new());
    let headers = reply.headers_mut();
    for (name, value) in answer.headers() {
        if let Ok(name) = HeaderName::try_from(name.as_ref()) {
            headers.insert(name, header_value(value));
        }
    }
    headers.insert(PAYMENT_RESPONSE, own_header_value(receipt.header));
    headers.insert(
        RESPONSE_DIGEST,
        own_header_value(hex::encode_prefixed(answer.body_digest())),
    );
    if again {
        headers.insert("x-served-again", HeaderValue::from_static("true"));
    }
    *reply.body_mut() = answer.into_body().into();
    reply
}

fn body_refused(error: &BodyError) -> ErrorReply {
    match error {
        BodyError::TooLarge { .. } => {
            ErrorReply::new(ErrorCode::PayloadTooLarge, error.to_string())
        }
        BodyError::TooSlow { .. } | BodyError::Broken => {
            ErrorReply::new(ErrorCode::InvalidParams, error.to_string()).retryable(true)
        }
    }
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

fn preflight(allow: Allow) -> Reply {
    let allow = allow.header();
    let mut reply = Reply::default();
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let headers = reply.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static(allow),
    );
    // Clients send `Access-Control-Expose-Headers` as a request header, so it has to be allowed as one.
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "PAYMENT-SIGNATURE, X-PAYMENT, Content-Type, X-Max-Age, Payment-Retry, Access-Control-Expose-Headers",
        ),
    );
    headers.insert(
        header::ACCESS_CONTROL_MAX_AGE,
        HeaderValue::from_static("86400"),
    );
    reply
}

/// Which browser pages may read answers.
enum Origins {
    Any,
    These(Vec<HeaderValue>),
}

impl Origins {
    /// All of them unless the configuration says otherwise: no answer depends on cookies.
    fn new(allowed: Option<&[String]>) -> Self {
        let Some(allowed) = allowed else {
            return Self::Any;
        };
        if allowed.iter().any(|origin| origin == "*") {
            return Self::Any;
        }
        Self::These(allowed.iter().map(|origin| header_value(origin)).collect())
    }

    fn allow(&self, origin: Option<HeaderValue>, headers: &mut HeaderMap) {
        let Some(origin) = origin else { return };
        let allowed = match self {
            Self::Any => HeaderValue::from_static("*"),
            Self::These(origins) if origins.contains(&origin) => origin,
            Self::These(_) => return,
        };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(
                "PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Response-Digest, X-Request-Id, X-Served-Again, Retry-After",
            ),
        );
    }
}
