//! LI.FI's failures: `{message, code, errors?}` with an error status, or sometimes inside HTTP 200.
//! Each documented code becomes a fault of the request, of the route or of the service.

use std::collections::BTreeSet;

use plan_builder::ports::PortErrorReason;
use serde_json::Value;

use crate::{error::SourceErrorKind, rail::Fault, text::clean, transport::Reply};

/// Longest message of the upstream that is passed on.
const MAX_MESSAGE_CHARS: usize = 160;

/// Codes inside `errors` by which a single exchange says that it has no route.
const NO_ROUTE: [&str; 8] = [
    "NO_POSSIBLE_ROUTE",
    "INSUFFICIENT_LIQUIDITY",
    "AMOUNT_TOO_LOW",
    "AMOUNT_TOO_HIGH",
    "FEES_HIGHER_THAN_AMOUNT",
    "DIFFERENT_RECIPIENT_NOT_SUPPORTED",
    "TOOL_SPECIFIC_ERROR",
    "CANNOT_GUARANTEE_MIN_AMOUNT",
];
/// Codes inside `errors` for exchanges that did not answer.
const TRANSIENT: [&str; 2] = ["TOOL_TIMEOUT", "RPC_ERROR"];

/// The failure in `reply`; `None` when it may be a quote.
pub(super) fn of(reply: &Reply) -> Option<Fault> {
    let body: Option<Value> = serde_json::from_slice(&reply.body).ok();
    let code = body
        .as_ref()
        .and_then(|body| body.get("code"))
        .and_then(code);
    match (reply.failure(), code, body) {
        // The status of a failing server decides, whatever the body says.
        (Some(kind), _, _) if reply.status.is_server_error() => Some(kind.into()),
        (None, None, _) => None,
        (None, Some(_), Some(body)) if body.get("action").is_some() => None,
        (_, Some(code), Some(body)) => Some(coded(code, &body, reply)),
        (Some(_), _, _) if reply.status.as_u16() == 400 => {
            Some(Fault::Answer(PortErrorReason::Refused {
                detail: "http status 400".to_owned(),
            }))
        }
        (Some(kind), _, _) => Some(kind.into()),
        (None, Some(_), None) => None,
    }
}

fn coded(code: u64, body: &Value, reply: &Reply) -> Fault {
    let message = body.get("message").and_then(Value::as_str).unwrap_or("");
    let message = clean(message, MAX_MESSAGE_CHARS);
    let detail = |text: &str| match message.as_str() {
        "" => format!("code {code}{text}"),
        message => format!("{message} (code {code}{text})"),
    };
    let broken = || {
        Fault::Upstream(SourceErrorKind::HttpStatus {
            status: reply.status.as_u16(),
            code: Some(code.to_string()),
        })
    };
    match code {
        // FailedToBuildTransaction, NoQuote, Slippage.
        1001 | 1002 | 1007 => {
            let mut found = BTreeSet::new();
            tools(body.get("errors").unwrap_or(&Value::Null), &mut found);
            let all_transient =
                !found.is_empty() && found.iter().all(|tool| TRANSIENT.contains(tool));
            if all_transient {
                return broken();
            }
            let found: String = found.iter().map(|tool| format!(", {tool}")).collect();
            Fault::Answer(PortErrorReason::NoRoute {
                detail: detail(&found),
            })
        }
        1003 => Fault::Answer(PortErrorReason::Unknown {
            subject: format!("token or chain: {}", detail("")),
        }),
        // NotProcessable, Validation, MalformedSchema.
        1004 | 1011 | 1013 => Fault::Answer(PortErrorReason::Refused { detail: detail("") }),
        1005 => Fault::Upstream(SourceErrorKind::RateLimited { retry_after: None }),
        // Default, Server, ThirdParty, Timeout, Unauthorized, RpcFailure, and undocumented codes.
        _ => broken(),
    }
}

fn code(code: &Value) -> Option<u64> {
    code.as_u64()
        .or_else(|| code.as_str().and_then(|text| text.parse().ok()))
}

