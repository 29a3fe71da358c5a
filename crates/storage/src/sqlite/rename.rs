//! Renames a database file that has the name of an earlier version.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{DatabaseError, Format, Settings, file::with_suffix, open};

/// The pause between two attempts, while a server that is ending still has the file open.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Renames the database at `from` to `to`, in the same folder. Does nothing when there is no file
/// at `from`. Does nothing either when there is already a file at `to`, which is then the newer
/// one.
///
/// The log is not moved. SQLite first writes it back and removes it, and then one rename moves the
/// whole database. At every moment one of the two names has everything that was committed. So a
/// server that is killed continues at its next start. Servers that start at the same time wait for
/// each other.
///
/// # Errors
///
/// [`InUse`](DatabaseError::InUse) when another process still has the file open after the busy
/// time-out, [`CannotOpen`](DatabaseError::CannotOpen), and those of [`open`]. The file then keeps
/// its name.
pub(crate) fn rename(
    from: &Path,
    to: &Path,
    format: &Format,
    settings: &Settings,
) -> Result<(), DatabaseError> {
    if !exists(from)? {
        return Ok(());
    }
    let folder = folder_of(to);
    let named = |error: io::Error| DatabaseError::cannot_open(&folder, &error);
    let handle = File::open(&folder).map_err(named)?;
    handle.lock().map_err(named)?;
    // Another server may have renamed the file before this one got the lock.
    if !exists(from)? {
        return Ok(());
    }
    if exists(to)? {
        tracing::warn!(unused = %from.display(), used = %to.display(), "a database has two names");
        return Ok(());
    }
    // SQLite would read the log of another database as the log of this one.
    let foreign_log = with_suffix(to, "-wal");
    if exists(&foreign_log)? {
        let error = io::ErrorKind::AlreadyExists.into();
        return Err(DatabaseError::cannot_open(&foreign_log, &error));
    }
    write_log_back(from, format, settings)?;
    fs::rename(from, to).map_err(|error| DatabaseError::cannot_open(to, &error))?;
    // Commits under the new name are safe once a power failure cannot bring the old name back.
    handle.sync_all().map_err(named)
}

/// Writes the log into the file and removes it. SQLite allows this only to the only connection.
fn write_log_back(path: &Path, format: &Format, settings: &Settings) -> Result<(), DatabaseError> {
    let connection = open(path, format, settings)?;
    let deadline = Instant::now() + settings.busy_timeout;
    loop {
        let mode: Result<String, _> =
            connection.pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0));
        match mode.map_err(|error| DatabaseError::named(&error, path, "rename")) {
            Ok(mode) if mode == "delete" => return Ok(()),
            Ok(_) | Err(DatabaseError::Busy) if Instant::now() < deadline => {
                thread::sleep(LOOK_AGAIN);
            }
            Ok(_) | Err(DatabaseError::Busy) => {
                return Err(DatabaseError::InUse {
                    path: path.to_owned(),
                });
            }
            Err(error) => return Err(error),
        }
    }
}

