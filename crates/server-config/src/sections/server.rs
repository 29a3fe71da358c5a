//! The section `[server]`: where the server listens, its limits, and how documents name it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
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
    /// answer depends on cookies. [`Self::origins`] has them as browsers write them.
    #[serde(deserialize_with = "lenient::optional_list")]
    pub allowed_origins: Option<Vec<String>>,
    /// The accepted hosts; `*` for all. An entry without a port accepts every port. Each server
    /// defines what an empty list means. [`Self::hosts`] has them in one spelling.
    #[serde(deserialize_with = "lenient::list")]
    pub allowed_hosts: Vec<String>,
    /// How long the head of a request may take, in seconds.
    #[serde(deserialize_with = "lenient::scalar")]
    pub header_timeout_seconds: u64,
    /// How long a connection may be idle between two requests, in seconds.
    #[serde(deserialize_with = "lenient::scalar")]
    pub idle_timeout_seconds: u64,
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
            idle_timeout_seconds: 75,
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

    /// Returns the accepted hosts, and always that of the public URL; empty when no host is named.
    pub fn hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = self
            .allowed_hosts
            .iter()
            .filter_map(|it| host(it))
            .collect();
        if !hosts.is_empty() {
            hosts.extend(self.public_host());
        }
        hosts
    }

    /// Returns the host of the public URL.
    pub fn public_host(&self) -> Option<String> {
        let public = url::Url::parse(self.public_url.as_deref()?).ok()?;
        public.host_str().map(str::to_owned)
    }

    /// Returns the browser origins as browsers write them; `None` without a list.
    pub fn origins(&self) -> Option<Vec<String>> {
        let list = self.allowed_origins.as_ref()?;
        Some(list.iter().filter_map(|it| origin(it)).collect())
    }

    /// Returns the origin of the public URL.
    pub fn public_origin(&self) -> Option<String> {
        self.public_url.as_deref().and_then(|url| {
            let public = url::Url::parse(url).ok()?;
            Some(public.origin().ascii_serialization())
        })
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
            ("server.idle_timeout_seconds", self.idle_timeout_seconds),
            ("server.body_timeout_seconds", self.body_timeout_seconds),
            ("server.write_timeout_seconds", self.write_timeout_seconds),
        ] {
            if value == 0 {
                problems.push(Problem::new(key, "expected at least 1"));
            }
        }
        for (index, entry) in self.allowed_hosts.iter().enumerate() {
            if host(entry).is_none() {
                let message = "expected a host such as api.example.com or 10.0.0.2, with or without a \
                               port, or *";
                let key = format!("server.allowed_hosts[{index}]");
                problems.push(Problem::new(key, message));
            }
        }
        for (index, entry) in self.allowed_origins.iter().flatten().enumerate() {
            if origin(entry).is_none() {
                let message = "expected the origin of a page such as https://app.example.com, or *";
                let key = format!("server.allowed_origins[{index}]");
                problems.push(Problem::new(key, message));
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

/// Reads a host with or without a port, or `*`, and writes it as requests name it.
fn host(text: &str) -> Option<String> {
    if text == "*" {
        return Some(text.to_owned());
    }
    if let Ok(v6) = text.parse::<Ipv6Addr>() {
        return Some(format!("[{v6}]"));
    }
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (text, None),
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let host = url::Host::parse(name).ok()?;
    if host.to_string().contains(['*', ',']) {
        return None;
    }
    match port {
        Some(port) => Some(format!("{host}:{}", port.parse::<u16>().ok()?)),
        None => Some(host.to_string()),
    }
}

/// Reads the origin of a page, or `*`, and writes it as browsers write it: in small letters,
/// without the scheme's own port and without a slash at the end.
fn origin(text: &str) -> Option<String> {
    if text == "*" {
        return Some(text.to_owned());
    }
    let url = url::Url::parse(text).ok()?;
    let is_bare = url.username().is_empty()
        && url.password().is_none()
        && matches!(url.path(), "" | "/")
        && url.query().is_none()
        && url.fragment().is_none();
    let host = url
        .host_str()
        .filter(|host| is_bare && !host.contains('*'))?;
    if url.origin().is_tuple() {
        return Some(url.origin().ascii_serialization());
    }
    // The pages of browser extensions and of apps.
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    Some(format!(
        "{}://{}{port}",
        url.scheme(),
        host.to_ascii_lowercase()
    ))
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

    fn problems(server: &ServerSection) -> Vec<String> {
        let mut problems = Vec::new();
        server.check(&mut problems);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn hosts_are_written_as_requests_name_them() {
        for (entry, written) in [
            ("api.example.com", "api.example.com"),
            ("API.Example.com:8402", "api.example.com:8402"),
            ("api.example.com.", "api.example.com"),
            ("m\u{fc}nchen.example", "xn--mnchen-3ya.example"),
            ("10.0.0.7:80", "10.0.0.7:80"),
            ("::1", "[::1]"),
            ("[::1]", "[::1]"),
            ("[FD00:0::1]:8402", "[fd00::1]:8402"),
            ("my_host", "my_host"),
            ("*", "*"),
        ] {
            let server = ServerSection {
                allowed_hosts: vec![entry.to_owned()],
                ..ServerSection::default()
            };
            assert_eq!(server.hosts(), [written], "{entry}");
            assert_eq!(problems(&server), [""; 0], "{entry}");
        }
        for entry in [
            "",
            "https://api.example.com",
            "api.example.com/",
            "*.example.com",
            "a b",
            "a:b",
            "a:99999",
            "a,b",
            "u@a",
            "[::1",
        ] {
            let server = ServerSection {
                allowed_hosts: vec!["ok.example".to_owned(), entry.to_owned()],
                ..ServerSection::default()
            };
            let said = problems(&server);
            assert!(
                said.len() == 1 && said[0].starts_with("server.allowed_hosts[1]: expected a host"),
                "{entry}: {said:?}"
            );
        }
    }

    #[test]
    fn a_list_of_hosts_has_the_public_one_too() {
        let mut server = ServerSection {
            public_url: Some("https://API.example.com:8443/base".to_owned()),
            ..ServerSection::default()
        };
        assert_eq!(server.hosts(), [""; 0]);
        assert_eq!(
            server.public_origin().unwrap(),
            "https://api.example.com:8443"
        );
        server.allowed_hosts = vec!["inner".to_owned()];
        assert_eq!(server.hosts(), ["inner", "api.example.com"]);
    }

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        for (entry, written) in [
            ("https://App.Example/", "https://app.example"),
            ("https://app.example:443", "https://app.example"),
            ("http://localhost:5173", "http://localhost:5173"),
            (
                "https://m\u{fc}nchen.example",
                "https://xn--mnchen-3ya.example",
            ),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
            ("*", "*"),
        ] {
            let server = ServerSection {
                allowed_origins: Some(vec![entry.to_owned()]),
                ..ServerSection::default()
            };
            assert_eq!(server.origins().unwrap(), [written], "{entry}");
            assert_eq!(problems(&server), [""; 0], "{entry}");
        }
        for entry in [
            "",
            "null",
            "app.example",
            "https://app.example/page",
            "https://app.example?x",
            "https://app.example#x",
            "https://u@app.example",
            "https://*.example",
            "file:///",
            "mailto:a@b.c",
        ] {
            let server = ServerSection {
                allowed_origins: Some(vec![entry.to_owned()]),
                ..ServerSection::default()
            };
            let said = problems(&server);
            assert!(
                said.len() == 1
                    && said[0].starts_with("server.allowed_origins[0]: expected the origin"),
                "{entry}: {said:?}"
            );
        }
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
