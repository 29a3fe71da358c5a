//! One request and its answer, and recorded answers that a baseline replays.
//!
//! A [`Connection`] is an HTTP client with as little work of its own as possible. It judges no
//! status and no body.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;

use crate::BenchError;

/// The header that carries a payment.
pub const PAYMENT_SIGNATURE: HeaderName = HeaderName::from_static("payment-signature");

/// The header that carries the offer of an unpaid call.
pub const PAYMENT_REQUIRED: HeaderName = HeaderName::from_static("payment-required");

/// One keep-alive connection.
#[derive(Debug)]
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: HeaderValue,
}

impl Connection {
    /// Connects to a server.
    ///
    /// # Errors
    /// When it does not accept.
    pub async fn open(address: SocketAddr) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let host = HeaderValue::try_from(address.to_string())
            .map_err(|_| BenchError::Answer { what: "address" })?;
        Ok(Self { sender, host })
    }

    /// Sends a GET and reads the whole answer.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn get(
        &mut self,
        target: &str,
        payment: Option<&HeaderValue>,
    ) -> Result<HttpAnswer, BenchError> {
        let mut request = Request::get(target);
        if let Some(payment) = payment {
            request = request.header(PAYMENT_SIGNATURE, payment);
        }
        self.send(request, Bytes::new()).await
    }

    /// Sends a POST and reads the whole answer.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn post(
        &mut self,
        target: &str,
        message: &Message,
    ) -> Result<HttpAnswer, BenchError> {
        let mut request = Request::post(target);
        for (name, value) in &message.headers {
            request = request.header(name, value);
        }
        self.send(request, message.body.clone()).await
    }

    async fn send(
        &mut self,
        request: http::request::Builder,
        body: Bytes,
    ) -> Result<HttpAnswer, BenchError> {
        let request = request
            .header(http::header::HOST, &self.host)
            .body(Full::new(body))
            .map_err(|_| BenchError::Answer {
                what: "request target",
            })?;
        self.sender.ready().await?;
        let (parts, body) = self.sender.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(HttpAnswer {
            status: parts.status,
            headers: parts.headers,
            body,
        })
    }
}

/// The message of a POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its headers.
    pub headers: http::HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: http::HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// An answer as a file. Headers that every hyper server writes by itself are left out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recording {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Recording {
    /// Records an answer.
    ///
    /// # Errors
    /// When a header or the body is not text.
    pub fn of(answer: &HttpAnswer) -> Result<Self, BenchError> {
        let own = [
            http::header::DATE,
            http::header::CONTENT_LENGTH,
            http::header::CONNECTION,
        ];
        let headers = answer
            .headers
            .iter()
            .filter(|(name, _)| !own.contains(name))
            .map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
            .collect::<Option<_>>()
            .ok_or(BenchError::Answer { what: "header" })?;
        let body = String::from_utf8(answer.body.to_vec())
            .map_err(|_| BenchError::Answer { what: "body" })?;
        Ok(Self {
            status: answer.status.as_u16(),
            headers,
            body,
        })
    }

    /// The answer to replay: headers and body are built once and shared.
    ///
    /// # Errors
    /// When the file was not written by [`Recording::of`].
    pub fn replay(self) -> Result<HttpAnswer, BenchError> {
        let headers = self
            .headers
            .into_iter()
            .map(|(name, value)| {
                Some((
                    HeaderName::try_from(name).ok()?,
                    HeaderValue::try_from(value).ok()?,
                ))
            })
            .collect::<Option<_>>()
            .ok_or(BenchError::Answer { what: "header" })?;
        let status =
            StatusCode::from_u16(self.status).map_err(|_| BenchError::Answer { what: "status" })?;
        Ok(HttpAnswer {
            status,
            headers,
            body: Bytes::from(self.body),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_answer_is_replayed() {
        let mut headers = http::HeaderMap::new();
        headers.insert("payment-required", HeaderValue::from_static("e30="));
        headers.insert(
            "date",
            HeaderValue::from_static("Sat, 21 Nov 2026 12:00:00 GMT"),
        );
        headers.append("vary", HeaderValue::from_static("Origin"));
        headers.append("vary", HeaderValue::from_static("Accept"));
        let status = StatusCode::PAYMENT_REQUIRED;
        let answer = HttpAnswer {
            status,
            headers,
            body: Bytes::from_static(b"{}"),
        };
        let text = serde_json::to_string(&Recording::of(&answer).unwrap()).unwrap();
        let again = serde_json::from_str::<Recording>(&text)
            .unwrap()
            .replay()
            .unwrap();
        assert_eq!((again.status, &again.body[..]), (status, &b"{}"[..]));
        assert_eq!(again.headers.get_all("vary").iter().count(), 2);
        assert!(!again.headers.contains_key("date"));
    }
}
