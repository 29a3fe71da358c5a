//! The address that stands for the client of a request.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use hyper::header::{HeaderMap, HeaderName};

/// The network part of an IPv6 address. One subscriber has at least all addresses of a /64 network.
const NETWORK: u128 = u128::MAX << 64;

/// The address that identifies a caller.
///
/// An IPv6 address stands for its /64 network, because one caller has all of it. An IPv4-mapped
/// IPv6 address is the IPv4 address. A handler gets the address of the connection's peer, or the
/// one in the header [`Limits::client_address_header`](crate::Limits::client_address_header) if
/// that peer may write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// The client address of a peer.
    #[must_use]
    pub fn new(peer: IpAddr) -> Self {
        let IpAddr::V6(v6) = peer else {
            return Self(peer);
        };
        Self(match v6.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & NETWORK)),
        })
    }

    /// The IPv4 address, or the IPv6 network followed by zeros.
    #[must_use]
    pub fn ip(self) -> IpAddr {
        self.0
    }

    /// The last entry of a header. The nearest proxy wrote it, while the client may have written
    /// the earlier ones. The entry may have a port. `None` when the header is missing or its last
    /// entry is not an address.
    pub(crate) fn forwarded(headers: &HeaderMap, name: &HeaderName) -> Option<Self> {
        let line = headers.get_all(name).iter().next_back()?.to_str().ok()?;
        let (_, entry) = line.rsplit_once(',').unwrap_or(("", line));
        let entry = entry.trim();
        let bare = entry
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(entry);
        let address = bare.parse().ok();
        let with_port = || entry.parse::<SocketAddr>().ok().map(|socket| socket.ip());
        address.or_else(with_port).map(Self::new)
    }
}

/// An address, or all addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// The bits of an address of the network that its host has.
    hosts: u128,
}

impl Network {
    /// The network of `address` whose addresses share the first `prefix` bits. A prefix that is
    /// longer than the address means the address alone. An IPv4-mapped IPv6 address is the IPv4
    /// address.
    #[must_use]
    pub fn new(address: IpAddr, prefix: u8) -> Self {
        let address = address.to_canonical();
        let length = if address.is_ipv4() { 32_u32 } else { 128 };
        let networks = u128::MAX.checked_shl(length.saturating_sub(prefix.into()));
        Self {
            address,
            hosts: networks.map_or(u128::MAX, |networks| !networks),
        }
    }

    /// Whether the network has this address.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        let (own, other) = (self.address, address.to_canonical());
        own.is_ipv4() == other.is_ipv4() && (bits(own) ^ bits(other)) & !self.hosts == 0
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    const NAME: HeaderName = HeaderName::from_static("x-forwarded-for");

    fn reduced(text: &str) -> String {
        ClientAddress::new(text.parse().unwrap()).ip().to_string()
    }

    fn forwarded(lines: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(NAME, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        ClientAddress::forwarded(&headers, &NAME).map(|address| address.ip().to_string())
    }

    #[test]
    fn callers_of_one_ipv6_network_count_as_one() {
        for (address, client) in [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::"),
            ("2001:db8:1:3::1", "2001:db8:1:3::"),
            ("::1", "::"),
        ] {
            assert_eq!(reduced(address), client, "{address}");
        }
    }

    #[test]
    fn a_network_has_the_addresses_with_its_first_bits() {
        for (address, prefix, inside, outside) in [
            ("10.0.0.2", 32, "10.0.0.2", "10.0.0.3"),
            ("10.0.0.2", 8, "10.255.0.1", "11.0.0.2"),
            ("10.0.0.2", 31, "10.0.0.3", "10.0.0.4"),
            ("128.0.0.0", 1, "255.0.0.1", "127.255.255.255"),
            ("10.0.0.2", 255, "10.0.0.2", "10.0.0.3"),
            ("10.0.0.2", 32, "::ffff:10.0.0.2", "::10.0.0.2"),
            ("::ffff:10.0.0.2", 24, "10.0.0.77", "10.0.1.2"),
            ("::1", 128, "::1", "::2"),
            ("fd00::", 8, "fdff::1", "fe00::"),
            ("::", 0, "fdff::1", "10.0.0.2"),
            ("0.0.0.0", 0, "10.0.0.2", "fdff::1"),
        ] {
            let network = Network::new(address.parse().unwrap(), prefix);
            assert!(
                network.contains(inside.parse().unwrap()),
                "{address}/{prefix} {inside}"
            );
            assert!(
                !network.contains(outside.parse().unwrap()),
                "{address}/{prefix} {outside}"
            );
        }
    }

    #[test]
    fn the_last_entry_counts_however_it_is_written() {
        for (lines, client) in [
            (&["192.0.2.7"][..], "192.0.2.7"),
            (&["10.9.9.9, 192.0.2.7"], "192.0.2.7"),
            (&["10.9.9.9", "10.8.8.8 ,  192.0.2.7 "], "192.0.2.7"),
            (&["unknown, 192.0.2.7"], "192.0.2.7"),
            (&["192.0.2.7:4711"], "192.0.2.7"),
            (&["2001:db8::1"], "2001:db8::"),
            (&["[2001:db8::1]"], "2001:db8::"),
            (&["[2001:db8::1]:4711"], "2001:db8::"),
            (&["::ffff:192.0.2.7"], "192.0.2.7"),
        ] {
            assert_eq!(forwarded(lines).as_deref(), Some(client), "{lines:?}");
        }
    }

    #[test]
    fn an_invalid_last_entry_gives_no_address() {
        for lines in [
            &[][..],
            &[""],
            &["192.0.2.7,"],
            &["192.0.2.7, unknown"],
            &["192.0.2.7", "for=192.0.2.8"],
            &["192.0.2.7", "192.0.2.8\u{fc}"],
            &["192.0.2"],
            &["192.0.2.7 192.0.2.8"],
            &["[192.0.2.7"],
            &["localhost"],
        ] {
            assert_eq!(forwarded(lines), None, "{lines:?}");
        }
    }
}
