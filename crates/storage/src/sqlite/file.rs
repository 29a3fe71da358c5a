//! The path of a database file, its access rights, and the claim of one server on it.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{DatabaseError, private};

/// How long a claim waits until the previous server releases its lock. A supervisor starts the next
/// server as soon as the last one exits, and a forked process holds the lock until it executes
/// another program.
const LEAVING: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A database file that this process has claimed. The claim lasts as long as this value.
#[derive(Debug)]
pub struct ClaimedFile {
    path: PathBuf,
    /// An advisory lock on a separate file. A second handle of the database file would be no help:
    /// closing it would drop SQLite's own locks.
    _lock: File,
}

impl ClaimedFile {
    /// Creates the file and its folder if they are missing, makes the file private, and claims it.
    /// The address is a path or a `sqlite://` URL.
    ///
    /// # Errors
    ///
    /// [`InUse`](DatabaseError::InUse) when another server does not release the file within half a
    /// second, [`UnsupportedAddress`](DatabaseError::UnsupportedAddress),
    /// [`CannotOpen`](DatabaseError::CannotOpen).
    pub fn claim(address: &str) -> Result<Self, DatabaseError> {
        let path = path_of(address)?;
        create(&path)?;
        // A file may have two names. Both must lead to the same lock.
        let path =
            fs::canonicalize(&path).map_err(|error| DatabaseError::cannot_open(&path, &error))?;
        let lock_path = with_suffix(&path, ".lock");
        let cannot_lock = |error: &io::Error| DatabaseError::cannot_open(&lock_path, error);
        let lock = private::options()
            .open(&lock_path)
            .map_err(|error| cannot_lock(&error))?;
        let deadline = Instant::now() + LEAVING;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { path, _lock: lock }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    thread::sleep(LOOK_AGAIN);
                }
                Err(TryLockError::WouldBlock) => return Err(DatabaseError::InUse { path }),
                Err(TryLockError::Error(error)) => return Err(cannot_lock(&error)),
            }
        }
    }

    /// Returns the path of the file, with symbolic links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates the file and its folder if they are missing, and removes other users' access to the
/// file.
///
/// # Errors
///
/// [`CannotOpen`](DatabaseError::CannotOpen).
pub fn create(path: &Path) -> Result<(), DatabaseError> {
    private::create(path).map_err(|error| DatabaseError::cannot_open(path, &error))
}

/// Returns the size of the file at `path` and of its log, in bytes.
///
/// # Errors
///
/// [`CannotOpen`](DatabaseError::CannotOpen).
pub fn size_bytes(path: &Path) -> Result<u64, DatabaseError> {
    let log = with_suffix(path, "-wal");
    Ok(size(path)?.saturating_add(size(&log)?))
}

/// Returns the size of a file in bytes. It is 0 when the file does not exist, like the log before
/// the first write.
fn size(path: &Path) -> Result<u64, DatabaseError> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(DatabaseError::cannot_open(path, &error)),
    }
}

/// Parses an address: a path, or `sqlite://` and a path.
///
/// # Errors
///
/// [`UnsupportedAddress`](DatabaseError::UnsupportedAddress).
pub fn path_of(address: &str) -> Result<PathBuf, DatabaseError> {
    let path = match address.split_once("://") {
        None => address,
        Some(("sqlite", path)) => path,
        Some((scheme, _)) => {
            return Err(DatabaseError::UnsupportedAddress {
                observed: format!("{scheme}://"),
            });
        }
    };
    // For such a name, SQLite opens a database in memory. Its content would end with the process.
    if path.is_empty() || path == ":memory:" {
        return Err(DatabaseError::UnsupportedAddress {
            observed: format!("{path:?}"),
        });
    }
    Ok(PathBuf::from(path))
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_paths_or_urls() {
        assert_eq!(
            path_of("sqlite://data/service.db"),
            Ok("data/service.db".into())
        );
        assert_eq!(
            path_of("sqlite:///var/lib/service.db"),
            Ok("/var/lib/service.db".into())
        );
        assert_eq!(path_of("data/service.db"), Ok("data/service.db".into()));
        for address in [
            "postgres://user:secret@host/db",
            "sqlite://",
            "",
            ":memory:",
        ] {
            let error = path_of(address).unwrap_err();
            assert_eq!(error.code(), "database_unsupported_address");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn a_claim_excludes_others_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/a.db");
        let address = path.to_str().unwrap();
        let first = ClaimedFile::claim(address).unwrap();
        assert_eq!(
            ClaimedFile::claim(address).unwrap_err().code(),
            "database_in_use"
        );
        drop(first);
        ClaimedFile::claim(address).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn two_names_of_one_file_meet_at_one_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let alias = folder.path().join("alias.db");
        let _first = ClaimedFile::claim(path.to_str().unwrap()).unwrap();
        std::os::unix::fs::symlink(&path, &alias).unwrap();
        assert_eq!(
            ClaimedFile::claim(alias.to_str().unwrap())
                .unwrap_err()
                .code(),
            "database_in_use"
        );
    }

    #[cfg(unix)]
    #[test]
    fn files_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/a.db");
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(&path, b"").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let _claim = ClaimedFile::claim(path.to_str().unwrap()).unwrap();
        for file in [path.clone(), with_suffix(&path, ".lock")] {
            assert_eq!(
                fs::metadata(&file).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
    }

    #[test]
    fn a_folder_that_cannot_be_created_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"").unwrap();
        let error = ClaimedFile::claim(file.join("a.db").to_str().unwrap()).unwrap_err();
        assert_eq!(error.code(), "database_cannot_open");
    }
}
