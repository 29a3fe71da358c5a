//! A test of a server with a replica. On a machine without PostgreSQL it passes without effect.

use std::net::TcpStream;

use postgres_cluster::{Cluster, ClusterError};

#[test]
fn a_server_stops_with_its_value_and_a_replica_takes_over() {
    if !Cluster::is_installed() {
        return;
    }
    let mut primary = Cluster::start().unwrap();
    let standby = Cluster::standby_of(&primary).unwrap();
    assert_ne!(primary.address(), standby.address());
    let refused = primary.promote();
    assert!(
        matches!(refused, Err(ClusterError::Failed { .. })),
        "{refused:?}"
    );
    primary.stop_immediately().unwrap();
    assert!(TcpStream::connect(primary.address()).is_err());
    standby.promote().unwrap();
    primary.resume().unwrap();
    let addresses = [primary.address(), standby.address()];
    for address in addresses {
        TcpStream::connect(address).unwrap();
    }
    drop((primary, standby));
    for address in addresses {
        assert!(TcpStream::connect(address).is_err());
    }
}
