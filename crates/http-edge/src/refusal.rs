//! The answers that the edge gives by itself, in the form of every other error (decisions: answers and errors).

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Response, StatusCode, header};

pub(crate) fn headers_too_large(limit: usize) -> Response<Full<Bytes>> {
    let message = format!("the request's head is longer than {limit} bytes");
    refusal(
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        "headers_too_large",
        &message,
        false,
    )
}

fn refusal(
    status: StatusCode,
    code: &str,
    message: &str,
    retryable: bool,
) -> Response<Full<Bytes>> {
    let body = serde_json::json!({
        "error": { "code": code, "message": message, "charged": false, "retryable": retryable }
    });
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json"),
    );
    headers.insert(
        header::CACHE_CONTROL,
        header::HeaderValue::from_static("no-store"),
    );
    response
}
