//! The section `[server]`: where the server listens, its limits, and how documents name it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::Deserialize;

use super::check_url;
use crate::{Problem, lenient};

/// `[server]`: listening and limits.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSection {
    /// The address and the port. Port 0 takes a free one. Each server has its own default.
    pub listen: Option<SocketAddr>,
    /// The URL in `resource.url`, OpenAPI and discovery. When absent, the listening address.
    pub public_url: Option<String>,
    /// The name of the service in documents.
    pub brand: String,
    /// A mail address or a URL of the operator, for documents.
    pub contact: Option<String>,
    /// The most open connections.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_connections: usize,
    /// The most open connections of one client address.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_connections_per_address: usize,
    /// The operator's own proxies, as addresses or networks: `max_connections_per_address` does not
    /// count them, and `client_address_header` is believed from them alone. Empty:
    /// `client_address_header` is believed from every peer, and addresses are not counted while it
    /// is set.
    #[serde(deserialize_with = "lenient::list")]
    pub trusted_proxies: Vec<String>,
    /// The longest request body, in bytes.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_body_bytes: usize,
    /// The longest request head, in bytes.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_header_bytes: usize,
    /// The browser origins that the server serves; `*` for all. Each server has its own default. No
    /// answer depends on cookies.
    #[serde(deserialize_with = "lenient::optional_list")]
    pub allowed_origins: Option<Vec<String>>,
    /// The accepted `Host` values. Each server defines what an empty list means.
    #[serde(deserialize_with = "lenient::list")]
    pub allowed_hosts: Vec<String>,
    /// How long the head of a request may take, and how long a connection may be idle, in seconds.
    #[serde(deserialize_with = "lenient::scalar")]
    pub header_timeout_seconds: u64,
    /// How long a body may take, in seconds.
    #[serde(deserialize_with = "lenient::scalar")]
    pub body_timeout_seconds: u64,
    /// How long a client may leave an answer unread, in seconds.
    #[serde(deserialize_with = "lenient::scalar")]
    pub write_timeout_seconds: u64,
    /// How long the server still accepts requests after SIGTERM, in seconds. It reports meanwhile
    /// that it is not ready.
    #[serde(deserialize_with = "lenient::scalar")]
    pub drain_seconds: u64,
    /// How long requests in progress may take after that, in seconds.
    #[serde(deserialize_with = "lenient::scalar")]
    pub shutdown_grace_seconds: u64,
    /// Hours between two probes of each upstream. 0 switches the probes off.
    #[serde(deserialize_with = "lenient::scalar")]
    pub probe_hours: u64,
    /// The header whose last entry is the client's address. The operator's own proxy writes it.
    /// When absent, the address of the connection's peer counts.
    pub client_address_header: Option<String>,
}

impl Default for ServerSection {
    fn default() -> Self {
        Self {
            listen: None,
            public_url: None,
            brand: "svc".to_owned(),
            contact: None,
            max_connections: 16_384,
            max_connections_per_address: 512,
            trusted_proxies: Vec::new(),
            max_body_bytes: 64 * 1024,
            max_header_bytes: 32 * 1024,
            allowed_origins: None,
            allowed_hosts: Vec::new(),
            header_timeout_seconds: 30,
            body_timeout_seconds: 10,
            write_timeout_seconds: 20,
            drain_seconds: 0,
            shutdown_grace_seconds: 30,
            probe_hours: 24,
            client_address_header: None,
        }
    }
}

impl ServerSection {
    /// Returns the time between two probes of each upstream. `None` without probes.
    #[must_use]
    pub fn probe_every(&self) -> Option<Duration> {
        let seconds = self.probe_hours.saturating_mul(3_600);
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// Returns the user agent of `binary` for requests to upstreams. It names the service, and its
    /// contact or address.
    #[must_use]
    pub fn user_agent(&self, binary: &str, version: &str) -> String {
        let plain = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
        let brand: String = self.brand.chars().filter(plain).collect();
        let name = if brand.is_empty() { "svc" } else { &brand };
        match self.contact.as_deref().or(self.public_url.as_deref()) {
            Some(reach) => format!("{name}-{binary}/{version} (+{reach})"),
            None => format!("{name}-{binary}/{version}"),
        }
    }

    /// Returns the operator's own proxies: each an address, and how many of its first bits count.
    pub fn proxy_networks(&self) -> impl Iterator<Item = (IpAddr, u8)> {
        self.trusted_proxies.iter().filter_map(|text| network(text))
    }

    /// Checks the section.
    pub fn check(&self, problems: &mut Vec<Problem>) {
        if let Some(url) = &self.public_url {
            check_url(problems, "server.public_url", url);
        }
        if let Some(contact) = &self.contact
            && !is_contact(contact)
        {
            let message = "expected a mail address, or an http:// or https:// URL";
            problems.push(Problem::new("server.contact", message));
        }
        for (key, value) in [
            ("server.max_connections", self.max_connections),
            (
                "server.max_connections_per_address",
                self.max_connections_per_address,
            ),
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
        for (index, proxy) in self.trusted_proxies.iter().enumerate() {
            if network(proxy).is_none() {
                let message = "expected an address such as 10.0.0.2, or a network such as \
                               10.0.0.0/24 that is not everybody's";
                let key = format!("server.trusted_proxies[{index}]");
                problems.push(Problem::new(key, message));
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

/// Whether a text is a mail address or a URL, without characters that can end its place in a
/// document.
fn is_contact(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic() && !"\"<>\\`".contains(c);
    let is_url = url::Url::parse(text)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
    let is_mail = text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && !host.contains('@') && !host.ends_with('.')
    });
    text.len() <= 200 && text.chars().all(plain) && (is_url || is_mail)
}

/// Reads an address, or a network as an address and a number of bits. A network of zero bits would
/// be all addresses.
fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let length = if address.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.map_or(Some(length), |prefix| prefix.parse().ok())?;
    (1..=length).contains(&prefix).then_some((address, prefix))
}

/// Whether a header of this name can list addresses. The entries of `Forwarded` have another
/// syntax.
fn lists_addresses(name: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&name.len())
        && name.bytes().all(is_name)
        && !name.eq_ignore_ascii_case("forwarded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_agent_names_the_service_and_its_contact() {
        let mut server = ServerSection::default();
        assert_eq!(server.user_agent("api-server", "1.0"), "svc-api-server/1.0");
        server.public_url = Some("https://api.example.com".to_owned());
        server.brand = "R\u{e4}uber & Co\r\n".to_owned();
        assert_eq!(
            server.user_agent("api-server", "1.0"),
            "RuberCo-api-server/1.0 (+https://api.example.com)"
        );
        server.contact = Some("ops@example.com".to_owned());
        assert!(server.user_agent("x", "1").ends_with(" (+ops@example.com)"));
    }

    #[test]
    fn a_contact_is_an_address_or_a_url() {
        let problems = |contact: &str| {
            let server = ServerSection {
                contact: Some(contact.to_owned()),
                ..ServerSection::default()
            };
            let mut problems = Vec::new();
            server.check(&mut problems);
            problems.len()
        };
        for good in ["ops@example.com", "https://example.com/help?a=1"] {
            assert_eq!(problems(good), 0, "{good}");
        }
        for bad in [
            "",
            "ops",
            "ops@host",
            "a@b@c.d",
            "javascript:alert(1)",
            "a b@c.de",
            "\"@c.de",
            "https://a\r\nb",
        ] {
            assert_eq!(problems(bad), 1, "{bad}");
        }
    }
}
