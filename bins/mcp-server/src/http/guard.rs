//! Accepts or refuses `Host` and `Origin` values. A page in a browser must not reach a local server
//! without its user's knowledge (DNS rebinding), and must not read the answers of a server that
//! does not expect it.

use std::net::{IpAddr, SocketAddr};

use http::header::{HOST, HeaderMap, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use server_config::ServerSection;
use thiserror::Error;
use url::Url;

/// The reason why a request is refused before its body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Intruder {
    /// The `Origin` is not accepted, is repeated, or is not an origin.
    #[error("this Origin is not served; server.allowed_origins names those that are")]
    Origin,
    /// The `Host` is not accepted, is repeated, or is missing.
    #[error(
        "this Host is not served; server.public_url and server.allowed_hosts name those that are"
    )]
    Host,
}

impl Intruder {
    /// The stable code of this refusal.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Origin => "origin_not_served",
            Self::Host => "host_not_served",
        }
    }
}

/// The accepted values.
#[derive(Debug)]
pub(crate) struct Guard {
    origins: Allowed,
    hosts: Allowed,
}

#[derive(Debug)]
enum Allowed {
    Any,
    These {
        /// Whether names of the machine itself are accepted.
        loopback: bool,
        list: Vec<String>,
    },
}

impl Guard {
    /// Accepts the values that a configuration lists, and always the server's own public URL.
    /// Without a list it accepts the machine itself, and as a host the address that the server
    /// listens on.
    pub(crate) fn new(server: &ServerSection, listening: SocketAddr) -> Self {
        let public = server
            .public_url
            .as_deref()
            .and_then(|url| Url::parse(url).ok());
        let mut origins = Allowed::new(server.allowed_origins.as_deref());
        let mut hosts =
            Allowed::new(Some(server.allowed_hosts.as_slice()).filter(|hosts| !hosts.is_empty()));
        if let Some(public) = &public {
            origins.add(public.origin().ascii_serialization());
            hosts.add(public.host_str().unwrap_or_default().to_owned());
        }
        if server.allowed_hosts.is_empty() && !listening.ip().is_unspecified() {
            hosts.add(match listening.ip() {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
        Self { origins, hosts }
    }

    /// Whether only the machine itself can reach this server.
    pub(crate) fn is_local_only(&self) -> bool {
        matches!(&self.hosts, Allowed::These { loopback: true, list } if list.is_empty())
    }

    /// Checks a request.
    ///
    /// # Errors
    /// The header that keeps the request out.
    pub(crate) fn admit(&self, parts: &Parts) -> Result<(), Intruder> {
        let origin = only(&parts.headers, ORIGIN).ok_or(Intruder::Origin)?;
        if origin.is_some_and(|origin| !self.serves_origin(origin)) {
            return Err(Intruder::Origin);
        }
        let host = only(&parts.headers, HOST).ok_or(Intruder::Host)?;
        // A target in absolute form names the host by itself (RFC 9112, 3.2.2).
        let host = parts.uri.authority().map(Authority::as_str).or(host);
        match host {
            Some(host) if self.serves_host(host) => Ok(()),
            _ => Err(Intruder::Host),
        }
    }

    fn serves_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        match &self.origins {
            Allowed::Any => true,
            Allowed::These { loopback, list } => {
                let of_machine = || {
                    origin
                        .strip_prefix("http://")
                        .or_else(|| origin.strip_prefix("https://"))
                        .and_then(host_of)
                        .is_some_and(|host| is_loopback(&host))
                };
                list.contains(&origin) || (*loopback && of_machine())
            }
        }
    }

    fn serves_host(&self, authority: &str) -> bool {
        let authority = authority.to_ascii_lowercase();
        match &self.hosts {
            Allowed::Any => true,
            Allowed::These { loopback, list } => host_of(&authority).is_some_and(|host| {
                list.contains(&host)
                    || list.contains(&authority)
                    || (*loopback && is_loopback(&host))
            }),
        }
    }
}

impl Allowed {
    fn new(list: Option<&[String]>) -> Self {
        match list {
            None => Self::These {
                loopback: true,
                list: Vec::new(),
            },
            Some(list) if list.iter().any(|item| item == "*") => Self::Any,
            Some(list) => Self::These {
                loopback: false,
                list: list.iter().map(|item| item.to_ascii_lowercase()).collect(),
            },
        }
    }

    fn add(&mut self, item: String) {
        match self {
            Self::These { loopback, list } if !(*loopback && is_loopback(&item)) => list.push(item),
            _ => {}
        }
    }
}

/// The value of a header that may occur once: `None` when it is repeated or is not text.
fn only(headers: &HeaderMap, name: http::HeaderName) -> Option<Option<&str>> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Some(None),
        (Some(value), None) => value.to_str().ok().map(Some),
        (Some(_), Some(_)) => None,
    }
}

