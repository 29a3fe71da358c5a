//! The envelope around every answer, which also carries the failures.

use crate::{error::SourceErrorKind, json::Json, text::clean, transport::QUOTED_CHARS};

/// Code of a success.
const SUCCESS: &str = "0";

/// `{"code": "0", "data": …, "msg": ""}`: any code but 0 is a failure, whatever the HTTP status
/// says.
pub(super) fn open(body: &[u8]) -> Result<Json<'_>, SourceErrorKind> {
    let envelope = Json::document(body)?.object()?;
    let code = envelope.member("code")?.code()?;
    if code != SUCCESS {
        let message = envelope.find("msg").and_then(|msg| msg.text().ok());
        return Err(match code.as_str() {
            "50011" => SourceErrorKind::RateLimited { retry_after: None },
            _ => SourceErrorKind::Business {
                code: clean(&code, 16),
                message: clean(&message.unwrap_or_default(), QUOTED_CHARS),
            },
        });
    }
    envelope.member("data")
}

/// Whether a business failure concerns the request (no liquidity, amount too small, …) rather than
/// the upstream or our access to it.
pub(super) fn answers_the_caller(kind: &SourceErrorKind) -> bool {
    match kind {
        SourceErrorKind::Business { code, .. } => code.starts_with("82") && code != "82001",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn opened(envelope: Value) -> Result<String, SourceErrorKind> {
        open(envelope.to_string().as_bytes()).map(|data| data.raw().to_owned())
    }

    #[test]
    fn an_envelope_is_open_only_with_code_zero() {
        assert_eq!(
            opened(json!({"code": "0", "data": [], "msg": ""})),
            Ok("[]".to_owned())
        );
        assert_eq!(
            opened(json!({"code": 0, "data": [1], "msg": ""})),
            Ok("[1]".to_owned())
        );
        for code in [json!("82000"), json!(82000)] {
            let refused =
                opened(json!({"code": code, "data": [], "msg": "Insufficient\u{202e} liquidity"}));
            assert_eq!(
                refused,
                Err(SourceErrorKind::Business {
                    code: "82000".into(),
                    message: "Insufficient liquidity".into()
                })
            );
        }
        assert_eq!(
            opened(json!({"code": "50011", "data": []})),
            Err(SourceErrorKind::RateLimited { retry_after: None })
        );
        for broken in [
            json!({}),
            json!([]),
            json!({"code": "0"}),
            json!({"code": 0.0, "data": []}),
            json!(null),
        ] {
            assert!(matches!(
                opened(broken),
                Err(SourceErrorKind::Malformed { .. })
            ));
        }
    }
}
