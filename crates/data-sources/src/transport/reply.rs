//! The reply to a call: status, headers and a bounded body. The body of a success has the expected
//! content type. Its content is not judged.

use reqwest::{
    StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
};
use serde_json::Value;

use super::QUOTED_CHARS;
use crate::{error::SourceErrorKind, text::clean};

/// How many bytes of an error answer are read.
const ERROR_BODY_BYTES: usize = 16 * 1024;

/// An answer of any status. The body of a success has the expected content type. The body of a
/// failure is empty unless it has that type.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Reads at most `limit` bytes of a success, and fewer of a failure.
    pub(super) async fn read(
        response: reqwest::Response,
        limit: usize,
        media: Media,
    ) -> Result<Self, SourceErrorKind> {
        let status = response.status();
        let headers = response.headers().clone();
        let body = if status.is_success() {
            media.check(&headers)?;
            body(response, limit).await?
        } else if Media::Json.check(&headers).is_ok() {
            body(response, ERROR_BODY_BYTES).await.unwrap_or_default()
        } else {
            Vec::new()
        };
        Ok(Self {
            status,
            headers,
            body,
        })
    }

    /// The error of a status other than 2xx.
    pub(crate) fn failure(&self) -> Option<SourceErrorKind> {
        if self.status.is_success() {
            return None;
        }
        let retry_after = || {
            let text = self.headers.get(RETRY_AFTER)?.to_str().ok()?;
            text.trim().parse().ok()
        };
        match self.status {
            StatusCode::TOO_MANY_REQUESTS => {
                let retry_after = retry_after();
                return Some(SourceErrorKind::RateLimited { retry_after });
            }
            StatusCode::PAYMENT_REQUIRED => {
                let retry_after = retry_after().unwrap_or(0);
                return Some(SourceErrorKind::PaymentRequired { retry_after });
            }
            _ => {}
        }
        Some(SourceErrorKind::HttpStatus {
            status: self.status.as_u16(),
            code: code_of(&self.body),
        })
    }
}

/// The error for a body that claims to be JSON and is not.
pub(crate) fn not_json(error: &serde_json::Error) -> SourceErrorKind {
    SourceErrorKind::Malformed {
        path: "$".to_owned(),
        expected: "a json document",
        observed: clean(&error.to_string(), QUOTED_CHARS),
    }
}

/// The content type that a body must have before a byte of it is parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Media {
    /// JSON.
    #[default]
    Json,
    /// A news feed: RSS or Atom.
    Feed,
    /// Comma-separated values.
    Csv,
}

impl Media {
    /// The value of `Accept`.
    pub(super) fn accept(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Json => "application/json",
            Self::Feed => "application/rss+xml, application/atom+xml, application/xml, text/xml",
            Self::Csv => "text/csv, application/csv",
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Feed => "a feed",
            Self::Csv => "csv",
        }
    }

    fn check(self, headers: &HeaderMap) -> Result<(), SourceErrorKind> {
        let observed = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or("");
        let essence = observed
            .split(';')
            .next()
            .unwrap_or("")
            .trim()
            .to_ascii_lowercase();
        let is = |suffix: &str| essence.starts_with("application/") && essence.ends_with(suffix);
        let fits = match self {
            Self::Json => essence == "application/json" || is("+json"),
            Self::Feed => matches!(essence.as_str(), "application/xml" | "text/xml") || is("+xml"),
            Self::Csv => matches!(essence.as_str(), "text/csv" | "application/csv"),
        };
        if fits {
            return Ok(());
        }
        Err(SourceErrorKind::WrongContentType {
            expected: self.name(),
            observed: clean(observed, QUOTED_CHARS),
        })
    }
}

/// Reads a body of at most `limit` bytes; a longer one is dropped with its connection.
async fn body(mut response: reqwest::Response, limit: usize) -> Result<Vec<u8>, SourceErrorKind> {
    let announced = response
        .content_length()
        .and_then(|length| usize::try_from(length).ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(SourceErrorKind::TooLarge { limit });
    }
    let mut body = Vec::with_capacity(announced.unwrap_or(0));
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|_| SourceErrorKind::Unreachable)?
    {
        if body.len().saturating_add(chunk.len()) > limit {
            return Err(SourceErrorKind::TooLarge { limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The `code` member of an error body, when it looks like one.
fn code_of(body: &[u8]) -> Option<String> {
    let json: Value = serde_json::from_slice(body).ok()?;
    let code = match json.get("code")? {
        Value::String(code) => code.clone(),
        Value::Number(code) => code.to_string(),
        _ => return None,
    };
    (code.len() <= 16 && !code.is_empty() && code.bytes().all(|b| b.is_ascii_alphanumeric()))
        .then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_must_have_the_requested_content_type() {
        let of = |media: Media, value: &'static str| {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))]);
            media.check(&headers).is_ok()
        };
        for json in [
            "application/json;charset=UTF-8",
            "Application/JSON",
            "application/problem+json",
        ] {
            assert!(of(Media::Json, json) && !of(Media::Feed, json) && !of(Media::Csv, json));
        }
        for feed in [
            "application/rss+xml; charset=utf-8",
            "text/xml",
            "application/atom+xml",
        ] {
            assert!(of(Media::Feed, feed) && !of(Media::Json, feed) && !of(Media::Csv, feed));
        }
        assert!(of(Media::Csv, "text/csv; charset=utf-8") && of(Media::Csv, "application/csv"));
        for page in ["text/html", "text/json-ish", "application/jsonp", ""] {
            assert!(!of(Media::Json, page) && !of(Media::Feed, page) && !of(Media::Csv, page));
        }
        assert!(Media::Json.check(&HeaderMap::new()).is_err());
    }

    #[test]
    fn codes_are_short_and_plain() {
        assert_eq!(code_of(br#"{"code":"50113"}"#).as_deref(), Some("50113"));
        assert_eq!(code_of(br#"{"code":50026}"#).as_deref(), Some("50026"));
        assert_eq!(code_of(br#"{"code":"<script>alert(1)</script>"}"#), None);
        assert_eq!(code_of(br#"{"code":null}"#), None);
    }
}
