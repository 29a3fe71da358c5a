//! `GET /intents/{id}`: the progress of an action, free of charge for everyone who knows its id.

use http::StatusCode;
use http::header;
use http::request::Parts;
use http_edge::RequestId;
use route_catalog::ErrorCode;
use wallet_actions::{IntentId, WalletActions};

use super::intent_view;
use crate::reply::{self, ErrorReply, NO_STORE, Reply};

/// The path prefix of intents.
pub(crate) const PREFIX: &str = "/intents/";

/// Answers a `GET` or `HEAD` below [`PREFIX`].
pub(crate) async fn answer(parts: &Parts, actions: Option<&WalletActions>, id: RequestId) -> Reply {
    let name = parts.uri.path().strip_prefix(PREFIX).unwrap_or_default();
    let (Some(actions), Ok(intent)) = (actions, name.parse::<IntentId>()) else {
        return unknown(id);
    };
    match actions.find(&intent).await {
        Ok(Some(intent)) => {
            let mut reply = reply::json(StatusCode::OK, intent_view(&intent).to_string());
            reply.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
            reply
        }
        Ok(None) => unknown(id),
        Err(error) => ErrorReply::new(ErrorCode::UpstreamUnavailable, error.to_string())
            .detail("reason", error.code())
            .retry_after(5)
            .into_reply(id),
    }
}

fn unknown(id: RequestId) -> Reply {
    ErrorReply::new(ErrorCode::NotFound, "no intent has this id")
        .detail("reason", "unknown_intent")
        .into_reply(id)
}
