//! Converts the section `[server]` into limits of the HTTP edge.

use std::time::Duration;

use http_edge::{Limits, Network};
use server_config::ServerSection;

/// Returns the limits of the HTTP edge that the section states.
#[must_use]
pub fn limits(server: &ServerSection) -> Limits {
    let header = server.client_address_header.as_ref();
    Limits {
        max_connections: server.max_connections,
        max_connections_per_address: server.max_connections_per_address,
        trusted_proxies: server
            .proxy_networks()
            .map(|(address, prefix)| Network::new(address, prefix))
            .collect(),
        max_header_bytes: server.max_header_bytes,
        max_body_bytes: server.max_body_bytes,
        header_timeout: Duration::from_secs(server.header_timeout_seconds),
        idle_timeout: Duration::from_secs(server.idle_timeout_seconds),
        body_timeout: Duration::from_secs(server.body_timeout_seconds),
        write_timeout: Duration::from_secs(server.write_timeout_seconds),
        drain: Duration::from_secs(server.drain_seconds),
        shutdown_grace: Duration::from_secs(server.shutdown_grace_seconds),
        client_address_header: header.and_then(|name| name.parse().ok()),
        ..Limits::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_section_gives_the_default_limits_of_the_edge() {
        let limits = limits(&ServerSection::default());
        assert_eq!(format!("{limits:?}"), format!("{:?}", Limits::default()));
    }

    #[test]
    fn every_key_sets_its_limit() {
        let section = ServerSection {
            max_connections: 1,
            max_header_bytes: 2,
            max_body_bytes: 3,
            header_timeout_seconds: 4,
            body_timeout_seconds: 5,
            write_timeout_seconds: 6,
            drain_seconds: 7,
            shutdown_grace_seconds: 8,
            client_address_header: Some("x-real-ip".to_owned()),
            idle_timeout_seconds: 10,
            max_connections_per_address: 9,
            trusted_proxies: vec!["10.0.0.0/24".to_owned(), "::1".to_owned()],
            ..ServerSection::default()
        };
        let limits = limits(&section);
        assert_eq!(
            (
                limits.max_connections,
                limits.max_header_bytes,
                limits.max_body_bytes
            ),
            (1, 2, 3)
        );
        let times = [
            limits.header_timeout,
            limits.body_timeout,
            limits.write_timeout,
            limits.drain,
            limits.shutdown_grace,
            limits.idle_timeout,
        ];
        assert_eq!(times.map(|time| time.as_secs()), [4, 5, 6, 7, 8, 10]);
        assert_eq!(limits.max_connections_per_address, 9);
        assert_eq!(
            limits.trusted_proxies,
            [
                Network::new([10, 0, 0, 0].into(), 24),
                Network::new(std::net::Ipv6Addr::LOCALHOST.into(), 128)
            ]
        );
        let header = limits.client_address_header;
        assert_eq!(
            header.map(|name| name.to_string()),
            Some("x-real-ip".to_owned())
        );
    }
}
