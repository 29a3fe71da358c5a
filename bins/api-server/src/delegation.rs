//! `/delegation/…`: grants, revocations, limits, submissions. These endpoints are free. The
//! signatures in the bodies authorise the requests.

mod answers;
mod body;
mod limits;
mod open;
mod path;
mod pinned;
mod prices;
mod redeemer;
mod refused;
mod sending;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use data_sources::{Caller, Meter};
use delegation_fence::onchain::GrantFile;
use delegation_fence::{Revocation, Signed};
use fence_server::{DelegationError, Delegations, Store};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, StatusCode};
use http_edge::{ClientAddress, RequestBody, RequestId, read_body};
use route_catalog::ErrorCode;

pub(crate) use self::open::open;
pub(crate) use self::pinned::pinned;
pub(crate) use self::redeemer::level;
pub(crate) use self::sending::{Routes, chain_to_send_on, start};
use self::{
    limits::RateLimits,
    path::{Route, Unroutable},
    refused::Refused,
};
use crate::config::DelegationSection;
use crate::observe;
use crate::reply::{ErrorReply, NO_STORE, Reply, body_refused, header_value};

/// The path prefix of the endpoints.
pub(crate) const PREFIX: &str = "/delegation/";

/// The endpoints over this service's delegations.
pub(crate) struct Endpoints {
    delegations: Arc<Delegations>,
    limits: RateLimits,
    max_body_bytes: usize,
    body_timeout: Duration,
}

impl Endpoints {
    pub(crate) fn new(
        delegations: Arc<Delegations>,
        section: &DelegationSection,
        max_body_bytes: usize,
        body_timeout: Duration,
    ) -> Self {
        Self {
            delegations,
            limits: RateLimits::new(section),
            max_body_bytes,
            body_timeout,
        }
    }

    /// The store of the delegation records.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.delegations.store())
    }

    /// Answers a request below [`PREFIX`].
    pub(crate) async fn answer(
        &self,
        request: Request<RequestBody>,
        id: RequestId,
        client: ClientAddress,
    ) -> Reply {
        let (parts, body) = request.into_parts();
        let route = match path::read(parts.uri.path()) {
            Ok(route) => route,
            Err(Unroutable::Path) => return unknown_route(id),
            Err(Unroutable::Parts(problems)) => {
                return ErrorReply::new(ErrorCode::InvalidParams, "the path is not valid")
                    .detail("problems", problems)
                    .into_reply(id);
            }
        };
        match &parts.method {
            &Method::OPTIONS => return options(&route),
            method if !route.takes(method) => return wrong_method(&route, method, id),
            _ => {}
        }
        if let Err(seconds) = self.limits.take(client.ip(), route.writes()) {
            observe::delegation_answer(route.name(), "rate_limited");
            let message = "this address has used up its requests for this minute";
            return ErrorReply::new(ErrorCode::RateLimited, message)
                .retry_after(seconds)
                .into_reply(id);
        }
        let body = match route.writes() {
            false => Bytes::new(),
            true => match read_body(body, self.max_body_bytes, self.body_timeout).await {
                Ok(body) => body,
                Err(error) => return body_refused(&error).into_reply(id),
            },
        };
        let answered = self.answer_route(&route, parts.uri.query(), &parts.headers, &body);
        // Nobody has paid for the readings of a free call.
        let meter = Meter::new(Caller::Newcomer);
        match meter.scope(answered).await {
            Ok(mut reply) => {
                observe::delegation_answer(route.name(), "ok");
                let headers = reply.headers_mut();
                headers.entry(header::CACHE_CONTROL).or_insert(NO_STORE);
                reply
            }
            Err(refused) => {
                observe::delegation_answer(route.name(), refused.code());
                refused.into_reply(id)
            }
        }
    }

    async fn answer_route(
        &self,
        route: &Route,
        query: Option<&str>,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Reply, Refused> {
        let delegations = &self.delegations;
        match route {
            Route::Status => answers::status(&delegations.status().await),
            Route::Policy => {
                let policy = delegations.policy().await?;
                Ok(answers::policy(&policy, headers))
            }
            Route::Grants => {
                let file = GrantFile::parse(body::text(body)?).map_err(DelegationError::from)?;
                let received = delegations.receive_grant(file).await?;
                Ok(answers::granted(&received))
            }
            Route::Grant(account, grant_id) => {
                let state = delegations.grant_state(*account, *grant_id).await?;
                Ok(answers::grant_state(&state))
            }
            Route::Log(account, grant_id) => {
                let from = path::cursor(query)?;
                let (records, next) = delegations.log(*account, *grant_id, from).await?;
                Ok(answers::log(&records, next))
            }
            Route::Revocations => {
                let signed = Signed::parse(body::text(body)?).map_err(DelegationError::from)?;
                let revocation: &Revocation = signed.message();
                let of = (revocation.account, revocation.grant_id);
                let receipt = delegations.receive_revocation(signed).await?;
                // The revocation is recorded even if the chain cannot be read.
                let on_chain = delegations.on_chain(of.0, of.1).await.ok().flatten();
                Ok(answers::revoked(&receipt, on_chain.as_ref()))
            }
            Route::Limits => {
                let signed = Signed::parse(body::text(body)?).map_err(DelegationError::from)?;
                let limit: &delegation_fence::Limit = signed.message();
                let of = (limit.account, limit.grant_id);
                let (tightest, cap) = delegations.receive_limit(signed).await?;
                Ok(answers::limited(of, tightest, cap))
            }
            Route::Submissions => {
                let submitted = body::submission(body)?;
                if submitted.dry_run {
                    return match delegations.try_out(&submitted.ordered).await {
                        Ok(_) => Ok(answers::admitted()),
                        Err(DelegationError::Refused(refusal)) => Ok(answers::refused_by(&refusal)),
                        Err(error) => Err(error.into()),
                    };
                }
                let submitted = delegations.submit(&submitted.ordered).await?;
                answers::submitted(&submitted)
            }
            Route::Submission(payload_digest) => {
                match delegations.submission(*payload_digest).await {
                    Ok(kept) => answers::submission(&kept),
                    Err(DelegationError::NotReadBack) => Err(Refused::unknown_submission()),
                    Err(error) => Err(error.into()),
                }
            }
        }
    }
}

/// The answer below [`PREFIX`] when no delegation is configured.
pub(crate) fn not_served(id: RequestId) -> Reply {
    ErrorReply::new(ErrorCode::NotFound, "this server takes no delegations")
        .detail("reason", "no_delegation")
        .into_reply(id)
}

fn unknown_route(id: RequestId) -> Reply {
    ErrorReply::new(ErrorCode::NotFound, "there is no such route")
        .detail("reason", "unknown_route")
        .into_reply(id)
}

fn options(route: &Route) -> Reply {
    let allow = HeaderValue::from_static(route.allow());
    let mut reply = Reply::default();
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let headers = reply.headers_mut();
    headers.insert(header::ALLOW, allow.clone());
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, allow);
    let content_type = HeaderValue::from_static("Content-Type");
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, content_type);
    reply
}

fn wrong_method(route: &Route, observed: &Method, id: RequestId) -> Reply {
    let expected = if route.writes() {
        vec!["POST"]
    } else {
        vec!["GET", "HEAD"]
    };
    let message = format!(
        "expected {}, observed {observed}; nothing was executed",
        expected.join(" or ")
    );
    ErrorReply::new(ErrorCode::MethodNotAllowed, message)
        .detail("expected", expected)
        .header(header::ALLOW, header_value(route.allow()))
        .into_reply(id)
}
