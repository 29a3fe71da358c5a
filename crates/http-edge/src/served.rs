//! The hosts and the origins that a server serves, as its configuration names them.

use std::net::IpAddr;

use http::header::{self, HeaderMap};
use http::request::Parts;
use http::uri::Authority;
use http::{Uri, Version};

use crate::refusal::Refusal;

/// The paths that answer under every host, because the probes of load balancers use addresses.
pub const PROBES: [&str; 2] = ["/healthz", "/readyz"];

/// The hosts that a server serves.
///
/// A host is served with and without a port, unless the entry has one. Case and a dot at the end do
/// not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    is_any: bool,
    is_machine: bool,
    list: Vec<Host>,
}

/// A host, and its port if it is named.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    name: String,
    port: Option<u16>,
}

impl Hosts {
    /// All hosts.
    #[must_use]
    pub fn any() -> Self {
        Self {
            is_any: true,
            is_machine: false,
            list: Vec::new(),
        }
    }

    /// The names of the machine itself: `localhost` and its own addresses.
    #[must_use]
    pub fn of_machine() -> Self {
        Self {
            is_any: false,
            is_machine: true,
            list: Vec::new(),
        }
    }

    /// The hosts of a list: names or addresses, each with or without a port; `*` is all hosts.
    #[must_use]
    pub fn listed<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hosts = Self {
            is_any: false,
            is_machine: false,
            list: Vec::new(),
        };
        for entry in entries {
            hosts.add(entry);
        }
        hosts
    }

    /// Adds an entry. One that is no host serves nothing.
    pub fn add(&mut self, entry: &str) {
        self.is_any |= entry == "*";
        if let Some(host) = Host::read(entry)
            && !(self.is_machine && is_loopback(&host.name))
        {
            self.list.push(host);
        }
    }

    /// Whether only the machine itself is served.
    #[must_use]
    pub fn are_machine_only(&self) -> bool {
        !self.is_any && self.is_machine && self.list.is_empty()
    }

    /// Whether the host of a request is served. A request without one is not, unless all are.
    #[must_use]
    pub fn serve(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        self.is_any || host(uri, headers).is_some_and(|host| self.has(host))
    }

    fn has(&self, authority: &str) -> bool {
        Host::read(authority).is_some_and(|host| {
            let is_entry = |entry: &Host| {
                entry.name == host.name && (entry.port.is_none() || entry.port == host.port)
            };
            (self.is_machine && is_loopback(&host.name)) || self.list.iter().any(is_entry)
        })
    }
}

impl Host {
    /// Reads `host`, `host:port`, `[v6]` or `[v6]:port`.
    fn read(authority: &str) -> Option<Self> {
        let parsed: Authority = authority.parse().ok()?;
        if authority.contains(['@', ',']) {
            return None;
        }
        let port = match authority.get(parsed.host().len()..)? {
            "" => None,
            rest => Some(rest.strip_prefix(':')?.parse().ok()?),
        };
        let name = parsed.host().to_ascii_lowercase();
        let name = name.strip_suffix('.').unwrap_or(&name);
        let v6 = bare(name).parse().ok().filter(IpAddr::is_ipv6);
        Some(Self {
            name: v6.map_or_else(|| name.to_owned(), |v6| format!("[{v6}]")),
            port,
        })
    }
}

/// The origins whose pages a server serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins {
    is_any: bool,
    is_machine: bool,
    list: Vec<String>,
}

impl Origins {
    /// All origins.
    #[must_use]
    pub fn any() -> Self {
        Self::listed(["*"])
    }

    /// The pages of the machine itself.
    #[must_use]
    pub fn of_machine() -> Self {
        Self {
            is_any: false,
            is_machine: true,
            list: Vec::new(),
        }
    }

    /// The origins of a list, in the form in which browsers write them; `*` is all origins.
    #[must_use]
    pub fn listed<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        let list: Vec<String> = entries.into_iter().map(str::to_ascii_lowercase).collect();
        Self {
            is_any: list.iter().any(|entry| entry == "*"),
            is_machine: false,
            list,
        }
    }

    /// Adds an origin.
    pub fn add(&mut self, origin: &str) {
        self.list.push(origin.to_ascii_lowercase());
    }

    /// Whether all origins are served.
    #[must_use]
    pub fn are_any(&self) -> bool {
        self.is_any
    }

    /// Whether pages of an origin are served.
    #[must_use]
    pub fn serve(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let of_machine = || {
            let scheme = ["http://", "https://"];
            let mut hosts = scheme.iter().filter_map(|it| origin.strip_prefix(it));
            hosts.any(|host| Host::read(host).is_some_and(|host| is_loopback(&host.name)))
        };
        self.is_any || self.list.contains(&origin) || (self.is_machine && of_machine())
    }
}

/// The host that a request names: a target in absolute form names it by itself (RFC 9112, 3.2.2).
fn host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let of_target = uri.authority().map(Authority::as_str);
    of_target.or_else(|| headers.get(header::HOST)?.to_str().ok())
}

