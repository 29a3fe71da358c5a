//! Counts the open connections of each client address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ClientAddress;

/// The open connections of each address. An address without connections takes no memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connections(Arc<Mutex<HashMap<ClientAddress, usize>>>);

impl Connections {
    /// Counts a connection of `address` until the returned place is dropped. `None` when the
    /// address has `most` connections already. Without a limit nothing is counted.
    pub(crate) fn open(&self, address: ClientAddress, most: Option<usize>) -> Option<Place> {
        let Some(most) = most else {
            return Some(Place(None));
        };
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = counts.get(&address).copied().unwrap_or(0);
        if open >= most {
            return None;
        }
        counts.insert(address, open.saturating_add(1));
        Some(Place(Some((self.clone(), address))))
    }

    fn close(&self, address: ClientAddress) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(&address) {
            Some(open) if *open > 1 => *open = open.saturating_sub(1),
            _ => {
                counts.remove(&address);
            }
        }
    }
}

/// One open connection.
#[derive(Debug)]
pub(crate) struct Place(Option<(Connections, ClientAddress)>);

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((connections, address)) = self.0.take() {
            connections.close(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> ClientAddress {
        ClientAddress::new(text.parse().unwrap())
    }

    #[test]
    fn each_address_has_its_places_and_gets_them_back() {
        let connections = Connections::default();
        let open = |text| connections.open(address(text), Some(2));
        let (first, second) = (open("192.0.2.1").unwrap(), open("192.0.2.1").unwrap());
        assert!(open("192.0.2.1").is_none() && open("::ffff:192.0.2.1").is_none());
        let other = open("192.0.2.2").unwrap();
        drop(first);
        let third = open("192.0.2.1").unwrap();
        assert!(open("192.0.2.1").is_none());
        drop((second, third, other));
        assert!(connections.0.lock().unwrap().is_empty());
    }

    #[test]
    fn an_ipv6_network_is_one_address() {
        let connections = Connections::default();
        let open = |text| connections.open(address(text), Some(1));
        let _held = open("2001:db8:1:2::1").unwrap();
        assert!(open("2001:db8:1:2:ffff::9").is_none());
        assert!(open("2001:db8:1:3::1").is_some());
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let connections = Connections::default();
        let _held = connections.open(address("192.0.2.1"), None).unwrap();
        assert!(connections.open(address("192.0.2.1"), Some(1)).is_some());
    }
}
