//! `[storage]`: the place of the ledger and of all stores beside it, and how long they keep what.

use std::path::PathBuf;

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use server_config::{lenient, read_secret_file};
use storage::{StoreOptions, postgres::Address};

use super::problem;
use crate::config::Problem;

/// The URL of the ledger in a configuration that names none.
const USUAL_URL: &str = "sqlite://data/service.db";

/// The shortest lease: enough for heartbeats that are three quarters of a second apart.
const LEAST_LEASE_SECONDS: u32 = 3;

/// The fewest connections: one for calls, and one for heartbeats, which calls must not delay.
const LEAST_CONNECTIONS: u32 = 2;

/// The smallest limit of all images together: enough for at least one image.
const LEAST_ARTIFACT_BYTES: u64 = 32 << 20;

/// `[storage]`: the ledger.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageSection {
    /// `sqlite://` and a path, or `postgres://` and a database. It may contain a password. When it
    /// is absent, [`Self::url`] returns the default.
    pub url: Option<SecretString>,
    /// A file that holds the URL. It excludes `url`.
    pub url_file: Option<PathBuf>,
    /// How long the lease of a server on a shared database lasts without a heartbeat. Has no effect
    /// on SQLite.
    #[serde(deserialize_with = "lenient::scalar")]
    pub lease_seconds: u32,
    /// The most connections to a database. Has no effect on SQLite.
    #[serde(deserialize_with = "lenient::scalar")]
    pub connections: u32,
    /// For how many seconds the same payment can fetch an answer again.
    #[serde(deserialize_with = "lenient::scalar")]
    pub answer_retention_seconds: u64,
    /// The same for an answer about the payer's own wallet. Fetching it again needs the payment
    /// identifier with which it was bought.
    #[serde(deserialize_with = "lenient::scalar")]
    pub private_answer_seconds: u64,
    /// For how many days a payment's state and transaction outlive its answer.
    #[serde(deserialize_with = "lenient::scalar")]
    pub payment_retention_days: u32,
    /// The size limit of the ledger in bytes; no limit when absent.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub max_bytes: Option<u64>,
    /// The size limit of all generated images together in bytes. They are stored beside the ledger.
    #[serde(deserialize_with = "lenient::scalar")]
    pub artifact_max_bytes: u64,
}

impl Default for StorageSection {
    fn default() -> Self {
        Self {
            url: None,
            url_file: None,
            lease_seconds: 15,
            connections: 16,
            answer_retention_seconds: 86_400,
            // Long enough to reconnect after a lost connection, but short, because these answers
            // show what wallets did.
            private_answer_seconds: 3_600,
            payment_retention_days: 30,
            max_bytes: None,
            artifact_max_bytes: StoreOptions::USUAL_BYTES,
        }
    }
}

impl StorageSection {
    /// The address of the ledger, which may contain a password.
    #[must_use]
    pub fn url(&self) -> &str {
        let url = self.url.as_ref();
        url.map_or(USUAL_URL, |url| url.expose_secret())
    }

    /// The hosts of the database that might be reached without TLS.
    pub(crate) fn unencrypted_hosts(&self) -> Vec<String> {
        let address = self.url().parse::<Address>();
        address.map_or_else(|_| Vec::new(), |address| address.unencrypted_hosts())
    }

    /// Whether several servers may share the stores.
    pub(crate) fn is_shared(&self) -> bool {
        Address::is_postgres(self.url())
    }

    /// The address of the ledger as it may be printed: without the user and the password of a
    /// database.
    pub(crate) fn shown(&self) -> String {
        match self.url().parse::<Address>() {
            Ok(address) => address.to_string(),
            Err(_) => self.url().to_owned(),
        }
    }

    /// Reads the URL from its file. Neither of two addresses takes precedence: a server on the
    /// wrong ledger would not know the payments of the right one.
    pub(crate) fn read_secret_files(&mut self, problems: &mut Vec<Problem>) {
        let file = self.url_file.as_deref();
        if self.url.is_some() && file.is_some() {
            let message = "storage.url is set as well (the environment's name for it is \
                           SVC__STORAGE__URL): give one of the two";
            problem(problems, "storage.url_file", message);
            return;
        }
        read_secret_file("storage.url", &mut self.url, file, problems);
    }

    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        if self.is_shared() {
            if let Err(error) = self.url().parse::<Address>() {
                problem(problems, "storage.url", error.to_string());
            }
        } else if !self.url().starts_with("sqlite://") {
            let expected = "expected sqlite:// and a path, or postgres:// and a database";
            problem(problems, "storage.url", expected);
        }
        if self.connections < LEAST_CONNECTIONS {
            problem(problems, "storage.connections", "expected at least 2");
        }
        if self.lease_seconds < LEAST_LEASE_SECONDS {
            problem(problems, "storage.lease_seconds", "expected at least 3");
        }
        if self.answer_retention_seconds < 60 {
            problem(
                problems,
                "storage.answer_retention_seconds",
                "expected at least 60",
            );
        }
        if self.private_answer_seconds > self.answer_retention_seconds {
            problem(
                problems,
                "storage.private_answer_seconds",
                "expected at most answer_retention_seconds",
            );
        }
        if self.payment_retention_days == 0 {
            problem(
                problems,
                "storage.payment_retention_days",
                "expected at least 1: otherwise a payer could not look up a payment",
            );
        }
        if self.artifact_max_bytes < LEAST_ARTIFACT_BYTES {
            problem(
                problems,
                "storage.artifact_max_bytes",
                "expected at least 33554432",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_that_is_printed_shows_no_password() {
        let section = StorageSection {
            url: Some("postgres://svc:5ec2e7@db.example/payments".into()),
            ..StorageSection::default()
        };
        assert!(!format!("{section:?}").contains("5ec2e7"), "{section:?}");
        assert_eq!(section.shown(), "postgres://db.example:5432/payments");
        assert_eq!(StorageSection::default().shown(), USUAL_URL);
    }
}