/// Checks that a request has one `Host`, as HTTP/1.1 requires (RFC 9112, 3.2).
pub(crate) fn check_host(parts: &Parts) -> Result<(), Refusal> {
    let mut lines = parts.headers.get_all(header::HOST).iter();
    match (lines.next(), lines.next()) {
        (None, _) if parts.version < Version::HTTP_11 => Ok(()),
        (None, _) => Err(Refusal::NoHost),
        (Some(_), Some(_)) => Err(Refusal::Hosts),
        (Some(host), None) if host.is_empty() => Ok(()),
        (Some(host), None) => {
            let host = host.to_str().ok().and_then(Host::read);
            host.map(|_| ()).ok_or(Refusal::BadHost)
        }
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || bare(host)
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// An IPv6 address without its brackets, or the host as it is.
fn bare(host: &str) -> &str {
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn serves(hosts: &Hosts, target: &str, host: &str) -> bool {
        let request = Request::get(target).header("host", host).body(()).unwrap();
        hosts.serve(request.uri(), request.headers())
    }

    #[test]
    fn a_host_is_served_under_any_port_unless_its_entry_has_one() {
        let hosts = Hosts::listed([
            "api.example.com",
            "inner.example:8402",
            "[fd00::1]",
            "10.0.0.7",
        ]);
        for host in [
            "api.example.com",
            "API.example.com:8402",
            "api.example.com.",
            "api.example.com.:443",
            "inner.example:8402",
            "[fd00:0::1]:9",
            "10.0.0.7:80",
        ] {
            assert!(serves(&hosts, "/", host), "{host}");
        }
        for host in [
            "",
            "example.com",
            "a.api.example.com",
            "api.example.com.evil.example",
            "inner.example",
            "inner.example:8403",
            "localhost",
            "api.example.com@evil.example",
            "evil@api.example.com",
            "api.example.com:80:80",
            "api.example.com:x",
            "api.example.com/",
            "[fd00::2]",
        ] {
            assert!(!serves(&hosts, "/", host), "{host}");
        }
        assert!(serves(
            &Hosts::listed(["x.example", "*"]),
            "/",
            "any.example"
        ));
        assert!(serves(&Hosts::any(), "/", ""));
        let none = Request::get("/").body(()).unwrap();
        assert!(!hosts.serve(none.uri(), none.headers()));
    }

    #[test]
    fn an_absolute_target_names_the_host() {
        let hosts = Hosts::listed(["api.example.com"]);
        assert!(serves(
            &hosts,
            "http://api.example.com:80/x",
            "other.example"
        ));
        assert!(!serves(&hosts, "http://other.example/x", "api.example.com"));
    }

    #[test]
    fn the_machine_has_its_own_names() {
        let mut hosts = Hosts::of_machine();
        hosts.add("127.0.0.1");
        assert!(hosts.are_machine_only() && !Hosts::any().are_machine_only());
        for host in ["localhost:1", "LOCALHOST", "127.9.9.9:80", "[::1]:8403"] {
            assert!(serves(&hosts, "/", host), "{host}");
        }
        for host in [
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "0.0.0.0",
            "[::2]",
        ] {
            assert!(!serves(&hosts, "/", host), "{host}");
        }
        hosts.add("mcp.example.com");
        assert!(!hosts.are_machine_only());
        assert!(serves(&hosts, "/", "mcp.example.com:443"));
    }

    #[test]
    fn origins_are_compared_as_browsers_write_them() {
        let origins = Origins::listed(["https://App.example", "chrome-extension://abc"]);
        for origin in [
            "https://app.example",
            "HTTPS://APP.example",
            "chrome-extension://abc",
        ] {
            assert!(origins.serve(origin), "{origin}");
        }
        for origin in [
            "https://app.example:8443",
            "http://app.example",
            "null",
            "",
            "http://localhost",
        ] {
            assert!(!origins.serve(origin), "{origin}");
        }
        let machine = Origins::of_machine();
        for origin in [
            "http://localhost:5173",
            "https://127.0.0.1",
            "http://[::1]:3",
        ] {
            assert!(machine.serve(origin), "{origin}");
        }
        for origin in [
            "ftp://localhost",
            "http://localhost/",
            "http://localhost@evil.example",
        ] {
            assert!(!machine.serve(origin), "{origin}");
        }
        assert!(Origins::any().serve("null") && Origins::any().are_any() && !machine.are_any());
    }

    #[test]
    fn a_request_has_one_host() {
        let check = |version, hosts: &[&str]| {
            let mut request = Request::get("/").version(version);
            for host in hosts {
                request = request.header("host", *host);
            }
            check_host(&request.body(()).unwrap().into_parts().0)
        };
        for host in ["x", "", "x:80", "my_host", "[::1]:1", "10.0.0.7:8402"] {
            assert_eq!(check(Version::HTTP_11, &[host]), Ok(()), "{host}");
        }
        for host in ["a, b", "a,b", "a b", "a/b", "u@a", "a:x", "a?"] {
            let refused = check(Version::HTTP_11, &[host]);
            assert_eq!(refused, Err(Refusal::BadHost), "{host}");
        }
        assert_eq!(check(Version::HTTP_11, &[]), Err(Refusal::NoHost));
        assert_eq!(check(Version::HTTP_10, &[]), Ok(()));
        for version in [Version::HTTP_10, Version::HTTP_11] {
            assert_eq!(check(version, &["x", "x"]), Err(Refusal::Hosts));
        }
    }
}
