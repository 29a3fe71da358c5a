//! Opens a file: checks its format, configures the connection, and migrates the tables.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::DatabaseError;
use crate::{Migration, Tables};

/// The pause between two attempts to open a new file that another instance is setting up. While
/// another connection reads, SQLite refuses the change to the write-ahead log at once. It ignores
/// the busy time-out.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The format of a file: its application id, and its migrations.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The id that tells the file from files of other programs (`PRAGMA application_id`).
    pub application_id: i32,
    /// The statements of each schema version. `PRAGMA user_version` counts the versions that were
    /// applied. A change of the schema is a new element.
    pub migrations: &'static [&'static str],
}

impl Format {
    /// Returns the version of the newest schema.
    fn version(&self) -> u32 {
        u32::try_from(self.migrations.len()).unwrap_or(u32::MAX)
    }
}

/// When the log is written back into the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoints {
    /// SQLite does it in the commit that makes the log long.
    InCommits,
    /// The owner of the connection asks for it.
    ByUser,
}

/// The settings of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long an operation waits while another program locks the file.
    pub busy_timeout: Duration,
    /// The page cache, in KiB.
    pub cache_kib: i32,
    /// The size limit of the file in bytes, without its log. With `None`, only the disk limits it.
    pub max_bytes: Option<u64>,
    /// When the log is written back.
    pub checkpoints: Checkpoints,
}

impl Settings {
    /// The settings for records that a server writes now and then: a busy time-out of five seconds,
    /// no limit of the size, and checkpoints in commits.
    #[must_use]
    pub const fn of_records(cache_kib: i32) -> Self {
        Self {
            busy_timeout: Duration::from_secs(5),
            cache_kib,
            max_bytes: None,
            checkpoints: Checkpoints::InCommits,
        }
    }
}

/// Opens the existing file at `path`, and migrates it to the newest schema.
/// [`create`](super::create) or [`ClaimedFile`](super::ClaimedFile) has created the file. Any
/// number of processes may open it at the same time.
///
/// # Errors
///
/// [`ForeignFile`](DatabaseError::ForeignFile) and [`NewerSchema`](DatabaseError::NewerSchema)
/// before anything is written; [`Damaged`](DatabaseError::Damaged), [`Busy`](DatabaseError::Busy),
/// [`Full`](DatabaseError::Full), [`CannotOpen`](DatabaseError::CannotOpen),
/// [`Storage`](DatabaseError::Storage).
pub fn open(
    path: &Path,
    format: &Format,
    settings: &Settings,
) -> Result<Connection, DatabaseError> {
    let deadline = Instant::now() + settings.busy_timeout;
    loop {
        match try_open(path, format, settings) {
            Err(DatabaseError::Busy) if Instant::now() < deadline => thread::sleep(LOOK_AGAIN),
            done => return done,
        }
    }
}

fn try_open(
    path: &Path,
    format: &Format,
    settings: &Settings,
) -> Result<Connection, DatabaseError> {
    let named =
        |operation| move |error: rusqlite::Error| DatabaseError::named(&error, path, operation);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        // Only one thread uses the connection.
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(named("open"))?;
    connection
        .busy_timeout(settings.busy_timeout)
        .map_err(named("open"))?;
    identify(&mut connection, path, format)?;
    configure(&connection, settings).map_err(named("configure"))?;
    migrate(&mut connection, format).map_err(named("migrate"))?;
    Ok(connection)
}

