//! Where a ledger lies, and that nobody else uses it.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use crate::{error::LedgerError, private};

/// How long another server may take to go: a supervisor starts the next one the moment the last one has exited, and a
/// process that was just forked holds the lock until it becomes another program.
const LEAVING: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A ledger's file, claimed for this process for as long as the value lives.
#[derive(Debug)]
pub(super) struct Location {
    path: PathBuf,
    /// The claim is an advisory lock on a file of its own. SQLite's locks live on the database file, and closing any
    /// other handle of that file would drop them.
    _lock: File,
}

impl Location {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates the file and its folder where missing, makes the file private and claims it.
pub(super) fn claim(path_or_url: &str) -> Result<Location, LedgerError> {
    let path = parse(path_or_url)?;
    private::create(&path).map_err(|error| cannot_open(&path, &error))?;
    // Two names of one file must meet at one lock.
    let path = fs::canonicalize(&path).map_err(|error| cannot_open(&path, &error))?;
    let lock_path = with_suffix(&path, ".lock");
    let lock = private::options()
        .open(&lock_path)
        .map_err(|error| cannot_open(&lock_path, &error))?;
    let deadline = Instant::now() + LEAVING;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(Location { path, _lock: lock }),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(LOOK_AGAIN),
            Err(TryLockError::WouldBlock) => return Err(LedgerError::InUse { path }),
            Err(TryLockError::Error(error)) => return Err(cannot_open(&lock_path, &error)),
        }
    }
}

/// The path that an address means.
fn parse(path_or_url: &str) -> Result<PathBuf, LedgerError> {
    let path = match path_or_url.split_once("://") {
        None => path_or_url,
        Some(("sqlite", path)) => path,
        Some((scheme, _)) => {
            return Err(LedgerError::UnsupportedAddress {
                observed: format!("{scheme}://"),
            });
        }
    };
    // A journal that forgets with its process is no journal, and SQLite would take such a name for one.
    if path.is_empty() || path == ":memory:" {
        return Err(LedgerError::UnsupportedAddress {
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

fn cannot_open(path: &Path, error: &io::Error) -> LedgerError {
    LedgerError::CannotOpen {
        path: path.to_owned(),
        kind: error.kind(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!(
            parse("sqlite://data/service.db"),
            Ok("data/service.db".into())
        );
        assert_eq!(
            parse("sqlite:///var/lib/service.db"),
            Ok("/var/lib/service.db".into())
        );
        assert_eq!(parse("data/service.db"), Ok("data/service.db".into()));
        for address in [
            "postgres://user:secret@host/db",
            "sqlite://",
            "",
            ":memory:",
        ] {
            let error = parse(address).unwrap_err();
            assert_eq!(error.code(), "ledger_unsupported_address");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn a_claim_excludes_others_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/ledger.db");
        let address = path.to_str().unwrap();
        let first = claim(address).unwrap();
        assert_eq!(claim(address).unwrap_err().code(), "ledger_in_use");
        drop(first);
        claim(address).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn two_names_of_one_file_meet_at_one_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let alias = folder.path().join("alias.db");
        let _first = claim(path.to_str().unwrap()).unwrap();
        std::os::unix::fs::symlink(&path, &alias).unwrap();
        assert_eq!(
            claim(alias.to_str().unwrap()).unwrap_err().code(),
            "ledger_in_use"
        );
    }

    #[cfg(unix)]
    #[test]
    fn files_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/ledger.db");
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(&path, b"").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let _claim = claim(path.to_str().unwrap()).unwrap();
        for file in [path.clone(), with_suffix(&path, ".lock")] {
            assert_eq!(
                fs::metadata(&file).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
    }

    #[test]
    fn a_folder_that_cannot_be_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"").unwrap();
        let error = claim(file.join("ledger.db").to_str().unwrap()).unwrap_err();
        assert_eq!(error.code(), "ledger_cannot_open");
    }
}
