//! Connections to an address with several hosts.
//!
//! This module chooses the host. It leaves the pool of connections to `pool`.

use std::{
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use deadpool_postgres::{ConfigConnectImpl, Connect};
use tokio::{task::JoinHandle, time::timeout};
use tokio_postgres::{Client, Config, Error, config::Host};
use tokio_postgres_rustls::MakeRustlsConnect;

/// A new connection, and the task that drives it.
type Connected = (Client, JoinHandle<()>);

/// The hosts of an address. A connection goes to the first host that answers in time and accepts
/// it.
///
/// A host may be silent: switched off, cut off, or frozen while its kernel still accepts
/// connections. So each host has a time limit of its own, which covers everything up to a usable
/// connection. The host that answered last is asked first: a silent host delays only the
/// connections that are made before another host has answered.
pub(super) struct Hosts {
    /// A configuration for each host.
    hosts: Vec<Config>,
    connect: ConfigConnectImpl<MakeRustlsConnect>,
    limit: Duration,
    /// The index of the host that has answered last.
    answered: AtomicUsize,
}

impl Hosts {
    /// Takes the hosts from `config`. `limit` applies to each of them.
    pub(super) fn new(config: &Config, tls: MakeRustlsConnect, limit: Duration) -> Self {
        let count = config.get_hosts().len();
        Self {
            hosts: (0..count).filter_map(|index| one(config, index)).collect(),
            connect: ConfigConnectImpl { tls },
            limit,
            answered: AtomicUsize::new(0),
        }
    }

    /// Returns how long a connection may take: the sum of the hosts' limits.
    pub(super) fn all_limits(&self) -> Duration {
        let count = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        self.limit.saturating_mul(count)
    }

    /// Connects to the first host that answers in time and accepts writes. The last host has no
    /// limit of its own: it may use the time that the pool has left, which is at least one limit.
    async fn first_to_answer(&self) -> Result<Connected, Error> {
        let mut hosts: Vec<(usize, &Config)> = self.hosts.iter().enumerate().collect();
        let first = self.answered.load(Ordering::Relaxed).min(hosts.len());
        hosts.rotate_left(first);
        let Some((last, host)) = hosts.pop() else {
            // Without a host, the driver returns its own error.
            return self.connect.connect(&Config::new()).await;
        };
        for (index, host) in hosts {
            if let Ok(Ok(connected)) = timeout(self.limit, self.connect.connect(host)).await {
                self.answered.store(index, Ordering::Relaxed);
                return Ok(connected);
            }
        }
        let connected = self.connect.connect(host).await?;
        self.answered.store(last, Ordering::Relaxed);
        Ok(connected)
    }
}

impl Connect for Hosts {
    fn connect(
        &self,
        _all: &Config,
    ) -> Pin<Box<dyn Future<Output = Result<Connected, Error>> + Send + '_>> {
        Box::pin(self.first_to_answer())
    }
}

/// Returns the configuration with one of its hosts. The driver has no way to remove the others.
fn one(config: &Config, index: usize) -> Option<Config> {
    let mut one = Config::new();
    match config.get_hosts().get(index)? {
        Host::Tcp(name) => one.host(name),
        #[cfg(unix)]
        Host::Unix(folder) => one.host_path(folder),
    };
    if let Some(address) = config.get_hostaddrs().get(index) {
        one.hostaddr(*address);
    }
    let ports = config.get_ports();
    if let Some(port) = ports.get(index).or_else(|| ports.first()) {
        one.port(*port);
    }
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(name) = config.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    if let Some(limit) = config.get_connect_timeout() {
        one.connect_timeout(*limit);
    }
    if let Some(limit) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*limit);
    }
    if let Some(interval) = config.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts());
    Some(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every setting of an address applies to each of its hosts.
    #[test]
    fn a_host_of_several_has_the_settings_of_all() {
        let address = |hosts: &str| -> Config {
            format!(
                "postgres://svc:secret@{hosts}/payments?options=-cstatement_timeout%3D1\
                 &application_name=shop&sslmode=require&sslnegotiation=direct&connect_timeout=9\
                 &tcp_user_timeout=8&keepalives=0&keepalives_idle=7&keepalives_interval=6\
                 &keepalives_retries=5&target_session_attrs=read-write&channel_binding=require\
                 &load_balance_hosts=random"
            )
            .parse()
            .unwrap()
        };
        let several = address("db-1:5433,db-2,db-3:5434");
        for (index, host) in (0..).zip(["db-1:5433", "db-2:5432", "db-3:5434"]) {
            assert!(one(&several, index) == Some(address(host)), "{host}");
        }
        assert!(one(&several, 3).is_none());
    }

    #[test]
    fn an_ip_address_belongs_to_its_host() {
        let several: Config = "postgres://a,b/db?hostaddr=10.0.0.1,10.0.0.2"
            .parse()
            .unwrap();
        let second = one(&several, 1).unwrap();
        assert_eq!(second.get_hosts(), [Host::Tcp("b".to_owned())]);
        assert_eq!(second.get_hostaddrs().len(), 1);
        assert_eq!(second.get_hostaddrs()[0].to_string(), "10.0.0.2");
    }
}
