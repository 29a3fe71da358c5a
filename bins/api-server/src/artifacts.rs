//! `GET /artifacts/{sha256}`: what a paid answer refers to, for whoever has its digest. Costs
//! nothing.

use alloy_primitives::{B256, hex};
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use http_edge::RequestId;
use jiff::Timestamp;
use route_catalog::ErrorCode;
use storage::{Artifact, ServerStore, StoreError};

use crate::reply::{ErrorReply, Reply, header_value, with_body};

/// Where artifacts are.
pub(crate) const PREFIX: &str = "/artifacts/";

/// The media types that are kept, all of them pictures that run nothing.
const MEDIA_TYPES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// The address of an artifact, below this server's own.
pub(crate) fn url(sha256: B256) -> String {
    format!("{PREFIX}{}", hex::encode(sha256))
}

/// Answers a `GET` or `HEAD` below [`PREFIX`]. `now` is the time by which artifacts were kept.
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

/// The digest in a path, in its one spelling.
fn digest(path: &str) -> Option<B256> {
    let text = path.strip_prefix(PREFIX)?;
    let is_canonical = text.len() == 64
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if !is_canonical {
        return None;
    }
    hex::decode_to_array(text).ok().map(B256::new)
}

/// The bytes never change, so a copy is good for as long as the artifact is; the name of the copy
/// is the digest.
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
    // What a browser makes of the bytes is what is said here, and it runs nothing.
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

/// Whether `If-None-Match` names a tag, weakly or not, or any.
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
    tracing::error!(code = error.code(), %error, "an artifact cannot be read");
    ErrorReply::new(ErrorCode::Internal, "the artifact cannot be read right now")
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
        let path = folder.path().join("service.shelf.db");
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
        // Whatever was kept under a type that is none of ours is not shown.
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
