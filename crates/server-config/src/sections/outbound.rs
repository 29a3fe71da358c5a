//! `[outbound]`: to which hosts the server may connect without TLS.

use serde::Deserialize;
use url::{Host, Url};

use crate::{Problem, lenient};

/// `[outbound]`: connections to other hosts.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutboundSection {
    /// The hosts of a private network that may be reached over plain `http`, or as a database
    /// without TLS. This machine itself always may.
    #[serde(deserialize_with = "lenient::list")]
    pub allow_http_hosts: Vec<String>,
}

impl OutboundSection {
    /// Checks the list. Each entry is a name or an address, without scheme and port.
    pub fn check(&self, problems: &mut Vec<Problem>) {
        for (index, entry) in self.allow_http_hosts.iter().enumerate() {
            if host(entry).is_none() {
                problems.push(Problem::new(
                    format!("outbound.allow_http_hosts[{index}]"),
                    "expected the name or the address of a host, without scheme and port",
                ));
            }
        }
    }

    /// Reports a problem when `url` is plain `http` to a host that is neither this machine nor
    /// allowed. A text that is no URL is for another check. The URL is never printed: it may hold a
    /// key.
    pub fn check_url(&self, problems: &mut Vec<Problem>, key: &str, url: &str) {
        let Ok(url) = Url::parse(url) else { return };
        let is_plain = url.scheme() == "http";
        if is_plain && !url.host_str().is_some_and(|host| self.may_be_plain(host)) {
            let message = "expected https://: plain http goes to this machine and to the hosts of \
                           outbound.allow_http_hosts only";
            problems.push(Problem::new(key, message));
        }
    }

    /// Reports a problem for each host of a database that would be reached without TLS, and is
    /// neither this machine nor allowed.
    pub fn check_database<'a>(
        &self,
        problems: &mut Vec<Problem>,
        key: &str,
        hosts: impl IntoIterator<Item = &'a str>,
    ) {
        for host in hosts {
            if !self.may_be_plain(host) {
                let message = format!(
                    "the connection to {host} may be unencrypted: expected ?sslmode=require, or the \
                     host in outbound.allow_http_hosts"
                );
                problems.push(Problem::new(key, message));
            }
        }
    }

    /// Whether a connection to this host may be without TLS.
    fn may_be_plain(&self, name: &str) -> bool {
        let Some(asked) = host(name) else {
            return false;
        };
        let is_here = match &asked {
            Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };
        is_here
            || self
                .allow_http_hosts
                .iter()
                .any(|entry| host(entry) == Some(asked.clone()))
    }
}

/// Reads the name or the address of a host. An IPv6 address may be in brackets.
fn host(text: &str) -> Option<Host> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.contains(':') && !text.starts_with('[') {
        return Host::parse(&format!("[{text}]")).ok();
    }
    Host::parse(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(hosts: &[&str]) -> OutboundSection {
        OutboundSection {
            allow_http_hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        }
    }

    #[test]
    fn plain_http_goes_to_this_machine_and_to_named_hosts_only() {
        let named = section(&["Node.internal", "10.1.2.3", "fd00::1"]);
        for (url, is_allowed) in [
            ("https://node.example", true),
            ("http://127.0.0.1:8545/", true),
            ("http://127.7.7.7/", true),
            ("http://[::1]:8545/", true),
            ("http://localhost:8545", true),
            ("http://api.localhost:8545", true),
            ("http://node.internal:8545/key", true),
            ("http://NODE.INTERNAL./", true),
            ("http://10.1.2.3/", true),
            ("http://0x0a010203/", true),
            ("http://[fd00::1]/", true),
            ("http://node.example/key", false),
            ("http://xnode.internal/", false),
            ("http://node.internal.example/", false),
            ("http://localhost.example/", false),
            ("http://10.1.2.4/", false),
            ("http://[::ffff:127.0.0.1]/", false),
            ("http://user@node.example@127.0.0.1.example/", false),
            ("no url", true),
        ] {
            let mut problems = Vec::new();
            named.check_url(&mut problems, "a.b", url);
            assert_eq!(problems.is_empty(), is_allowed, "{url}: {problems:?}");
            assert!(!format!("{problems:?}").contains("/key"), "{problems:?}");
        }
        let mut problems = Vec::new();
        named.check_database(
            &mut problems,
            "a.b",
            ["localhost", "::1", "node.internal", "db.example"],
        );
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].to_string().contains("db.example"));
    }

    #[test]
    fn an_entry_is_a_host_alone() {
        for (entry, is_host) in [
            ("db", true),
            ("10.0.0.1", true),
            ("::1", true),
            ("[::1]", true),
            ("", false),
            ("http://db", false),
            ("db:5432", false),
            ("db/x", false),
        ] {
            let mut problems = Vec::new();
            section(&[entry]).check(&mut problems);
            assert_eq!(problems.is_empty(), is_host, "{entry}: {problems:?}");
        }
    }
}
