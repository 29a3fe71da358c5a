//! Accepts or refuses `Host` and `Origin` values. A page in a browser must not reach a local server
//! without its user's knowledge (DNS rebinding), and must not read the answers of a server that
//! does not expect it.

use std::net::{IpAddr, SocketAddr};

use http::header::ORIGIN;
use http::request::Parts;
use http_edge::{Hosts, Origins};
use server_config::ServerSection;
use thiserror::Error;

/// The reason why a request is refused before its body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Intruder {
    /// The `Origin` is not accepted, is repeated, or is not an origin.
    #[error("this Origin is not served; server.allowed_origins names those that are")]
    Origin,
    /// The host of the target or of `Host` is not accepted, or is missing.
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
    origins: Origins,
    hosts: Hosts,
}

impl Guard {
    /// Accepts the values that a configuration lists, and always the server's own public URL.
    /// Without a list it accepts the machine itself, and as a host the address that the server
    /// listens on.
    pub(crate) fn new(server: &ServerSection, listening: SocketAddr) -> Self {
        let mut origins = server.origins().map_or_else(Origins::of_machine, |list| {
            Origins::listed(list.iter().map(String::as_str))
        });
        if let Some(public) = server.public_origin() {
            origins.add(&public);
        }
        let listed = server.hosts();
        let hosts = if listed.is_empty() {
            let mut hosts = Hosts::of_machine();
            if let Some(public) = server.public_host() {
                hosts.add(&public);
            }
            match listening.ip() {
                ip if ip.is_unspecified() => {}
                IpAddr::V4(ip) => hosts.add(&ip.to_string()),
                IpAddr::V6(ip) => hosts.add(&format!("[{ip}]")),
            }
            hosts
        } else {
            Hosts::listed(listed.iter().map(String::as_str))
        };
        Self { origins, hosts }
    }

    /// Whether only the machine itself can reach this server.
    pub(crate) fn is_local_only(&self) -> bool {
        self.hosts.are_machine_only()
    }

    /// Checks a request. The edge has checked that it has one `Host`.
    ///
    /// # Errors
    /// The header that keeps the request out.
    pub(crate) fn admit(&self, parts: &Parts) -> Result<(), Intruder> {
        let mut origins = parts.headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => {}
            (Some(origin), None) if origin.to_str().is_ok_and(|it| self.origins.serve(it)) => {}
            _ => return Err(Intruder::Origin),
        }
        if self.hosts.serve(&parts.uri, &parts.headers) {
            Ok(())
        } else {
            Err(Intruder::Host)
        }
    }
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
