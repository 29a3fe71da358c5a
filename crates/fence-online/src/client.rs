//! The server, over HTTP.
//!
//! The client follows no redirect and bounds the time and size of an answer. It tells refusals from
//! failures; what an answer means is for each command.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use clap::Args;
use fence_offline::{
    Exit, Failure, Printable, Refused,
    settings::{Settings, required},
};
use serde_json::Value;
use ureq::{
    Agent,
    tls::{RootCerts, TlsConfig, TlsProvider},
    unversioned::{
        resolver::DefaultResolver,
        transport::{ConnectionDetails, Connector, DefaultConnector, Transport},
    },
};

/// An upper bound of any answer of these endpoints.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// A server that does not complete its answer in this time counts as unreachable.
const PATIENCE: Duration = Duration::from_secs(30);
const PATIENCE_TO_CONNECT: Duration = Duration::from_secs(10);

/// The arguments that select the server.
#[derive(Debug, Args)]
pub struct Server {
    /// The service's address, like https://api.example; plain http only for this machine
    #[arg(long, value_name = "URL", env = "SVC_FENCE_URL")]
    pub url: Option<String>,
}

/// A client of one server.
pub(crate) struct Client {
    agent: Agent,
    connected: Connected,
    base: String,
    /// The address in messages.
    shown: String,
}

/// An answer with its status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// The reason why a request has no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// Nothing was sent, because no connection came about.
    NotSent(Failure),
    /// The server may have carried the request out.
    Lost(Failure),
}

impl From<Unanswered> for Failure {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::NotSent(failure) | Unanswered::Lost(failure) => failure,
        }
    }
}

/// Whether a connection of this client ever came about, with its TLS handshake. Nothing is sent
/// before. The kinds of errors do not tell this: the same kind can mean either.
#[derive(Debug, Clone, Default)]
struct Connected(Arc<AtomicBool>);

