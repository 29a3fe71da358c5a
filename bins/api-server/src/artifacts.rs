//! `GET /artifacts/{sha256}`: serves a file that a paid answer refers to. It is free for everyone
//! who knows the digest.

use alloy_primitives::{B256, hex};
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use http_edge::RequestId;
use jiff::Timestamp;
use route_catalog::ErrorCode;
use storage::{Artifact, ServerStore, StoreError};

use crate::reply::{ErrorReply, Reply, header_value, with_body};

/// The path prefix of artifacts.
pub(crate) const PREFIX: &str = "/artifacts/";

/// The media types that are served as such: pictures, which run no code.
const MEDIA_TYPES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// The path of an artifact on this server.
pub(crate) fn url(sha256: B256) -> String {
    format!("{PREFIX}{}", hex::encode(sha256))
}

/// Answers a `GET` or `HEAD` below [`PREFIX`]. `now` decides whether an artifact has expired.
pub(crate) async fn answer(
    parts: &Parts,
    store: &impl ServerStore,
    now: Timestamp,
    id: RequestId,
) -> Reply {
    let Some(sha256) = digest(parts.uri.path()) else {
        return not_found(id);
    };
    let now = u64::try_from(now.as_second()).unwrap_or_default();
    match store.artifact(sha256, now).await {
        Ok(Some(artifact)) => found(&artifact, &parts.headers, now),
        Ok(None) => not_found(id),
        Err(error) => failed(&error, id),
    }
}

/// Reads the digest in a path. Only one spelling is accepted.
fn digest(path: &str) -> Option<B256> {
    let digits = path.strip_prefix(PREFIX)?;
    exact::parse_lower_hex_array(&format!("0x{digits}")).map(B256::new)
}

/// The answer with an artifact. Its bytes never change, so a copy stays valid until the artifact
/// expires, and the digest serves as the entity tag.
fn found(artifact: &Artifact, asked: &HeaderMap, now: u64) -> Reply {
    let tag = header_value(&format!("\"{}\"", hex::encode(artifact.sha256())));
    let left = artifact.expires_at().saturating_sub(now);
    let known = asked
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .any(|tags| names(tags, &tag));
    let mut reply = if known {
        let mut reply = Reply::default();
        *reply.status_mut() = StatusCode::NOT_MODIFIED;
        reply
    } else {
        let media_type = MEDIA_TYPES.iter().find(|it| **it == artifact.media_type());
        let media_type = media_type.map_or("application/octet-stream", |it| it);
        with_body(
            StatusCode::OK,
            HeaderValue::from_static(media_type),
            artifact.bytes().clone(),
        )
    };
    let headers = reply.headers_mut();
    headers.insert(header::ETAG, tag);
    headers.insert(
        header::CACHE_CONTROL,
        header_value(&format!("public, max-age={left}, immutable")),
    );
    // The browser must use the declared type and must not run the bytes.
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; sandbox"),
    );
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("cross-origin"),
    );
    reply
}

/// Whether `If-None-Match` matches the tag, by weak comparison or by `*`.
fn names(tags: &HeaderValue, tag: &HeaderValue) -> bool {
    let (Ok(tags), Ok(tag)) = (tags.to_str(), tag.to_str()) else {
        return false;
    };
    tags.split(',').map(str::trim).any(|candidate| {
        candidate == "*" || candidate.strip_prefix("W/").unwrap_or(candidate) == tag
    })
}

fn not_found(id: RequestId) -> Reply {
    ErrorReply::new(
        ErrorCode::NotFound,
        "there is no such artifact, or it has expired",
    )
    .detail("reason", "artifact_not_found")
    .into_reply(id)
}

fn failed(error: &StoreError, id: RequestId) -> Reply {
    tracing::error!(code = error.code(), %error, "cannot read an artifact");
    ErrorReply::new(
        ErrorCode::Internal,
        "the server cannot read the artifact right now",
    )
    .detail("reason", error.code())
    .retryable(true)
    .retry_after(5)
    .into_reply(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_one_spelling() {
        let sha256 = B256::repeat_byte(0xab);
        assert_eq!(digest(&url(sha256)), Some(sha256));
        let hex = "ab".repeat(32);
        for other in [
            format!("/artifacts/{}", hex.to_uppercase()),
            format!("/artifacts/0x{hex}"),
            format!("/artifacts/{hex}/"),
            format!("/artifacts/{hex}00"),
            format!("/artifacts/{}", &hex[2..]),
            format!("/artifacts/{}gg", &hex[2..]),
            "/artifacts/".to_owned(),
            "/artifacts/../ledger.db".to_owned(),
        ] {
            assert_eq!(digest(&other), None, "{other}");
        }
    }

    #[tokio::test]
    async fn an_artifact_is_gone_when_it_has_expired() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.store.db");
        let store = storage::SqliteStore::open(path, storage::StoreOptions::default()).unwrap();
        let artifact = Artifact::new("text/html", "<script>".into(), 1_000);
        let url = url(artifact.sha256());
        store.keep(artifact, 900).await.unwrap();
        let (parts, ()) = http::Request::get(url).body(()).unwrap().into_parts();
        let at = async |second| {
            let now = Timestamp::from_second(second).unwrap();
            answer(&parts, &store, now, http_edge::RequestIds::new().next_id()).await
        };
        let reply = at(999).await;
        assert_eq!(reply.status(), 200);
        assert_eq!(
            reply.headers()["cache-control"],
            "public, max-age=1, immutable"
        );
        // A stored type that is not on the list is served as plain bytes.
        assert_eq!(reply.headers()["content-type"], "application/octet-stream");
        assert_eq!(at(1_000).await.status(), 404);
    }

    #[test]
    fn tags_are_compared_weakly() {
        let tag = HeaderValue::from_static("\"ab\"");
        for tags in ["\"ab\"", "W/\"ab\"", "\"x\", \"ab\"", "*"] {
            assert!(names(&HeaderValue::from_static(tags), &tag), "{tags}");
        }
        for tags in ["ab", "\"x\"", "\"abc\"", ""] {
            assert!(!names(&HeaderValue::from_static(tags), &tag), "{tags}");
        }
    }
}