/// Collects the documented codes of single exchanges, anywhere in `errors`.
fn tools(errors: &Value, found: &mut BTreeSet<&'static str>) {
    match errors {
        Value::String(text) => {
            let known = NO_ROUTE
                .iter()
                .chain(&TRANSIENT)
                .find(|known| *known == text);
            found.extend(known);
        }
        Value::Array(values) => values.iter().for_each(|value| tools(value, found)),
        Value::Object(members) => members.values().for_each(|value| tools(value, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use reqwest::{StatusCode, header::HeaderMap};
    use serde_json::json;

    use super::*;

    fn failure(status: u16, body: &Value) -> String {
        let reply = Reply {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: body.to_string().into_bytes(),
        };
        match of(&reply) {
            None => "none".to_owned(),
            Some(Fault::Answer(reason)) => reason.to_string(),
            Some(Fault::Upstream(kind)) => kind.to_string(),
        }
    }

    #[test]
    fn every_documented_code_has_its_reason() {
        let of =
            |status, code: u64| failure(status, &json!({"message": "Why\u{202e}", "code": code}));
        for (status, code, reason) in [
            (500, 1000, "http status 500 (code 1000)"),
            (400, 1000, "http status 400 (code 1000)"),
            (422, 1001, "no route: Why (code 1001)"),
            (404, 1002, "no route: Why (code 1002)"),
            (404, 1003, "unknown token or chain: Why (code 1003)"),
            (422, 1004, "refused: Why (code 1004)"),
            (403, 1005, "rate limited"),
            (500, 1006, "http status 500 (code 1006)"),
            (409, 1007, "no route: Why (code 1007)"),
            (424, 1008, "http status 424 (code 1008)"),
            (504, 1009, "http status 504 (code 1009)"),
            (401, 1010, "http status 401 (code 1010)"),
            (400, 1011, "refused: Why (code 1011)"),
            (424, 1012, "http status 424 (code 1012)"),
            (400, 1013, "refused: Why (code 1013)"),
            (418, 4242, "http status 418 (code 4242)"),
            // The failure arrives inside a success.
            (200, 1002, "no route: Why (code 1002)"),
            // A server's failure with a code of the request is still the server's failure.
            (503, 1002, "http status 503 (code 1002)"),
        ] {
            assert_eq!(of(status, code), reason, "{status} {code}");
        }
    }

    #[test]
    fn the_exchanges_own_codes_are_reported() {
        let no_quote = |errors: Value| {
            failure(
                404,
                &json!({"message": "No available quotes", "code": 1002, "errors": errors}),
            )
        };
        assert_eq!(
            no_quote(
                json!([{"errorType": "NO_QUOTE", "code": "INSUFFICIENT_LIQUIDITY", "tool": "sushiswap", "message": "x"},
                {"code": "AMOUNT_TOO_LOW"}, {"code": "<script>"}])
            ),
            "no route: No available quotes (code 1002, AMOUNT_TOO_LOW, INSUFFICIENT_LIQUIDITY)"
        );
        let nested = json!({"filteredOut": [], "failed": [{"subpaths": {"8453:USDC-sushi": [{"code": "NO_POSSIBLE_ROUTE"}]}}]});
        assert_eq!(
            no_quote(nested),
            "no route: No available quotes (code 1002, NO_POSSIBLE_ROUTE)"
        );
        // Exchanges that did not answer say nothing about the route.
        assert_eq!(
            no_quote(json!([{"code": "TOOL_TIMEOUT"}, {"code": "RPC_ERROR"}])),
            "http status 404 (code 1002)"
        );
        assert_eq!(
            no_quote(json!([{"code": "TOOL_TIMEOUT"}, {"code": "NO_POSSIBLE_ROUTE"}])),
            "no route: No available quotes (code 1002, NO_POSSIBLE_ROUTE, TOOL_TIMEOUT)"
        );
    }

    #[test]
    fn failures_without_a_code() {
        assert_eq!(
            failure(400, &json!({"message": "x"})),
            "refused: http status 400"
        );
        assert_eq!(failure(404, &json!("gone")), "http status 404");
        assert_eq!(
            failure(404, &json!({"code": "1002"})),
            "no route: code 1002"
        );
        assert_eq!(failure(200, &json!({"action": {}, "code": 1002})), "none");
        assert_eq!(failure(200, &json!({})), "none");
    }
}
