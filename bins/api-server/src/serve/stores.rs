//! The stores of a server: files beside the ledger's file, or tables of one database. Files have
//! one server; a database may have several, which share the records and lease them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use custody::{PostgresWalletRecords, SqliteWalletRecords, Turns, WalletRecords};
use gas_funding::{Book, PostgresBook, Predecessors, SqliteBook};
use ledger::{AnyLedger, PostgresLedger, SqliteLedger};
use storage::postgres::{Address, Postgres, PostgresError, PostgresOptions};
use storage::sqlite::{DatabaseError, path_of};
use storage::{AnyStore, Migration, PostgresStore, SqliteStore, StoreOptions};
use thiserror::Error;
use tx_sender::{Options as SenderOptions, Store as TransactionRecords, Takeover};

use super::policy::ledger_options;
use crate::config::Config;
use crate::error::ServeError;

/// The time limit of a statement that may read every row of a table.
const READING: Duration = Duration::from_secs(600);

/// The extensions of the files beside the ledger's file. They replace its extension.
const MANDATES: &str = "watch.db";
const DELEGATIONS: &str = "fence.db";
const INTENTS: &str = "wallets.db";
const GAS: &str = "gas.db";
/// The extension of the file of [`Stores::wallets`].
pub(crate) const CUSTODY: &str = "custody.db";

/// The place of a server's records. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum Stores {
    /// Beside the ledger's file at this path, with another extension for each.
    Files(PathBuf),
    /// In this database, which several servers may share.
    Database(Postgres),
}

/// The transactions that a store of a sender records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transactions {
    /// Settlements.
    Settlement,
    /// Plans of the fence, and actions of wallets.
    Wallets,
}

impl Transactions {
    fn extension(self) -> &'static str {
        match self {
            Self::Settlement => "sender.db",
            Self::Wallets => "fence-sender.db",
        }
    }

    fn book(self) -> &'static str {
        match self {
            Self::Settlement => "settlement",
            Self::Wallets => "wallets",
        }
    }
}

/// An error of reading the version of a store's tables.
#[derive(Debug, Error)]
pub(crate) enum VersionError {
    #[error("{0}")]
    Database(PostgresError),
    #[error("{0}")]
    File(DatabaseError),
}

impl VersionError {
    /// Whether the tables were read, and this program cannot use them.
    pub(crate) fn is_of_content(&self) -> bool {
        matches!(
            self,
            Self::Database(PostgresError::NewerSchema { .. })
                | Self::File(
                    DatabaseError::NewerSchema { .. }
                        | DatabaseError::ForeignFile { .. }
                        | DatabaseError::Damaged { .. }
                )
        )
    }
}

