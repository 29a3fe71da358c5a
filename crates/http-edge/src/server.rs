//! The HTTP/1.1 server: it accepts connections, applies the limits of every request, and ends in
//! order.
//!
//! It promises that a slow or silent client cannot hold a connection for ever, and that requests in
//! flight are finished within the grace period. It does not know what the requests mean: a
//! [`Handler`] answers them, and also limits how long an answer takes. TLS and HTTP/2 belong to a
//! reverse proxy.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use metrics::{Gauge, counter, describe_counter, describe_gauge, gauge};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connections::Connections;
use crate::refusal::Refusal;
use crate::served::check_host;
use crate::stream::{ConnectionState, ConnectionStream, Patience};
use crate::written::{AnswerBody, Taken, Watched};
use crate::{ClientAddress, Draining, Network, RequestBody, RequestId, RequestIds, descriptors};

/// How many connections may wait to be accepted, so that a burst of clients finds room.
const BACKLOG: u32 = 4096;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The limits for one client.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The most open connections. Further ones wait in the listen queue. The server allows fewer
    /// when the process's limit of open descriptors leaves less room beside
    /// [`RESERVED_DESCRIPTORS`](crate::RESERVED_DESCRIPTORS).
    pub max_connections: usize,
    /// The most open connections of one client address; an IPv6 address counts as its /64 network.
    /// A further one is closed without an answer. Peers in [`Self::trusted_proxies`] are not
    /// counted. Without such peers nothing is counted while [`Self::client_address_header`] is set:
    /// then every connection comes from a proxy.
    pub max_connections_per_address: usize,
    /// The operator's own proxies. If there are any, the header
    /// [`Self::client_address_header`] of other peers is ignored.
    pub trusted_proxies: Vec<Network>,
    /// The most bytes of a request's head (names, values and separators). A longer head is answered
    /// with 431.
    pub max_header_bytes: usize,
    /// The most bytes of a request's body, for [`read_body`](crate::read_body) and for the rest
    /// that is read before the answer.
    pub max_body_bytes: usize,
    /// The most time for a request's head: the first one from the connection's beginning, later
    /// ones from their first byte. A connection that arrives while fewer than a quarter of the
    /// places are free gets a sixteenth of this time and of [`Self::idle_timeout`], so that silent
    /// connections soon make room for others.
    pub header_timeout: Duration,
    /// The most time between an answer and the next request. It should be longer than a proxy keeps
    /// its connections (60 seconds with most load balancers), so that the proxy closes first.
    pub idle_timeout: Duration,
    /// The most time for a body.
    pub body_timeout: Duration,
    /// The most time for the rest of a body that nobody reads, once before the answer and once
    /// after it. A rest of up to [`Self::max_body_bytes`] is read before the answer, and the
    /// connection stays open. Of a longer or slower one, up to 16 MiB are read and thrown away
    /// after the answer, and the connection closes then.
    pub linger: Duration,
    /// The most time for a client to read an answer.
    pub write_timeout: Duration,
    /// How long the server continues after a shutdown request. During this time only [`Draining`]
    /// changes.
    pub drain: Duration,
    /// How long the server waits for requests in flight, after the drain time.
    pub shutdown_grace: Duration,
    /// The header whose last entry is the client's address (`x-forwarded-for`). Without it, the
    /// connection's peer is the client.
    ///
    /// Without [`Self::trusted_proxies`] it is believed of every peer. Then set it only when every
    /// request comes through a proxy that writes the last entry of this header itself. Otherwise
    /// callers can choose their own address. When the last entry is not an address, the peer's
    /// address is used.
    pub client_address_header: Option<HeaderName>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 16_384,
            max_connections_per_address: 512,
            trusted_proxies: Vec::new(),
            max_header_bytes: 32 * 1024,
            max_body_bytes: 64 * 1024,
            header_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(10),
            linger: Duration::from_secs(5),
            write_timeout: Duration::from_secs(20),
            drain: Duration::ZERO,
            shutdown_grace: Duration::from_secs(30),
            client_address_header: None,
        }
    }
}

impl Limits {
    /// Whether a peer is one of the operator's own proxies.
    fn trusts(&self, peer: IpAddr) -> bool {
        let mut proxies = self.trusted_proxies.iter();
        proxies.any(|network| network.contains(peer))
    }

    /// The most open connections that this peer's address may have; `None` without a limit.
    fn most_connections(&self, peer_is_trusted: bool) -> Option<usize> {
        let all_are_proxies =
            self.trusted_proxies.is_empty() && self.client_address_header.is_some();
        (!peer_is_trusted && !all_are_proxies).then_some(self.max_connections_per_address)
    }
}

