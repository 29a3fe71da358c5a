//! A proxy that records every request and answer that passes through it.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use http_edge::{ClientAddress, Handler, Limits, RequestBody, RequestId, Server, read_body};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use hyper::http::{HeaderMap, Method, StatusCode};
use hyper::{Request, Response};
use serde_json::Value;
use tokio::sync::oneshot;

/// One request and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) method: Method,
    pub(crate) revision: Option<String>,
    pub(crate) asked: Option<Value>,
    pub(crate) status: StatusCode,
    pub(crate) content_type: Option<String>,
    pub(crate) answer: Bytes,
}

/// A running proxy. Dropping it stops the proxy.
#[derive(Debug)]
pub(crate) struct Recorder {
    url: String,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
    _stop: oneshot::Sender<()>,
}

impl Recorder {
    pub(crate) async fn start(target: String) -> Self {
        let server = Server::bind((Ipv4Addr::LOCALHOST, 0).into(), Limits::default())
            .await
            .unwrap();
        let url = format!("http://{}/mcp", server.local_addr());
        let exchanges = Arc::<Mutex<Vec<Exchange>>>::default();
        let proxy = Proxy {
            target,
            http: test_support::http_client(),
            exchanges: exchanges.clone(),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(async move {
            server
                .serve(Arc::new(proxy), async {
                    // Nobody sends: the proxy stops when the sender is dropped.
                    let _ = stopped.await;
                })
                .await
        });
        Self {
            url,
            exchanges,
            _stop: stop,
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.lock().unwrap().clone()
    }
}

struct Proxy {
    target: String,
    http: reqwest::Client,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
}

impl Handler for Proxy {
    async fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        _id: RequestId,
        _client: ClientAddress,
    ) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let body = read_body(body, 1 << 20, Duration::from_secs(10))
            .await
            .unwrap();
        let answer = self
            .http
            .request(head.method.clone(), &self.target)
            .headers(end_to_end(&head.headers))
            .body(body.clone())
            .send()
            .await
            .unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        let text = |headers: &HeaderMap, name: &str| {
            let value = headers.get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        let content = answer.bytes().await.unwrap();
        self.exchanges.lock().unwrap().push(Exchange {
            method: head.method,
            revision: text(&head.headers, "mcp-protocol-version"),
            asked: serde_json::from_slice(&body).ok(),
            status,
            content_type: text(&headers, "content-type"),
            answer: content.clone(),
        });
        let mut response = Response::new(Full::new(content));
        *response.status_mut() = status;
        *response.headers_mut() = end_to_end(&headers);
        response
    }
}

fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in [CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    headers
}