/// Returns the migration that [`open`] would run on the file at `path`; `None` when there is no
/// file. Does not write to the file, which a server may have open. SQLite may leave an empty log
/// (`-wal`) and its index (`-shm`) beside it.
///
/// This process must not have the file open.
///
/// # Errors
///
/// [`ForeignFile`](DatabaseError::ForeignFile), [`NewerSchema`](DatabaseError::NewerSchema),
/// [`Damaged`](DatabaseError::Damaged), [`Busy`](DatabaseError::Busy),
/// [`Full`](DatabaseError::Full), [`CannotOpen`](DatabaseError::CannotOpen).
pub fn pending(path: &Path, format: &Format) -> Result<Option<Migration>, DatabaseError> {
    let cannot_open = |error: &io::Error| DatabaseError::cannot_open(path, error);
    if !path.try_exists().map_err(|error| cannot_open(&error))? {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let version = Connection::open_with_flags(path, flags)
        .map_err(|error| DatabaseError::named(&error, path, "open"))
        .and_then(|mut connection| identify(&mut connection, path, format));
    match version {
        Ok(from) => Ok(Some(Migration {
            tables: Tables::File(path.to_owned()),
            from,
            to: format.version(),
        })),
        // SQLite names no file. A file that can be read is in a folder that cannot be written.
        Err(DatabaseError::Storage { .. }) => {
            let read = File::open(path).and_then(|mut file| file.read(&mut [0]));
            let reason = read.err();
            Err(cannot_open(
                &reason.unwrap_or_else(|| io::ErrorKind::PermissionDenied.into()),
            ))
        }
        Err(error) => Err(error),
    }
}

/// Returns the version of a file's schema, 0 for an empty file. Refuses a file of another format,
/// before anything is written to it.
fn identify(
    connection: &mut Connection,
    path: &Path,
    format: &Format,
) -> Result<u32, DatabaseError> {
    // This reads in one transaction, because another instance may be setting up the file at this
    // moment.
    let read = |connection: &mut Connection| -> rusqlite::Result<(i32, u32, bool)> {
        let view = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        let empty = view.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |r| {
            r.get(0)
        })?;
        let application = view.pragma_query_value(None, "application_id", |r| r.get(0))?;
        let version = view.pragma_query_value(None, "user_version", |r| r.get(0))?;
        Ok((application, version, empty))
    };
    let (application, version, empty) =
        read(connection).map_err(|error| DatabaseError::named(&error, path, "open"))?;
    let (expected, supported) = (format.application_id, format.version());
    match application {
        known if known == expected && version > supported => Err(DatabaseError::NewerSchema {
            path: path.to_owned(),
            expected: supported,
            observed: version,
        }),
        known if known == expected => Ok(version),
        0 if empty && version == 0 => Ok(0),
        observed => Err(DatabaseError::ForeignFile {
            path: path.to_owned(),
            expected,
            observed,
        }),
    }
}

fn configure(connection: &Connection, settings: &Settings) -> rusqlite::Result<()> {
    connection.execute_batch(
        "
        -- Commits append to one file, and readers (a backup, an operator's shell) do not block them.
        PRAGMA journal_mode = WAL;
        -- A commit is on disk when it returns. NORMAL would lose the last ones when the power fails.
        PRAGMA synchronous = FULL;
        -- On macOS a plain fsync stops at the drive's cache.
        PRAGMA fullfsync = ON;
        PRAGMA checkpoint_fullfsync = ON;
        -- A log that has grown under load shrinks again.
        PRAGMA journal_size_limit = 67108864;
        PRAGMA temp_store = MEMORY;
        -- The file is data, never code.
        PRAGMA trusted_schema = OFF;
        -- Finds a damaged page when it is read, not when it is used.
        PRAGMA cell_size_check = ON;
        ",
    )?;
    // A negative number is in KiB, a positive one in pages.
    connection.pragma_update(None, "cache_size", settings.cache_kib.saturating_neg())?;
    let autocheckpoint = match settings.checkpoints {
        // The log stays short: on a disk that is nearly full, the room is for the file.
        Checkpoints::InCommits => 16,
        Checkpoints::ByUser => 0,
    };
    connection.pragma_update(None, "wal_autocheckpoint", autocheckpoint)?;
    if let Some(max_bytes) = settings.max_bytes {
        let page_size: u64 = connection
            .pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0).map(u64::from))?;
        let pages = max_bytes
            .checked_div(page_size)
            .unwrap_or(0)
            .clamp(1, u64::from(u32::MAX - 1));
        connection.pragma_update(
            None,
            "max_page_count",
            i64::try_from(pages).unwrap_or(i64::MAX),
        )?;
    }
    Ok(())
}