/// Answers requests. It cannot fail, because an error is also an answer. The edge names the request
/// in each answer (`x-request-id`), and answers by itself what is not a request: a head that is too
/// large or malformed, or that does not have one `Host`. The edge does not limit
/// the time of an answer, and drops the future when the client disconnects. Work that must not stop
/// half-way belongs in a task of its own.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request of a client. Answers and logs name it by `id`.
    ///
    /// The head lies in the connection's read buffer. A connection needs only one such buffer while
    /// no future holds a part of the head, so make immediate decisions before you build the future.
    fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        id: RequestId,
        client: ClientAddress,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send + 'static;
}

/// The result of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every request in flight was answered.
    Completely,
    /// The grace period ended first.
    GraceEnded,
}

/// A bound HTTP/1.1 server. A reverse proxy handles TLS and HTTP/2.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    limits: Limits,
    /// The number of connections that may be open at a time.
    places: usize,
    draining: Draining,
}

impl Server {
    /// Binds the address; port 0 picks a free port. Raises the process's soft limit of open
    /// descriptors to the hard one. Warns in the log when that still leaves no room for
    /// [`Limits::max_connections`].
    ///
    /// # Errors
    /// The error of the operating system.
    pub async fn bind(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        // A restart must not wait for the connections of the last run to expire.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?;
        let address = listener.local_addr()?;
        Ok(Self {
            listener,
            address,
            places: places(limits.max_connections),
            limits,
            draining: Draining::default(),
        })
    }

    /// The bound address.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The state that tells handlers whether the server was asked to end.
    #[must_use]
    pub fn draining(&self) -> Draining {
        self.draining.clone()
    }

    /// Serves until `shutdown` resolves, and then, as [`Draining`], for the drain time. After that
    /// it stops accepting and lets requests in flight finish within the grace period. The gauge
    /// `svc_connections` counts open connections, and the counter `svc_connections_refused_total`
    /// those that were closed because their address had too many.
    pub async fn serve<H: Handler>(
        self,
        handler: Arc<H>,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Drained {
        let Self {
            listener,
            limits,
            places,
            draining,
            ..
        } = self;
        let limits = Arc::new(limits);
        let ids = Arc::new(RequestIds::new());
        let slots = Arc::new(Semaphore::new(places));
        let open = gauge!("svc_connections");
        describe_gauge!("svc_connections", "open connections");
        let refused = counter!("svc_connections_refused_total");
        describe_counter!(
            "svc_connections_refused_total",
            "connections closed at once: their address had max_connections_per_address open"
        );
        refused.increment(0);
        let addresses = Connections::default();
        let connections = GracefulShutdown::new();
        let mut end = std::pin::pin!(drained(shutdown, &draining, limits.drain));
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut end => break,
                accepted = accept(&listener, &slots) => accepted,
            };
            let Some((stream, peer, slot)) = accepted else {
                continue;
            };
            let is_trusted = limits.trusts(peer);
            let peer = ClientAddress::new(peer);
            let Some(place) = addresses.open(peer, limits.most_connections(is_trusted)) else {
                refused.increment(1);
                tracing::debug!(address = %peer.ip(), "too many connections of one address");
                continue;
            };
            let edge = Edge {
                handler: handler.clone(),
                limits: limits.clone(),
                ids: ids.clone(),
                state: Arc::new(ConnectionState::new()),
                peer,
                peer_is_believed: is_trusted || limits.trusted_proxies.is_empty(),
                taken: Taken::default(),
            };
            let crowded = slots.available_permits() < places.div_ceil(4);
            let connection = connection(stream, edge, crowded);
            let connection = connections.watch(connection);
            let counted = Counted::new(&open);
            tokio::spawn(async move {
                // A client that disconnects or stalls ends the connection here. There is nobody to
                // answer.
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "connection ended early");
                }
                drop((slot, place, counted));
            });
        }
        drop(listener);
        match tokio::time::timeout(limits.shutdown_grace, connections.shutdown()).await {
            Ok(()) => Drained::Completely,
            Err(_elapsed) => Drained::GraceEnded,
        }
    }
}

/// The number of connections that may be open at a time.
fn places(wanted: usize) -> usize {
    let limit = descriptors::raise_limit();
    let places = descriptors::connections(wanted, limit);
    if places < wanted {
        tracing::warn!(
            limit,
            connections = places,
            max_connections = wanted,
            "the limit of open descriptors leaves room for fewer connections than configured; raise it \
             (ulimit -n, LimitNOFILE)"
        );
    }
    places.min(Semaphore::MAX_PERMITS)
}

/// Resolves when the server must stop accepting connections: `time` after the shutdown request.
async fn drained(shutdown: impl Future<Output = ()>, draining: &Draining, time: Duration) {
    shutdown.await;
    draining.begin();
    if !time.is_zero() {
        let seconds = time.as_secs_f64();
        tracing::info!(seconds, "draining: still serving, but not ready any more");
        tokio::time::sleep(time).await;
    }
}

/// Counts one open connection in a gauge until it is dropped.
struct Counted(Gauge);

