//! Faulty parts between the server and the world: a node that changes the results of calls, and an
//! upstream that changes its answers.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use dev_chain::{DevChain, Reply};
use http::header::CONTENT_TYPE;
use http_body_util::Full;
use http_edge::{ClientAddress, Handler, Limits, RequestBody, RequestId, read_body};
use hyper::{Request, Response};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(30);

/// Gets the method and the parameters of each call. A value that it returns replaces the chain's
/// result.
type Meddle = Box<dyn FnMut(&str, &Value) -> Option<Value> + Send>;

/// A node of an embedded chain, whose results a test can change.
pub(crate) struct Node {
    chain: DevChain,
    meddle: Mutex<Option<Meddle>>,
}

impl Node {
    pub(crate) fn of(chain: &DevChain) -> Arc<Self> {
        Arc::new(Self {
            chain: chain.clone(),
            meddle: Mutex::default(),
        })
    }

    /// Serves until the runtime ends. Returns the URL.
    pub(crate) async fn serve(self: &Arc<Self>) -> String {
        serve(Arc::clone(self)).await
    }

    /// Gives every call from now on to `meddle`, which may replace its result.
    pub(crate) fn meddle(
        &self,
        meddle: impl FnMut(&str, &Value) -> Option<Value> + Send + 'static,
    ) {
        *self.meddle.lock().unwrap() = Some(Box::new(meddle));
    }

    /// Returns the chain's own results from now on.
    pub(crate) fn be_honest(&self) {
        *self.meddle.lock().unwrap() = None;
    }

    fn answer(&self, body: &[u8]) -> Reply {
        let call: Value = serde_json::from_slice(body).unwrap();
        let method = call["method"].as_str().unwrap_or_default();
        let mut meddle = self.meddle.lock().unwrap();
        let result = meddle
            .as_mut()
            .and_then(|meddle| meddle(method, &call["params"]));
        match result {
            Some(result) => {
                let answer = json!({ "jsonrpc": "2.0", "id": call["id"], "result": result });
                Reply::Http {
                    status: 200,
                    body: answer.to_string().into_bytes(),
                }
            }
            None => self.chain.answer(body),
        }
    }
}

impl Handler for Node {
    async fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        _id: RequestId,
        _client: ClientAddress,
    ) -> Response<Full<Bytes>> {
        let body = read_body(request.into_body(), 1 << 20, PATIENCE).await;
        let Reply::Http { status, body } = self.answer(&body.unwrap()) else {
            return std::future::pending().await;
        };
        reply(status, body)
    }
}

/// Changes an answer. The first argument is the path with its query.
type Turn = Box<dyn Fn(&str, &mut Value) + Send + Sync>;

/// An upstream that forwards every request, and changes the answer.
pub(crate) struct Liar {
    origin: OnceLock<String>,
    turn: Turn,
    http: reqwest::Client,
}

impl Liar {
    /// Starts an upstream that applies `turn` to every true answer. Returns it with its URL.
    /// [`Self::hears`] must set the origin before the first request.
    pub(crate) async fn telling(
        turn: impl Fn(&str, &mut Value) + Send + Sync + 'static,
    ) -> (Arc<Self>, String) {
        let liar = Arc::new(Self {
            origin: OnceLock::new(),
            turn: Box::new(turn),
            http: test_support::http_client(),
        });
        let url = serve(Arc::clone(&liar)).await;
        (liar, url)
    }

    /// Sets the server that gives the true answers.
    pub(crate) fn hears(&self, origin: String) {
        self.origin.set(origin).unwrap();
    }
}

impl Handler for Liar {
    async fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        _id: RequestId,
        _client: ClientAddress,
    ) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let body = read_body(body, 1 << 20, PATIENCE).await.unwrap();
        let target = head.uri.to_string();
        let origin = self.origin.get().unwrap();
        let asked = self.http.request(head.method, format!("{origin}{target}"));
        let truth = asked.body(body).send().await.unwrap();
        let status = truth.status().as_u16();
        let truth = truth.bytes().await.unwrap();
        // What is no JSON is passed on as it is.
        let Ok(mut told) = serde_json::from_slice::<Value>(&truth) else {
            return reply(status, truth.to_vec());
        };
        (self.turn)(&target, &mut told);
        reply(status, told.to_string().into_bytes())
    }
}

async fn serve<H: Handler>(handler: Arc<H>) -> String {
    // A test moves the clock, and that must close no connection.
    let limits = Limits {
        header_timeout: Duration::from_secs(600),
        idle_timeout: Duration::from_secs(600),
        ..Limits::default()
    };
    let any = ([127, 0, 0, 1], 0).into();
    let server = http_edge::Server::bind(any, limits).await.unwrap();
    let url = format!("http://{}", server.local_addr());
    tokio::spawn(server.serve(handler, std::future::pending()));
    url
}

fn reply(status: u16, body: Vec<u8>) -> Response<Full<Bytes>> {
    let response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/json");
    response.body(Full::new(body.into())).unwrap()
}