impl Stores {
    /// The stores at `storage.url`. Opens nothing yet.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub(crate) fn at(config: &Config) -> Result<Self, ServeError> {
        Self::with(config, PostgresOptions::default().statement)
    }

    /// The same for a command that reads a whole ledger while nobody waits for it. Its statements
    /// may take long.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub(crate) fn for_reading(config: &Config) -> Result<Self, ServeError> {
        Self::with(config, READING)
    }

    fn with(config: &Config, statement: Duration) -> Result<Self, ServeError> {
        let url = config.storage.url();
        if !Address::is_postgres(url) {
            return Ok(Self::Files(path_of(url).map_err(ServeError::Records)?));
        }
        let options = PostgresOptions {
            connections: usize::try_from(config.storage.connections).unwrap_or(usize::MAX),
            statement,
            ..PostgresOptions::default()
        };
        let address = url.parse().map_err(ServeError::Database)?;
        let postgres = Postgres::new(address, options).map_err(ServeError::Database)?;
        Ok(Self::Database(postgres))
    }

    /// The payment journal.
    pub(crate) async fn ledger(&self, config: &Config) -> Result<AnyLedger, ServeError> {
        let lease = Duration::from_secs(config.storage.lease_seconds.into());
        let (url, options) = (config.storage.url(), ledger_options(config));
        Ok(AnyLedger::open(url, self.database(), options, lease).await?)
    }

    /// Leases, datasets, artifacts and counters.
    pub(crate) async fn server(&self, config: &Config) -> Result<AnyStore, ServeError> {
        let options = StoreOptions {
            max_artifact_bytes: config.storage.artifact_max_bytes,
        };
        Ok(AnyStore::beside(config.storage.url(), self.database(), options).await?)
    }

    /// The transactions of this server's senders.
    pub(crate) async fn transactions(
        &self,
        of: Transactions,
    ) -> Result<Arc<dyn TransactionRecords>, ServeError> {
        Ok(match self {
            Self::Files(path) => {
                let path = path.with_extension(of.extension());
                let store = tx_sender::SqliteStore::open(path).map_err(ServeError::Records)?;
                Arc::new(store)
            }
            Self::Database(postgres) => {
                let store = tx_sender::PostgresStore::open(postgres.clone(), of.book());
                Arc::new(store.await.map_err(ServeError::Database)?)
            }
        })
    }

    /// Returns the migration that opening the records of senders would make in the tables of a
    /// database. `None` for files.
    pub(crate) async fn pending_transactions(&self) -> Result<Option<Migration>, ServeError> {
        let Some(postgres) = self.database() else {
            return Ok(None);
        };
        let pending = tx_sender::PostgresStore::pending(postgres).await;
        Ok(Some(pending.map_err(ServeError::Database)?))
    }

    /// Returns the migrations that opening the stores would run, the ledger's first. Leaves out
    /// files that do not exist: a start creates them with the newest schema.
    pub(crate) async fn pending(&self) -> Vec<Result<Migration, VersionError>> {
        match self {
            Self::Files(path) => {
                let files = Self::pending_in_files(path).into_iter();
                files
                    .filter_map(Result::transpose)
                    .map(|pending| pending.map_err(VersionError::File))
                    .collect()
            }
            Self::Database(postgres) => {
                let all = Self::pending_in(postgres).await.into_iter();
                all.map(|pending| pending.map_err(VersionError::Database))
                    .collect()
            }
        }
    }

    fn pending_in_files(path: &Path) -> [Result<Option<Migration>, DatabaseError>; 9] {
        let beside = |extension: &str| path.with_extension(extension);
        let sender = |of: Transactions| tx_sender::SqliteStore::pending(&beside(of.extension()));
        [
            SqliteLedger::pending(path),
            SqliteStore::pending(path),
            sender(Transactions::Settlement),
            sender(Transactions::Wallets),
            watch_server::SqliteStore::pending(&beside(MANDATES)),
            fence_server::SqliteStore::pending(&beside(DELEGATIONS)),
            wallet_actions::SqliteStore::pending(&beside(INTENTS)),
            SqliteBook::pending(&beside(GAS)),
            SqliteWalletRecords::pending(&beside(CUSTODY)),
        ]
    }

    /// Asks no further when the database cannot be read.
    async fn pending_in(postgres: &Postgres) -> Vec<Result<Migration, PostgresError>> {
        let mut all = Vec::new();
        match PostgresLedger::pending(postgres).await {
            Ok(pending) => all.extend(pending.map(Ok)),
            Err(newer @ PostgresError::NewerSchema { .. }) => all.push(Err(newer)),
            Err(error) => return vec![Err(error)],
        }
        all.push(PostgresStore::pending(postgres).await);
        all.push(tx_sender::PostgresStore::pending(postgres).await);
        all.push(watch_server::PostgresStore::pending(postgres).await);
        all.push(fence_server::PostgresStore::pending(postgres).await);
        all.push(wallet_actions::PostgresStore::pending(postgres).await);
        all.push(PostgresBook::pending(postgres).await);
        all.push(PostgresWalletRecords::pending(postgres).await);
        all
    }

    /// Says how this server's senders lease their lanes. A file has one server, so the last holder
    /// of a lane has ended. The servers of a database wait for the lane of a dead one as long as
    /// for its payments.
    pub(crate) fn sender_options(&self, config: &Config) -> SenderOptions {
        SenderOptions {
            takeover: match self {
                Self::Files(_) => Takeover::AtOnce,
                Self::Database(_) => Takeover::WhenOver,
            },
            lease_seconds: config.storage.lease_seconds.into(),
            ..SenderOptions::default()
        }
    }

    /// The turns on wallets. The one server of a file shares them with no other.
    pub(crate) async fn turns(&self, config: &Config) -> Result<Turns, ServeError> {
        let Self::Database(postgres) = self else {
            return Ok(Turns::default());
        };
        let book = Transactions::Wallets.book();
        let store = tx_sender::PostgresStore::open(postgres.clone(), book).await;
        let lease = Duration::from_secs(config.storage.lease_seconds.into());
        let store = store.map_err(ServeError::Database)?;
        Ok(Turns::shared(Arc::new(store), lease))
    }

    /// The mandates.
    pub(crate) async fn mandates(&self) -> Result<Arc<dyn watch_server::Store>, ServeError> {
        Ok(match self {
            Self::Files(path) => {
                let store = watch_server::SqliteStore::open(path.with_extension(MANDATES));
                Arc::new(store.map_err(ServeError::Mandates)?)
            }
            Self::Database(postgres) => {
                let store = watch_server::PostgresStore::open(postgres.clone());
                Arc::new(store.await.map_err(ServeError::Database)?)
            }
        })
    }

    /// The grants and plans of the fence.
    pub(crate) async fn delegations(&self) -> Result<Arc<dyn fence_server::Store>, ServeError> {
        Ok(match self {
            Self::Files(path) => {
                let store = fence_server::SqliteStore::open(path.with_extension(DELEGATIONS));
                Arc::new(store.map_err(ServeError::Records)?)
            }
            Self::Database(postgres) => {
                let store = fence_server::PostgresStore::open(postgres.clone());
                Arc::new(store.await.map_err(ServeError::Database)?)
            }
        })
    }

    /// The intents of wallets.
    pub(crate) async fn intents(&self) -> Result<Arc<dyn wallet_actions::Store>, ServeError> {
        Ok(match self {
            Self::Files(path) => {
                let store = wallet_actions::SqliteStore::open(path.with_extension(INTENTS));
                Arc::new(store.map_err(ServeError::Records)?)
            }
            Self::Database(postgres) => {
                let store = wallet_actions::PostgresStore::open(postgres.clone());
                Arc::new(store.await.map_err(ServeError::Database)?)
            }
        })
    }

    /// The records of which owner has which wallet. Commands may share the file with a server.
    pub(crate) async fn wallets(&self) -> Result<Arc<dyn WalletRecords>, ServeError> {
        Ok(match self {
            Self::Files(path) => {
                let records = SqliteWalletRecords::open(path.with_extension(CUSTODY));
                Arc::new(records.map_err(ServeError::Records)?)
            }
            Self::Database(postgres) => {
                let records = PostgresWalletRecords::open(postgres.clone());
                Arc::new(records.await.map_err(ServeError::Database)?)
            }
        })
    }

    /// The book of gas. In a file it also counts the top-ups of earlier versions of the server,
    /// which kept two books; in a database it starts empty.
    pub(crate) async fn gas_book(&self) -> Result<Arc<dyn Book>, ServeError> {
        Ok(match self {
            Self::Files(path) => {
                let predecessors = Predecessors {
                    fence: Some(path.with_extension(DELEGATIONS)),
                    wallets: Some(path.with_extension(INTENTS)),
                };
                let book = SqliteBook::open(&path.with_extension(GAS), &predecessors);
                Arc::new(book.map_err(ServeError::Records)?)
            }
            Self::Database(postgres) => {
                let book = PostgresBook::open(postgres.clone());
                Arc::new(book.await.map_err(ServeError::Database)?)
            }
        })
    }

    fn database(&self) -> Option<&Postgres> {
        match self {
            Self::Files(_) => None,
            Self::Database(postgres) => Some(postgres),
        }
    }
}