impl Connected {
    fn is_so(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// The last link of the chain of connectors.
impl<In: Transport> Connector<In> for Connected {
    type Out = In;

    fn connect(
        &self,
        _: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<In>, ureq::Error> {
        self.0.fetch_or(chained.is_some(), Ordering::SeqCst);
        Ok(chained)
    }
}

impl Server {
    /// A client of the chosen server.
    pub(crate) fn connect(&self, settings: &Settings) -> Result<Client, Failure> {
        let url = required(self.url.clone().or_else(|| settings.url.clone()), "url")?;
        Client::new(&url)
    }
}

impl Client {
    /// An endpoint of a chain. Its address often ends in a key, which no message shows.
    pub(crate) fn of_node(url: &str) -> Result<Self, Failure> {
        let end = url
            .match_indices('/')
            .nth(2)
            .map_or(url.len(), |(at, _)| at);
        let origin = url.get(..end).unwrap_or_default();
        let origin = origin.rsplit_once('@').map_or(origin, |(_, host)| host);
        Ok(Self {
            shown: origin.to_owned(),
            ..Self::new(url)?
        })
    }

    fn new(url: &str) -> Result<Self, Failure> {
        let base = url.trim_end_matches('/').to_owned();
        require_protected(&base)?;
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .timeout_connect(Some(PATIENCE_TO_CONNECT))
            .user_agent(concat!("fence-cli/", env!("CARGO_PKG_VERSION")))
            .build();
        let connected = Connected::default();
        let connector = DefaultConnector::default().chain(connected.clone());
        Ok(Self {
            agent: Agent::with_parts(config, connector, DefaultResolver::default()),
            connected,
            shown: base.clone(),
            base,
        })
    }

    /// The server's address, for messages.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn get(&self, path: &str) -> Result<Answer, Failure> {
        let request = self.agent.get(format!("{}{path}", self.base));
        let response = request.header("Accept", "application/json").call();
        Ok(self.read(response)?)
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Result<Answer, Failure> {
        Ok(self.send(path, body)?)
    }

    /// Like [`Self::post`]. The error says whether the server may have carried the request out.
    pub(crate) fn send(&self, path: &str, body: &str) -> Result<Answer, Unanswered> {
        let request = self
            .agent
            .post(format!("{}{path}", self.base))
            .header("Accept", "application/json")
            .header("Content-Type", "application/json");
        self.read(request.send(body))
    }

    fn read(
        &self,
        response: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<Answer, Unanswered> {
        let unreachable = |error: ureq::Error| {
            let error = error.to_string();
            let failure = Failure::Error(
                format!("{}: {}", Printable(&self.shown), Printable(&error)),
                Exit::Network,
            );
            match self.connected.is_so() {
                true => Unanswered::Lost(failure),
                false => Unanswered::NotSent(failure),
            }
        };
        let mut response = response.map_err(unreachable)?;
        let status = response.status().as_u16();
        let text = response
            .body_mut()
            .with_config()
            .limit(MOST_BYTES)
            .read_to_string()
            .map_err(unreachable)?;
        let body = serde_json::from_str(&text).map_err(|_| {
            Unanswered::Lost(Failure::Error(
                format!(
                    "{}: answered {status} with something that is not JSON: is this the service's address?",
                    Printable(&self.shown)
                ),
                Exit::Network,
            ))
        })?;
        Ok(Answer { status, body })
    }
}

impl Answer {
    /// The code of an error in the server's form.
    pub(crate) fn error_code(&self) -> Option<&str> {
        let text = |member: &str| self.body.pointer(member).and_then(Value::as_str);
        text("/error/message").and(text("/error/code"))
    }

    /// The body of a success. Otherwise the server's error: a refusal by name; or for 429 and from
    /// 500 on, a failure of the server, which the caller may repeat.
    pub(crate) fn success(self) -> Result<Value, Failure> {
        if (200..300).contains(&self.status) {
            return Ok(self.body);
        }
        let text = |member: &str| {
            self.body
                .pointer(&format!("/error/{member}"))
                .and_then(Value::as_str)
        };
        let (Some(code), Some(message)) = (text("code"), text("message")) else {
            return Err(Failure::Error(
                format!(
                    "the server answered {} without an error of its form",
                    self.status
                ),
                Exit::Network,
            ));
        };
        if self.status == 429 || self.status >= 500 {
            return Err(Failure::Error(
                format!(
                    "the server answered {}: {}: {}",
                    self.status,
                    Printable(code),
                    Printable(message)
                ),
                Exit::Network,
            ));
        }
        let refused = Refused::new(code, format!("the service refuses: {message}"));
        Err(Refused {
            expected: text("expected").map(str::to_owned),
            observed: text("observed").map(str::to_owned),
            details: text("check")
                .map(|check| format!("check: {check}"))
                .into_iter()
                .collect(),
            ..refused
        }
        .into())
    }
}

/// A read-back that a third party can change confirms nothing.
fn require_protected(url: &str) -> Result<(), Failure> {
    let host = |rest: &str| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        match host.strip_prefix('[') {
            Some(v6) => v6.split(']').next().unwrap_or_default().to_owned(),
            None => host.split(':').next().unwrap_or_default().to_owned(),
        }
    };
    if url.starts_with("https://") {
        return Ok(());
    }
    let Some(rest) = url.strip_prefix("http://") else {
        return Err(Failure::usage(
            "--url is not an address that begins with https:// (or http:// on this machine)",
        ));
    };
    let host = host(rest);
    let is_here = host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    if is_here {
        return Ok(());
    }
    Err(Failure::usage(
        "--url: plain http is taken for this machine only, because anybody on the way could answer; use https",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only() {
        for url in [
            "https://api.example",
            "http://127.0.0.1:8402",
            "http://localhost",
            "http://[::1]:8402",
        ] {
            assert!(require_protected(url).is_ok(), "{url}");
        }
        for url in [
            "http://api.example",
            "http://127.0.0.1@api.example",
            "http://localhost.example",
            "http://127.0.0.1.example:80",
            "ftp://127.0.0.1",
            "api.example",
            "",
        ] {
            assert!(require_protected(url).is_err(), "{url}");
        }
    }
}
