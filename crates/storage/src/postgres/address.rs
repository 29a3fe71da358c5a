//! The address of a database: one form for the driver, and one that may be printed.

use std::{fmt, str::FromStr};

use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};

use super::PostgresError;

/// The schemes of a PostgreSQL URL.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// A checked `postgres://` URL. Its printed forms have the hosts, the ports and the database, and
/// never the user or the password.
#[derive(Clone)]
pub struct Address {
    config: Config,
}

impl Address {
    /// Whether `url` has the scheme of a PostgreSQL database.
    #[must_use]
    pub fn is_postgres(url: &str) -> bool {
        url.split_once("://")
            .is_some_and(|(scheme, _)| SCHEMES.contains(&scheme))
    }

    /// The hosts to which a connection may be without TLS: all hosts of a network, unless the
    /// address requires TLS.
    #[must_use]
    pub fn unencrypted_hosts(&self) -> Vec<String> {
        if self.config.get_ssl_mode() == SslMode::Require {
            return Vec::new();
        }
        let hosts = self.config.get_hosts().iter();
        let names = hosts.filter_map(|host| match host {
            Host::Tcp(name) => Some(name.clone()),
            #[cfg(unix)]
            Host::Unix(_) => None,
        });
        names.collect()
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }
}

impl FromStr for Address {
    type Err = PostgresError;

    /// Reads a URL.
    ///
    /// # Errors
    ///
    /// [`UnsupportedAddress`](PostgresError::UnsupportedAddress) with the reason. It does not
    /// repeat the text.
    fn from_str(url: &str) -> Result<Self, PostgresError> {
        let refused = |reason: String| PostgresError::UnsupportedAddress { reason };
        if !Self::is_postgres(url) {
            return Err(refused("it does not begin with postgres://".to_owned()));
        }
        let config = url.parse::<Config>().map_err(|error| {
            // The driver's error names the member that is wrong, and never repeats its value.
            let source = std::error::Error::source(&error);
            refused(source.map_or_else(|| error.to_string(), ToString::to_string))
        })?;
        if config.get_hosts().is_empty() {
            return Err(refused("it names no host".to_owned()));
        }
        if config.get_dbname().is_none() {
            return Err(refused("it names no database".to_owned()));
        }
        Ok(Self { config })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        let ports = self.config.get_ports();
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            match host {
                Host::Tcp(name) => f.write_str(name)?,
                #[cfg(unix)]
                Host::Unix(folder) => write!(f, "{}", folder.display())?,
            }
            let port = ports.get(index).or_else(|| ports.first());
            if let Some(port) = port {
                write!(f, ":{port}")?;
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_address_has_no_user_and_no_password() {
        let address: Address =
            "postgres://svc:secret@db.example:5433,standby/payments?sslmode=require"
                .parse()
                .unwrap();
        assert_eq!(
            address.to_string(),
            "postgres://db.example:5433,standby:5432/payments"
        );
        assert!(!format!("{address:?}").contains("secret"));
    }

    #[test]
    fn only_an_address_that_requires_tls_is_always_encrypted() {
        for (options, hosts) in [
            ("", &["db.example", "10.0.0.1"][..]),
            ("?sslmode=prefer", &["db.example", "10.0.0.1"]),
            ("?sslmode=disable", &["db.example", "10.0.0.1"]),
            ("?sslmode=require", &[]),
        ] {
            let url =
                format!("postgres://svc@db.example,10.0.0.1,%2Frun%2Fpostgres/payments{options}");
            let address: Address = url.parse().unwrap();
            assert_eq!(address.unencrypted_hosts(), hosts, "{options}");
        }
    }

    #[test]
    fn text_that_is_no_address_is_refused_without_being_repeated() {
        for (url, reason) in [
            (
                "sqlite://data/service.db",
                "it does not begin with postgres://",
            ),
            ("postgres://u:secret@/db", "it names no host"),
            ("postgres://u:secret@host", "it names no database"),
            (
                "postgres://u:secret@host:port/db",
                "invalid value for option `port`",
            ),
        ] {
            let error = url.parse::<Address>().unwrap_err();
            assert_eq!(error.code(), "postgres_unsupported_address");
            let text = error.to_string();
            assert!(text.contains(reason), "{text}");
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