fn exists(path: &Path) -> Result<bool, DatabaseError> {
    path.try_exists()
        .map_err(|error| DatabaseError::cannot_open(path, &error))
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::*;
    use crate::sqlite::{Checkpoints, create};

    const FORMAT: Format = Format {
        application_id: 0x7834_7473,
        migrations: &["CREATE TABLE a (x)"],
    };
    const SETTINGS: Settings = Settings {
        busy_timeout: Duration::from_millis(50),
        cache_kib: 512,
        max_bytes: None,
        checkpoints: Checkpoints::ByUser,
    };

    /// A folder with a database `old.db` that has the row 7. Some tests add a database `new.db`.
    struct Names {
        folder: TempDir,
    }

    impl Names {
        /// Makes a folder in which the row is only in the log of `old.db`, as after a crash.
        fn crashed() -> Self {
            let before = tempfile::tempdir().unwrap();
            let folder = tempfile::tempdir().unwrap();
            let path = before.path().join("old.db");
            create(&path).unwrap();
            let _open = connect(&path, 7);
            for name in ["old.db", "old.db-wal"] {
                fs::copy(before.path().join(name), folder.path().join(name)).unwrap();
            }
            Self { folder }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn rename(&self) -> Result<(), DatabaseError> {
            rename(
                &self.path("old.db"),
                &self.path("new.db"),
                &FORMAT,
                &SETTINGS,
            )
        }

        fn files(&self) -> Vec<String> {
            let mut names: Vec<_> = fs::read_dir(self.folder.path())
                .unwrap()
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    /// Makes a connection that has committed a row.
    fn connect(path: &Path, row: i64) -> Connection {
        let connection = open(path, &FORMAT, &SETTINGS).unwrap();
        connection
            .execute("INSERT INTO a VALUES (?)", [row])
            .unwrap();
        connection
    }

    fn rows(path: &Path) -> Vec<i64> {
        let connection = open(path, &FORMAT, &SETTINGS).unwrap();
        let mut statement = connection.prepare("SELECT x FROM a ORDER BY x").unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
    fn rows_of_the_log_are_there_under_the_new_name() {
        let names = Names::crashed();
        assert_eq!(names.files(), ["old.db", "old.db-wal"]);
        assert_eq!(names.rename(), Ok(()));
        assert_eq!(names.files(), ["new.db"]);
        assert_eq!(rows(&names.path("new.db")), [7]);
        assert_eq!(names.rename(), Ok(()));
    }

    /// Between the steps the database is one file, with one of the two names.
    #[test]
    fn a_server_killed_between_the_steps_continues_at_its_next_start() {
        let names = Names::crashed();
        write_log_back(&names.path("old.db"), &FORMAT, &SETTINGS).unwrap();
        assert_eq!(names.files(), ["old.db"]);
        assert_eq!(names.rename(), Ok(()));
        assert_eq!(rows(&names.path("new.db")), [7]);
    }

    #[test]
    fn a_file_in_use_keeps_its_name_and_its_user_continues() {
        let names = Names::crashed();
        let user = connect(&names.path("old.db"), 8);
        let path = names.path("old.db");
        assert_eq!(names.rename(), Err(DatabaseError::InUse { path }));
        assert!(!names.path("new.db").exists());
        user.execute("INSERT INTO a VALUES (9)", []).unwrap();
        drop(user);
        assert_eq!(names.rename(), Ok(()));
        assert_eq!(rows(&names.path("new.db")), [7, 8, 9]);
    }

    #[test]
    fn servers_that_start_together_use_one_file() {
        let names = Names::crashed();
        let barrier = Barrier::new(8);
        thread::scope(|scope| {
            for row in 10..18 {
                let (names, barrier) = (&names, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    names.rename().unwrap();
                    let settings = Settings::of_records(512);
                    let connection = open(&names.path("new.db"), &FORMAT, &settings).unwrap();
                    connection
                        .execute("INSERT INTO a VALUES (?)", [row])
                        .unwrap();
                });
            }
        });
        assert_eq!(
            rows(&names.path("new.db")),
            [7, 10, 11, 12, 13, 14, 15, 16, 17]
        );
        assert_eq!(names.files(), ["new.db"]);
    }

    #[test]
    fn an_existing_file_of_the_new_name_is_never_replaced() {
        let names = Names::crashed();
        create(&names.path("new.db")).unwrap();
        drop(connect(&names.path("new.db"), 1));
        assert_eq!(names.rename(), Ok(()));
        assert_eq!(rows(&names.path("new.db")), [1]);
        assert_eq!(rows(&names.path("old.db")), [7]);
    }

    #[test]
    fn a_log_that_another_database_left_at_the_new_name_is_an_error() {
        let names = Names::crashed();
        fs::copy(names.path("old.db-wal"), names.path("new.db-wal")).unwrap();
        let path = names.path("new.db-wal");
        let kind = io::ErrorKind::AlreadyExists;
        assert_eq!(
            names.rename(),
            Err(DatabaseError::CannotOpen { path, kind })
        );
        assert_eq!(rows(&names.path("old.db")), [7]);
    }

    #[test]
    fn a_foreign_file_keeps_its_name() {
        let names = Names::crashed();
        fs::remove_file(names.path("old.db-wal")).unwrap();
        fs::write(names.path("old.db"), [0xa5u8; 8192]).unwrap();
        assert_eq!(names.rename().unwrap_err().code(), "database_damaged");
        assert_eq!(names.files(), ["old.db"]);
    }
}