/// The host of `host`, `host:port` or `[v6]:port`; `None` when there is user information or a
/// suffix.
fn host_of(authority: &str) -> Option<String> {
    let parsed: Authority = authority.parse().ok()?;
    (!authority.contains('@')).then(|| parsed.host().to_owned())
}

fn is_loopback(host: &str) -> bool {
    let address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn guard(server: ServerSection, listening: &str) -> Guard {
        Guard::new(&server, listening.parse().unwrap())
    }

    fn admit(guard: &Guard, headers: &[(&str, &str)]) -> Result<(), Intruder> {
        let mut request = Request::post("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.admit(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn by_default_the_machine_itself_and_the_public_url_are_served() {
        let public = ServerSection {
            public_url: Some("https://MCP.example.com/base".to_owned()),
            ..ServerSection::default()
        };
        let guard = guard(public, "10.1.2.3:8403");
        assert!(!guard.is_local_only());
        for host in [
            "localhost",
            "LOCALHOST:8403",
            "127.0.0.1",
            "127.0.0.1:1",
            "127.9.9.9:80",
            "[::1]:8403",
            "mcp.example.com",
            "mcp.example.com:443",
            "10.1.2.3:8403",
        ] {
            assert_eq!(admit(&guard, &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "evil.example.com",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "example.com",
            "a.mcp.example.com",
            "localhost@evil.example",
            "evil@localhost",
            "",
            "[::2]",
            "10.1.2.4",
            "localhost:8403:1",
            "localhost/",
            "[::1",
            "0.0.0.0",
        ] {
            assert_eq!(
                admit(&guard, &[("host", host)]),
                Err(Intruder::Host),
                "{host}"
            );
        }
        assert_eq!(admit(&guard, &[]), Err(Intruder::Host));
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(admit(&guard, &twice), Err(Intruder::Host));
        for origin in [
            "http://localhost",
            "http://localhost:5173",
            "https://127.0.0.1:1",
            "http://[::1]:3",
            "https://mcp.example.com",
            "HTTPS://MCP.example.com",
        ] {
            assert_eq!(
                admit(&guard, &[("host", "localhost"), ("origin", origin)]),
                Ok(()),
                "{origin}"
            );
        }
        for origin in [
            "http://evil.example.com",
            "null",
            "",
            "http://mcp.example.com",
            "https://mcp.example.com:8443",
            "https://mcp.example.com.evil.example",
            "http://localhost.evil.example",
            "ftp://localhost",
            "http://localhost/",
            "http://localhost@evil.example",
            "localhost",
            "file://localhost",
        ] {
            let refused = admit(&guard, &[("host", "localhost"), ("origin", origin)]);
            assert_eq!(refused, Err(Intruder::Origin), "{origin}");
        }
        let twice = [
            ("host", "localhost"),
            ("origin", "http://localhost"),
            ("origin", "http://localhost"),
        ];
        assert_eq!(admit(&guard, &twice), Err(Intruder::Origin));
    }

    #[test]
    fn a_list_is_all_that_is_served_beside_the_public_url() {
        let listed = guard(
            ServerSection {
                public_url: Some("https://mcp.example.com".to_owned()),
                allowed_origins: Some(vec!["https://App.example".to_owned()]),
                allowed_hosts: vec!["inner.example:8403".to_owned(), "inner2.example".to_owned()],
                ..ServerSection::default()
            },
            "10.1.2.3:8403",
        );
        for host in ["inner.example:8403", "inner2.example:1", "mcp.example.com"] {
            assert_eq!(admit(&listed, &[("host", host)]), Ok(()), "{host}");
            let headers = [("host", host), ("origin", "https://app.example")];
            assert_eq!(admit(&listed, &headers), Ok(()), "{host}");
            let headers = [("host", host), ("origin", "http://localhost")];
            assert_eq!(admit(&listed, &headers), Err(Intruder::Origin));
        }
        for host in [
            "localhost",
            "10.1.2.3:8403",
            "inner.example",
            "inner.example:8404",
        ] {
            assert_eq!(
                admit(&listed, &[("host", host)]),
                Err(Intruder::Host),
                "{host}"
            );
        }
        let any = guard(
            ServerSection {
                allowed_origins: Some(vec!["*".to_owned()]),
                allowed_hosts: vec!["*".to_owned()],
                ..ServerSection::default()
            },
            "0.0.0.0:1",
        );
        let headers = [("host", "evil.example"), ("origin", "http://evil.example")];
        assert_eq!(admit(&any, &headers), Ok(()));
    }

    #[test]
    fn a_server_for_the_machine_itself_is_known_as_one() {
        for (listening, local) in [
            ("127.0.0.1:1", true),
            ("0.0.0.0:1", true),
            ("10.0.0.1:1", false),
        ] {
            assert_eq!(
                guard(ServerSection::default(), listening).is_local_only(),
                local
            );
        }
    }
}