fn migrate(connection: &mut Connection, format: &Format) -> rusqlite::Result<()> {
    let version = |connection: &Connection| -> rusqlite::Result<u32> {
        connection.pragma_query_value(None, "user_version", |row| row.get(0))
    };
    for (number, migration) in (1u32..).zip(format.migrations) {
        if version(connection)? >= number {
            continue;
        }
        // The version counts once this connection has the write lock. Of two instances that start
        // at the same time, only one migrates.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if version(&transaction)? < number {
            transaction.execute_batch(migration)?;
            transaction.pragma_update(None, "application_id", format.application_id)?;
            transaction.pragma_update(None, "user_version", number)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format {
        application_id: 0x7834_7473,
        migrations: &["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y"],
    };
    const SETTINGS: Settings = Settings {
        busy_timeout: Duration::from_secs(5),
        cache_kib: 512,
        max_bytes: Some(1 << 20),
        checkpoints: Checkpoints::ByUser,
    };

    fn folder_with(write: impl FnOnce(&Connection)) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        write(&Connection::open(&path).unwrap());
        (folder, path)
    }

    fn open_it(path: &Path) -> Result<Connection, DatabaseError> {
        open(path, &FORMAT, &SETTINGS)
    }

    #[test]
    fn the_settings_are_applied() {
        let (_folder, path) = folder_with(|_| ());
        let connection = open_it(&path).unwrap();
        let mode: String = connection
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .unwrap();
        assert_eq!(mode, "wal");
        for (name, expected) in [
            ("synchronous", 2),
            ("cache_size", -512),
            ("max_page_count", 256),
            ("wal_autocheckpoint", 0),
            ("user_version", 2),
            ("application_id", i64::from(FORMAT.application_id)),
        ] {
            let number: i64 = connection
                .pragma_query_value(None, name, |row| row.get(0))
                .unwrap();
            assert_eq!(number, expected, "{name}");
        }
    }

    #[test]
    fn many_instances_may_set_up_one_file_together() {
        let (_folder, path) = folder_with(|_| ());
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let path = path.clone();
                thread::spawn(move || open_it(&path).map(drop))
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), Ok(()));
        }
    }

    #[test]
    fn a_file_of_an_earlier_version_is_migrated_and_keeps_its_rows() {
        let (_folder, path) = folder_with(|connection| {
            connection.execute_batch(FORMAT.migrations[0]).unwrap();
            connection
                .execute_batch("INSERT INTO a VALUES (7)")
                .unwrap();
            connection
                .pragma_update(None, "application_id", FORMAT.application_id)
                .unwrap();
            connection.pragma_update(None, "user_version", 1).unwrap();
        });
        let row: (i64, Option<i64>) = open_it(&path)
            .unwrap()
            .query_row("SELECT x, y FROM a", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!(row, (7, None));
    }

    #[test]
    fn a_foreign_database_is_refused_untouched() {
        let (_folder, path) = folder_with(|c| c.execute_batch("CREATE TABLE t (x)").unwrap());
        let before = std::fs::read(&path).unwrap();
        let refused = open_it(&path).unwrap_err();
        assert_eq!(refused.code(), "database_foreign_file");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_newer_schema_is_refused() {
        let (_folder, path) = folder_with(|_| ());
        open_it(&path)
            .unwrap()
            .pragma_update(None, "user_version", 99)
            .unwrap();
        assert_eq!(
            open_it(&path).unwrap_err(),
            DatabaseError::NewerSchema {
                path: path.clone(),
                expected: 2,
                observed: 99
            }
        );
        assert_eq!(
            pending(&path, &FORMAT).unwrap_err().code(),
            "database_newer_schema"
        );
    }

    #[test]
    fn a_file_whose_version_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let kind = io::ErrorKind::IsADirectory;
        let expected = DatabaseError::CannotOpen { path, kind };
        assert_eq!(pending(folder.path(), &FORMAT), Err(expected));
    }

    #[test]
    fn the_pending_migration_is_announced_and_not_run() {
        let says = |path: &Path| pending(path, &FORMAT).unwrap().map(|it| it.to_string());
        let (_folder, path) = folder_with(|_| ());
        let name = path.display();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(says(&path), None);
        assert!(!path.exists());
        std::fs::write(&path, "").unwrap();
        let empty = format!("{name} is empty; the first start that needs it makes version 2");
        assert_eq!(says(&path), Some(empty));
        let first = Format {
            migrations: &FORMAT.migrations[..1],
            ..FORMAT
        };
        // The version is still in the log, and the server has the file open.
        let server = open(&path, &first, &SETTINGS).unwrap();
        let older =
            format!("the first start that needs the file {name} brings it from version 1 to 2");
        assert_eq!(says(&path), Some(older.clone()));
        drop(server);
        assert_eq!(says(&path), Some(older));
        drop(open_it(&path).unwrap());
        let newest = format!("the file {name} has version 2");
        assert_eq!(says(&path), Some(newest));
    }

    #[test]
    fn noise_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        std::fs::write(&path, [0xa5u8; 8192]).unwrap();
        assert_eq!(open_it(&path).unwrap_err(), DatabaseError::Damaged { path });
    }
}