impl Counted {
    fn new(gauge: &Gauge) -> Self {
        gauge.increment(1);
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Option<(TcpStream, IpAddr, OwnedSemaphorePermit)> {
    let slot = slots.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => {
            // The server writes an answer as a whole, so waiting for more data would only add
            // latency.
            let _ = stream.set_nodelay(true);
            Some((stream, peer.ip(), slot))
        }
        Err(error) => {
            // The process is out of file descriptors, so accepting again at once would spin.
            tracing::warn!(%error, "cannot accept");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

type Stream = Watched<TokioIo<ConnectionStream>>;

fn connection<H: Handler>(
    stream: TcpStream,
    service: Edge<H>,
    crowded: bool,
) -> http1::Connection<Stream, Edge<H>> {
    let limits = &service.limits;
    let share = if crowded { 16 } else { 1 };
    let patience = Patience {
        head: limits.header_timeout / share,
        idle: limits.idle_timeout / share,
        linger: limits.linger,
        write: limits.write_timeout,
    };
    let ids = Arc::clone(&service.ids);
    let stream = ConnectionStream::new(stream, Arc::clone(&service.state), ids, patience);
    http1::Builder::new()
        // The stream has the time-outs: hyper's own does not tell a head from a pause.
        .header_read_timeout(None)
        // The edge's own limit refuses a long head with an answer that gives the reason. hyper's
        // limit is higher, so that the edge's limit decides.
        .max_buf_size(limits.max_header_bytes.saturating_mul(2).max(16 * 1024))
        .serve_connection(
            Watched::new(TokioIo::new(stream), service.taken.clone()),
            service,
        )
}

/// A handler, and the limits that apply to every request before it.
struct Edge<H> {
    handler: Arc<H>,
    limits: Arc<Limits>,
    ids: Arc<RequestIds>,
    state: Arc<ConnectionState>,
    peer: ClientAddress,
    /// Whether the peer may name the client in a header.
    peer_is_believed: bool,
    /// The notices of answers that this connection has taken.
    taken: Taken,
}

impl<H> Edge<H> {
    fn client(&self, request: &Request<Incoming>) -> ClientAddress {
        let header = self.limits.client_address_header.as_ref();
        header
            .filter(|_| self.peer_is_believed)
            .and_then(|name| ClientAddress::forwarded(request.headers(), name))
            .unwrap_or(self.peer)
    }

    /// Makes the decisions that need no handler.
    fn admit(&self, head: &Parts) -> Result<(), Refusal> {
        let limit = self.limits.max_header_bytes;
        if head_bytes(head) > limit {
            return Err(Refusal::HeadTooLong(limit));
        }
        check_host(head)
    }
}

impl<H: Handler> Service<Request<Incoming>> for Edge<H> {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.state.request_begins();
        let state = Arc::clone(&self.state);
        let id = self.ids.next_id();
        let client = self.client(&request);
        let (head, body) = request.into_parts();
        if let Err(refusal) = self.admit(&head) {
            let mut answer = named(refusal.answer(id), id);
            if !body.is_end_stream() {
                leave_unread(&mut answer, &state);
            }
            state.request_ends();
            let answer = AnswerBody::of(answer, &self.taken);
            return Box::pin(std::future::ready(Ok(answer)));
        }
        let expects = head.headers.contains_key(header::EXPECT);
        let (body, returned) = RequestBody::new(body, &head.headers);
        let request = Request::from_parts(head, body);
        let answering = self.handler.clone().handle(request, id, client);
        let taken = self.taken.clone();
        let Some(mut returned) = returned else {
            return Box::pin(async move {
                let answer = named(answering.await, id);
                state.request_ends();
                Ok(AnswerBody::of(answer, &taken))
            });
        };
        let limits = Arc::clone(&self.limits);
        Box::pin(async move {
            let mut answer = named(answering.await, id);
            if let Ok(unread) = returned.try_recv()
                && (expects || !unread.discard(limits.max_body_bytes, limits.linger).await)
            {
                leave_unread(&mut answer, &state);
            }
            state.request_ends();
            Ok(AnswerBody::of(answer, &taken))
        })
    }
}

/// Names the request in its answer.
fn named(mut answer: Response<Full<Bytes>>, id: RequestId) -> Response<Full<Bytes>> {
    if let Ok(id) = HeaderValue::try_from(id.text()) {
        answer.headers_mut().insert(REQUEST_ID, id);
    }
    answer
}

/// Ends the connection with this answer, though the client may still be sending.
fn leave_unread(answer: &mut Response<Full<Bytes>>, state: &ConnectionState) {
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(header::CONNECTION, close);
    state.leave_unread();
}

fn head_bytes(head: &Parts) -> usize {
    let authority = head.uri.authority().map_or(0, |name| name.as_str().len());
    let path = head.uri.path_and_query();
    let target = path.map_or(0, |target| target.as_str().len());
    let fields: usize = head
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    authority + target + fields
}
