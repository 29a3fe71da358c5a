//! Renders the answer of `/readyz`.

use http::StatusCode;
use serde_json::{Value, json};

/// Returns the status and the body of `/readyz`. The status is 503 unless the server is ready. The
/// body names every impaired component with its reason. A ready server may have impaired
/// components.
#[must_use]
pub fn readiness<'a>(
    is_ready: bool,
    reasons: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> (StatusCode, Value) {
    let reason = |(component, reason)| json!({ "component": component, "reason": reason });
    let reasons: Vec<Value> = reasons.into_iter().map(reason).collect();
    let status = match is_ready {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, json!({ "ready": is_ready, "reasons": reasons }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_follows_readiness_and_every_reason_is_named() {
        let (status, body) = readiness(true, [("lifi.quote", None)]);
        assert_eq!(status, StatusCode::OK);
        let expected =
            json!({ "ready": true, "reasons": [{ "component": "lifi.quote", "reason": null }] });
        assert_eq!(body, expected);
        let (status, body) = readiness(false, [("server", Some("draining"))]);
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        let expected =
            json!({ "ready": false, "reasons": [{ "component": "server", "reason": "draining" }] });
        assert_eq!(body, expected);
    }
}
