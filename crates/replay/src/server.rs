//! The HTTP server of the recordings. It binds a free port of the loopback interface and counts
//! what it serves.

use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Request, Response, StatusCode, header::CONTENT_TYPE, request::Parts,
};
use http_body_util::Full;
use http_edge::{ClientAddress, Handler, Limits, RequestBody, RequestId, Server, read_body};
use serde_json::json;
use tokio::sync::oneshot;

use crate::{
    live::Live,
    recordings::{Asked, Entry, Recordings},
};

const MAX_BODY: usize = 256 * 1024;
const BODY_TIME: Duration = Duration::from_secs(5);

/// A running replay on a free port of the loopback interface. Dropping it stops the server.
#[derive(Debug)]
pub struct ReplayServer {
    address: SocketAddr,
    state: Arc<State>,
    _stop: oneshot::Sender<()>,
}

impl ReplayServer {
    /// Starts serving `recordings` on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// The error of the operating system when no port can be bound.
    pub async fn start(recordings: Recordings) -> io::Result<Self> {
        Self::start_with(recordings, Vec::new()).await
    }

    /// Like [`Self::start`], with responders that answer before the recordings do. The first
    /// responder that has an answer gives it.
    ///
    /// # Errors
    ///
    /// The error of the operating system when no port can be bound.
    pub async fn start_with(recordings: Recordings, live: Vec<Live>) -> io::Result<Self> {
        let server = Server::bind((Ipv4Addr::LOCALHOST, 0).into(), Limits::default()).await?;
        let address = server.local_addr();
        let served = recordings
            .entries
            .iter()
            .map(|_| AtomicU64::new(0))
            .collect();
        let state = Arc::new(State {
            recordings,
            live,
            served,
            unmatched: AtomicU64::new(0),
            started: Instant::now(),
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let handler = state.clone();
        tokio::spawn(async move {
            server
                .serve(handler, async {
                    // The sender sends nothing. Dropping it ends the server.
                    let _ = stopped.await;
                })
                .await
        });
        Ok(Self {
            address,
            state,
            _stop: stop,
        })
    }

    /// Returns the address of the replay: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the `base_url` of `host` at this replay. The host is the first segment of every
    /// path.
    pub fn base_url(&self, host: &str) -> String {
        format!("http://{}/{host}", self.address)
    }

    /// Returns how often the recording `file` was served.
    pub fn served(&self, file: &str) -> u64 {
        self.count(|recording| recording == file)
    }

    /// Returns how often the recordings of an upstream were served.
    pub fn served_of(&self, upstream: &str) -> u64 {
        self.count(|recording| {
            recording
                .split_once('/')
                .is_some_and(|(folder, _)| folder == upstream)
        })
    }

    fn count(&self, counts: impl Fn(&str) -> bool) -> u64 {
        let served = self.state.recordings.entries.iter().zip(&self.state.served);
        served
            .filter(|(entry, _)| counts(&entry.file))
            .map(|(_, count)| count.load(Ordering::Relaxed))
            .sum()
    }

    /// Returns how many requests no recording matched.
    pub fn unmatched(&self) -> u64 {
        self.state.unmatched.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct State {
    recordings: Recordings,
    live: Vec<Live>,
    served: Vec<AtomicU64>,
    unmatched: AtomicU64,
    started: Instant,
}

impl Handler for State {
    async fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        _id: RequestId,
        _client: ClientAddress,
    ) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let Ok(body) = read_body(body, MAX_BODY, BODY_TIME).await else {
            return answer(
                StatusCode::PAYLOAD_TOO_LARGE,
                json!({"error": "body not read"}).to_string(),
            );
        };
        let (host, path) = split(head.uri.path());
        if let Some(response) = self.live(&host, &path, &head) {
            return response;
        }
        let asked = Asked {
            method: head.method.as_str().to_owned(),
            host,
            path,
            query: query(head.uri.query().unwrap_or("")),
            body: serde_json::from_slice(&body).ok(),
        };
        self.respond(&asked)
    }
}

impl State {
    fn live(&self, host: &str, path: &str, head: &Parts) -> Option<Response<Full<Bytes>>> {
        let asked = match head.uri.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        let answers = self.live.iter();
        let reply = answers
            .filter_map(|live| live.answer(host, head.method.as_str(), &asked))
            .next()?;
        let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
        Some(answer(status, reply.body))
    }

    fn respond(&self, asked: &Asked) -> Response<Full<Bytes>> {
        let Some(entry) = self.recordings.find(asked) else {
            return self.nothing(asked);
        };
        let text = match &entry.computed {
            None => entry.text.clone(),
            Some(computed) => match computed.answer(&asked.query, self.now()) {
                Some(text) => text,
                None => return self.nothing(asked),
            },
        };
        if let Some((_, count)) = self
            .recordings
            .entries
            .iter()
            .zip(&self.served)
            .find(|(known, _)| std::ptr::eq(*known, entry))
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
        recorded(entry, text)
    }

    fn nothing(&self, asked: &Asked) -> Response<Full<Bytes>> {
        self.unmatched.fetch_add(1, Ordering::Relaxed);
        let Asked {
            method,
            host,
            path,
            query,
            body,
        } = asked;
        let asked =
            json!({"method": method, "host": host, "path": path, "query": query, "body": body});
        // The text does not have the form of any upstream. An adapter that reads a 404 must not
        // take it for a statement about the request.
        let text = format!("no recording answers this request: {asked}");
        let mut response = answer(StatusCode::NOT_FOUND, text);
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        response
    }

    /// The current time for computed answers: the start time of the recordings, plus the running
    /// time.
    fn now(&self) -> u64 {
        let since = self.started.elapsed().as_secs();
        self.recordings.starts_at.saturating_add(since)
    }
}

fn recorded(entry: &Entry, text: String) -> Response<Full<Bytes>> {
    let mut response = answer(
        StatusCode::from_u16(entry.response.status).unwrap_or(StatusCode::OK),
        text,
    );
    let named = entry
        .response
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in named.chain([("content-type", entry.response.content_type.as_str())]) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn answer(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Splits `/web3.okx.com/api/v6/…` into the host `web3.okx.com` and the path `/api/v6/…`.
fn split(path: &str) -> (String, String) {
    let path = path.strip_prefix('/').unwrap_or(path);
    match path.split_once('/') {
        Some((host, rest)) => (host.to_owned(), format!("/{rest}")),
        None => (path.to_owned(), "/".to_owned()),
    }
}

/// Splits a query without percent-decoding it: addresses, digits and names need none.
fn query(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .collect()
}
