//! A running server, and requests that the tests write byte by byte.

use std::net::SocketAddr;
use std::sync::Arc;

use mcp_server::{Config, McpServer, NoUpstreams, Parts};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::protocol::schema;
use crate::protocol::toolbox::{TestTools, meta};

/// A server on a free port. Dropping it ends the server.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

/// The server's answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(found, _)| found == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} is there twice");
        value
    }

    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"));
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The status, the error code and the message id.
    pub(crate) fn error(&self) -> (u16, i64, Value) {
        let body = self.json();
        let code = body["error"]["code"].as_i64();
        assert!(!body["error"]["message"].as_str().unwrap().is_empty());
        let id = body
            .get("id")
            .cloned()
            .unwrap_or(Value::String("absent".into()));
        (self.status, code.unwrap_or_else(|| panic!("{body}")), id)
    }

    pub(crate) fn result(&self) -> Value {
        let body = self.json();
        assert_eq!(self.status, 200, "{body}");
        assert_eq!(body["jsonrpc"], "2.0");
        body.get("result")
            .cloned()
            .unwrap_or_else(|| panic!("{body}"))
    }
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::with("").await
    }

    /// Starts a server with further lines of configuration.
    pub(crate) async fn with(lines: &str) -> Self {
        let text = format!("server.listen = '127.0.0.1:0'\n{lines}");
        let config = Config::parse(&text, []).unwrap();
        let parts = Parts {
            toolbox: TestTools::new(),
            health: Arc::new(NoUpstreams),
        };
        let service = McpServer::compose(&config, parts).await.unwrap();
        let address = service.local_addr();
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(service.run(async {
            let _ = stopped.await;
        }));
        Self {
            address,
            _stop: stop,
        }
    }

    /// Sends bytes, and reads until the server closes the connection.
    pub(crate) async fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // The server may answer and close the connection before it has read the whole request.
        let _ = stream.write_all(request).await;
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no head: {text:?}"));
        let mut lines = head.lines();
        let status = lines
            .next()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_ascii_lowercase(), value.trim().to_owned())
        });
        let answer = Answer {
            status,
            headers: headers.collect(),
            body: body.to_owned(),
        };
        let length = answer.header("content-length").unwrap_or("0");
        if !request.starts_with(b"HEAD") {
            assert_eq!(length, body.len().to_string());
        }
        answer
    }

    /// Sends a request with exactly these headers besides `Host`, `Content-Length` and
    /// `Connection`.
    pub(crate) async fn request(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            head += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        self.raw(&[head.as_bytes(), body].concat()).await
    }

    /// Posts a body with these headers besides those that every client sends.
    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Answer {
        let usual = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let answer = self
            .request("POST", "/mcp", &[&usual, headers].concat(), body.as_ref())
            .await;
        schema::check(&answer);
        answer
    }

    /// Posts a body without a version and without a handshake.
    pub(crate) async fn bare(&self, body: impl AsRef<[u8]>) -> Answer {
        self.post(&[], body).await
    }

    /// Posts a request of the current revision, with all that it requires.
    pub(crate) async fn modern(&self, method: &str, mut params: Value) -> Answer {
        if let Some(params) = params.as_object_mut()
            && !params.contains_key("_meta")
        {
            params.insert("_meta".to_owned(), meta());
        }
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let body =
            serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut headers = vec![
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ];
        if !name.is_empty() {
            headers.push(("Mcp-Name", &name));
        }
        self.post(&headers, body.to_string()).await
    }
}
