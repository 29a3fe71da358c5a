//! `[server]`, `[storage]` and `[log]`.

use std::net::SocketAddr;
use std::time::Duration;

use http_edge::Limits;
use serde::Deserialize;
use tracing_subscriber::EnvFilter;

use super::{check_url, problem};
use crate::config::{Problem, lenient};

/// `[server]`: listening and limits.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSection {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
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
    /// Browser origins that may read answers; `*` for all. No answer depends on cookies.
    #[serde(deserialize_with = "lenient::list")]
    pub allowed_origins: Vec<String>,
    /// `Host` values that are answered; empty for all.
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
    /// Seconds that requests in flight may still take after SIGTERM.
    #[serde(deserialize_with = "lenient::scalar")]
    pub shutdown_grace_seconds: u64,
}

impl Default for ServerSection {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8402)),
            public_url: None,
            brand: "svc".to_owned(),
            max_connections: limits.max_connections,
            max_body_bytes: limits.max_body_bytes,
            max_header_bytes: limits.max_header_bytes,
            allowed_origins: vec!["*".to_owned()],
            allowed_hosts: Vec::new(),
            header_timeout_seconds: limits.header_timeout.as_secs(),
            body_timeout_seconds: limits.body_timeout.as_secs(),
            write_timeout_seconds: limits.write_timeout.as_secs(),
            shutdown_grace_seconds: limits.shutdown_grace.as_secs(),
        }
    }
}

impl ServerSection {
    /// The limits of the HTTP edge.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            max_connections: self.max_connections,
            max_header_bytes: self.max_header_bytes,
            max_body_bytes: self.max_body_bytes,
            header_timeout: Duration::from_secs(self.header_timeout_seconds),
            body_timeout: Duration::from_secs(self.body_timeout_seconds),
            write_timeout: Duration::from_secs(self.write_timeout_seconds),
            shutdown_grace: Duration::from_secs(self.shutdown_grace_seconds),
        }
    }

    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        if let Some(url) = &self.public_url {
            check_url(problems, "server.public_url", url);
        }
        for (key, value) in [
            ("server.max_connections", self.max_connections),
            ("server.max_body_bytes", self.max_body_bytes),
        ] {
            if value == 0 {
                problem(problems, key, "expected at least 1");
            }
        }
        if self.max_header_bytes < 4096 {
            problem(
                problems,
                "server.max_header_bytes",
                "expected at least 4096: a payment header has 1 to 8 kB",
            );
        }
        for (key, value) in [
            ("server.header_timeout_seconds", self.header_timeout_seconds),
            ("server.body_timeout_seconds", self.body_timeout_seconds),
            ("server.write_timeout_seconds", self.write_timeout_seconds),
        ] {
            if value == 0 {
                problem(problems, key, "expected at least 1");
            }
        }
    }
}

/// `[storage]`: the ledger.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageSection {
    /// `sqlite://` and a path.
    pub url: String,
    /// Seconds for which an answer can be fetched again with the same payment.
    #[serde(deserialize_with = "lenient::scalar")]
    pub answer_retention_seconds: u64,
    /// A cap on the ledger's size in bytes; none when absent.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub max_bytes: Option<u64>,
}

impl Default for StorageSection {
    fn default() -> Self {
        Self {
            url: "sqlite://data/service.db".to_owned(),
            answer_retention_seconds: 86_400,
            max_bytes: None,
        }
    }
}

impl StorageSection {
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        if !self.url.starts_with("sqlite://") {
            problem(problems, "storage.url", "expected sqlite:// and a path");
        }
        if self.answer_retention_seconds < 60 {
            problem(
                problems,
                "storage.answer_retention_seconds",
                "expected at least 60",
            );
        }
    }
}

/// `[log]`: what is written to standard error.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSection {
    /// `text` for people, `json` for collectors.
    pub format: LogFormat,
    /// A filter as `tracing` has it: `info`, `api_server=debug,info`.
    pub filter: Option<String>,
}

impl LogSection {
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        let filter = self.filter.as_deref().unwrap_or_default();
        if let Err(error) = EnvFilter::try_new(filter) {
            problem(problems, "log.filter", error.to_string());
        }
    }
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One line of text for each event.
    #[default]
    Text,
    /// One JSON object for each event.
    Json,
}
