//! Load: a fixed number of requests over keep-alive connections, each sent after the answer to the
//! one before.
//!
//! It requires the expected status of every answer, and measures the time of each. The processor
//! time of the server is read by [`process`](crate::process).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::{HeaderValue, StatusCode};
use tokio::task::JoinSet;

use crate::BenchError;
use crate::exchange::{Connection, HttpAnswer, Message};
use crate::measure;

/// The requests, and the expected answers.
#[derive(Debug, Clone)]
pub struct Load {
    /// The path and query of every request.
    pub target: String,
    /// How many requests.
    pub requests: Requests,
    /// Connections at once.
    pub connections: usize,
    /// The status of every answer; another one ends the measurement.
    pub expected: StatusCode,
}

/// The requests of one load.
#[derive(Debug, Clone)]
pub enum Requests {
    /// So many, without a payment.
    Unpaid(usize),
    /// One for each of these payment headers.
    Paying(Arc<Vec<HeaderValue>>),
    /// The same message over and over.
    Posting(Posting),
}

/// A message that is posted many times.
#[derive(Debug, Clone)]
pub struct Posting {
    /// The message.
    pub message: Message,
    /// How many times.
    pub times: usize,
    /// The length of every answer, in bytes: an answer of another length ends the measurement.
    pub answer_length: usize,
}

impl Requests {
    fn len(&self) -> usize {
        match self {
            Self::Unpaid(requests) => *requests,
            Self::Paying(headers) => headers.len(),
            Self::Posting(posting) => posting.times,
        }
    }

    async fn send(
        &self,
        index: usize,
        target: &str,
        connection: &mut Connection,
    ) -> Result<HttpAnswer, BenchError> {
        match self {
            Self::Unpaid(_) => connection.get(target, None).await,
            Self::Paying(headers) => connection.get(target, headers.get(index)).await,
            Self::Posting(posting) => connection.post(target, &posting.message).await,
        }
    }

    fn answer_length(&self) -> Option<usize> {
        match self {
            Self::Unpaid(_) | Self::Paying(_) => None,
            Self::Posting(posting) => Some(posting.answer_length),
        }
    }
}

/// The results of a load.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// Requests that were answered.
    pub answered: u64,
    /// From the first request to the last answer.
    pub elapsed: Duration,
    /// Half of the answers took no longer.
    pub p50: Duration,
    /// 99 of 100 answers took no longer.
    pub p99: Duration,
}

impl Load {
    /// Sends all requests.
    ///
    /// # Errors
    /// When a connection breaks or an answer has another status.
    pub async fn run(self, server: SocketAddr) -> Result<Seen, BenchError> {
        let load = Arc::new(self);
        let next = Arc::new(AtomicUsize::new(0));
        let mut connections = JoinSet::new();
        let mut open = Vec::new();
        for _ in 0..load.connections {
            open.push(Connection::open(server).await?);
        }
        let start = Instant::now();
        for connection in open {
            connections.spawn(drive(load.clone(), next.clone(), connection));
        }
        let mut micros = Vec::with_capacity(load.requests.len());
        while let Some(joined) = connections.join_next().await {
            micros.extend(joined.map_err(std::io::Error::other)??);
        }
        let elapsed = start.elapsed();
        micros.sort_unstable();
        let at = |per_mille| measure::quantile(&micros, per_mille).unwrap_or_default();
        Ok(Seen {
            answered: u64::try_from(micros.len()).unwrap_or(u64::MAX),
            elapsed,
            p50: Duration::from_micros(at(500)),
            p99: Duration::from_micros(at(990)),
        })
    }

    fn judge(&self, answer: &HttpAnswer) -> Result<(), BenchError> {
        let shown = || {
            String::from_utf8_lossy(&answer.body)
                .chars()
                .take(300)
                .collect()
        };
        if answer.status != self.expected {
            return Err(BenchError::Status {
                expected: self.expected.as_u16(),
                observed: answer.status.as_u16(),
                body: shown(),
            });
        }
        match self.requests.answer_length() {
            Some(expected) if expected != answer.body.len() => Err(BenchError::Length {
                expected,
                observed: answer.body.len(),
                body: shown(),
            }),
            _ => Ok(()),
        }
    }
}

/// Takes requests until none is left. Returns the time of each in microseconds.
async fn drive(
    load: Arc<Load>,
    next: Arc<AtomicUsize>,
    mut connection: Connection,
) -> Result<Vec<u64>, BenchError> {
    let mut micros = Vec::new();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= load.requests.len() {
            return Ok(micros);
        }
        let start = Instant::now();
        let answer = load
            .requests
            .send(index, &load.target, &mut connection)
            .await?;
        micros.push(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX));
        load.judge(&answer)?;
    }
}
