//! `[server]`.

use std::net::SocketAddr;

use serde::Deserialize;

use super::check_url;
use crate::{Problem, lenient};

/// `[server]`: listening and limits.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSection {
    /// Address and port; port 0 takes a free one. Each server has its own default.
    pub listen: Option<SocketAddr>,
    /// What `resource.url`, OpenAPI and discovery show; the listening address when absent.
    pub public_url: Option<String>,
    /// The name that documents show.
    pub brand: String,
    /// Open connections.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_connections: usize,
    /// Bytes of a request's body.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_body_bytes: usize,
    /// Bytes of a request's head.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_header_bytes: usize,
    /// Browser origins that are served; `*` for all. Each server has its own default. No answer depends on cookies.
    #[serde(deserialize_with = "lenient::optional_list")]
    pub allowed_origins: Option<Vec<String>>,
    /// `Host` values that are answered; what an empty list means is for each server to say.
    #[serde(deserialize_with = "lenient::list")]
    pub allowed_hosts: Vec<String>,
    /// Seconds that a request's head may take and a connection may idle.
    #[serde(deserialize_with = "lenient::scalar")]
    pub header_timeout_seconds: u64,
    /// Seconds that a body may take.
    #[serde(deserialize_with = "lenient::scalar")]
    pub body_timeout_seconds: u64,
    /// Seconds that a client may leave an answer unread.
    #[serde(deserialize_with = "lenient::scalar")]
    pub write_timeout_seconds: u64,
    /// Seconds that the server goes on accepting requests after SIGTERM, while it says that it is not ready.
    #[serde(deserialize_with = "lenient::scalar")]
    pub drain_seconds: u64,
    /// Seconds that requests in flight may still take after that.
    #[serde(deserialize_with = "lenient::scalar")]
    pub shutdown_grace_seconds: u64,
    /// The header whose last entry is the client's address, as the operator's own proxy writes it; the connection's peer
    /// when absent.
    pub client_address_header: Option<String>,
}

impl Default for ServerSection {
    fn default() -> Self {
        Self {
            listen: None,
            public_url: None,
            brand: "svc".to_owned(),
            max_connections: 16_384,
            max_body_bytes: 64 * 1024,
            max_header_bytes: 32 * 1024,
            allowed_origins: None,
            allowed_hosts: Vec::new(),
            header_timeout_seconds: 30,
            body_timeout_seconds: 10,
            write_timeout_seconds: 20,
            drain_seconds: 0,
            shutdown_grace_seconds: 30,
            client_address_header: None,
        }
    }
}

impl ServerSection {
    /// The rules of the section.
    pub fn check(&self, problems: &mut Vec<Problem>) {
        if let Some(url) = &self.public_url {
            check_url(problems, "server.public_url", url);
        }
        for (key, value) in [
            ("server.max_connections", self.max_connections),
            ("server.max_body_bytes", self.max_body_bytes),
        ] {
            if value == 0 {
                problems.push(Problem::new(key, "expected at least 1"));
            }
        }
        if self.max_header_bytes < 4096 {
            problems.push(Problem::new(
                "server.max_header_bytes",
                "expected at least 4096: a payment header has 1 to 8 kB",
            ));
        }
        for (key, value) in [
            ("server.header_timeout_seconds", self.header_timeout_seconds),
            ("server.body_timeout_seconds", self.body_timeout_seconds),
            ("server.write_timeout_seconds", self.write_timeout_seconds),
        ] {
            if value == 0 {
                problems.push(Problem::new(key, "expected at least 1"));
            }
        }
        if let Some(name) = &self.client_address_header
            && !lists_addresses(name)
        {
            let message =
                "expected the name of a header that lists addresses, such as x-forwarded-for";
            problems.push(Problem::new("server.client_address_header", message));
        }
    }
}

/// Whether a text can name such a header. The entries of `Forwarded` are written in another way.
fn lists_addresses(name: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&name.len())
        && name.bytes().all(is_name)
        && !name.eq_ignore_ascii_case("forwarded")
}
