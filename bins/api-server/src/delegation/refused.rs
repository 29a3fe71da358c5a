//! Renders refusals of the delegation endpoints.

use delegation_fence::{Class, Refusal};
use fence_server::DelegationError;
use http::StatusCode;
use http_edge::RequestId;
use route_catalog::ErrorCode;
use serde_json::{Map, Value};

use crate::reply::{self, ErrorReply, Reply};

/// A refusal that is not rendered yet.
#[derive(Debug)]
pub(super) struct Refused(Kind);

#[derive(Debug)]
enum Kind {
    Delegation(DelegationError),
    UnknownSubmission,
    Invalid(Vec<Value>),
}

impl From<DelegationError> for Refused {
    fn from(error: DelegationError) -> Self {
        Self(Kind::Delegation(error))
    }
}

impl Refused {
    pub(super) const fn unknown_submission() -> Self {
        Self(Kind::UnknownSubmission)
    }

    pub(super) const fn invalid(problems: Vec<Value>) -> Self {
        Self(Kind::Invalid(problems))
    }

    pub(super) fn code(&self) -> &'static str {
        match &self.0 {
            Kind::Delegation(error) => error.code(),
            Kind::UnknownSubmission => "submission_not_found",
            Kind::Invalid(_) => ErrorCode::InvalidParams.code(),
        }
    }

    pub(super) fn into_reply(self, id: RequestId) -> Reply {
        let code = self.code();
        match self.0 {
            Kind::Invalid(problems) => {
                ErrorReply::new(ErrorCode::InvalidParams, "the query is not valid")
                    .detail("problems", problems)
                    .into_reply(id)
            }
            Kind::UnknownSubmission => {
                let message = "no plan with this digest was accepted here";
                reply::named_error(StatusCode::NOT_FOUND, code, message, Map::new(), id)
            }
            Kind::Delegation(DelegationError::Refused(refusal)) => {
                let status = status(&refusal);
                reply::named_error(status, code, &refusal.message, details(&refusal), id)
            }
            Kind::Delegation(error) => {
                tracing::error!(code = error.code(), %error, "a request about a delegation could not be answered");
                let message =
                    "the records of delegations, custody, prices or the chain are unavailable now";
                let unavailable = StatusCode::SERVICE_UNAVAILABLE;
                reply::named_error(unavailable, code, message, Map::new(), id)
            }
        }
    }
}

fn status(refusal: &Refusal) -> StatusCode {
    match refusal.class() {
        Class::Malformed => StatusCode::UNPROCESSABLE_ENTITY,
        Class::Refused => StatusCode::FORBIDDEN,
        Class::NotFound => StatusCode::NOT_FOUND,
        Class::Conflict => StatusCode::CONFLICT,
        Class::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The expected and observed values of the rule that refuses, and for a plan the failed check.
fn details(refusal: &Refusal) -> Map<String, Value> {
    let mut details = Map::new();
    details.insert("expected".to_owned(), refusal.expected.clone().into());
    details.insert("observed".to_owned(), refusal.observed.clone().into());
    if let Some(check) = &refusal.check {
        details.insert("check".to_owned(), check.as_ref().into());
    }
    details
}
