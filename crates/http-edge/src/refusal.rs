//! The error answers that the edge itself gives, in the form of all other errors.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::HeaderValue;
use hyper::{Response, StatusCode, header};

use crate::RequestId;

pub(crate) fn headers_too_large(limit: usize, id: RequestId) -> Response<Full<Bytes>> {
    let id = id.to_string();
    let body = serde_json::json!({
        "error": {
            "code": "headers_too_large",
            "message": format!("the request's head is longer than {limit} bytes"),
            "charged": false,
            "retryable": false,
            "request_id": id,
        }
    });
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert("x-request-id", id);
    }
    response
}
