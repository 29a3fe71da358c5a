//! Locks that coordinate work in the folder, also across processes. They are the operating system's
//! (`flock`), and end with the process that holds them.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::CustodyError;

/// The file of the lock on the folder. Every process that has the folder open holds it shared; the
/// one that rewrites all wallets holds it exclusively.
const OPEN: &str = "open.lock";

/// The file of the lock on signing. It is held shared while a key signs, and exclusively while a
/// wallet is marked as exported.
const SIGNING: &str = "signing.lock";

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
    alone: bool,
}

impl Lock {
    /// Takes the lock of an open folder, which other processes may have open as well.
    pub(super) fn shared(folder: &Path) -> Result<Self, CustodyError> {
        let file = file(folder, OPEN)?;
        let locked = file.try_lock_shared();
        held(
            file,
            locked,
            false,
            "somebody has it alone, as `wallets rotate` does",
        )
    }

    /// Takes the lock of an open folder, which no other process may have open.
    pub(super) fn alone(folder: &Path) -> Result<Self, CustodyError> {
        let file = file(folder, OPEN)?;
        let locked = file.try_lock();
        held(
            file,
            locked,
            true,
            "somebody has it open, as a server does that is running",
        )
    }

    /// Takes the lock of a signing key. Waits while a wallet is being marked, which takes
    /// milliseconds.
    pub(super) fn while_signing(folder: &Path) -> Result<Self, CustodyError> {
        let file = file(folder, SIGNING)?;
        file.lock_shared().map_err(CustodyError::io(LOCKING))?;
        Ok(Self {
            _file: file,
            alone: false,
        })
    }

    /// Takes the lock of a wallet that is being marked. Waits until no key signs.
    pub(super) fn while_marking(folder: &Path) -> Result<Self, CustodyError> {
        let file = file(folder, SIGNING)?;
        file.lock().map_err(CustodyError::io(LOCKING))?;
        Ok(Self {
            _file: file,
            alone: true,
        })
    }

    /// Whether the lock is exclusive.
    pub(super) const fn is_alone(&self) -> bool {
        self.alone
    }
}

const LOCKING: &str = "lock the folder of the wallets";

fn held(
    file: File,
    locked: Result<(), TryLockError>,
    alone: bool,
    by: &'static str,
) -> Result<Lock, CustodyError> {
    match locked {
        Ok(()) => Ok(Lock { _file: file, alone }),
        Err(TryLockError::WouldBlock) => Err(CustodyError::FolderInUse { by }),
        Err(TryLockError::Error(error)) => Err(CustodyError::io(LOCKING)(error)),
    }
}

/// The file of a lock. Each call opens it anew, because a lock belongs to one opening of its file.
fn file(folder: &Path, name: &str) -> Result<File, CustodyError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(folder.join(name))
        .map_err(CustodyError::io(LOCKING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_have_the_folder_open_or_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let (one, two) = (Lock::shared(path).unwrap(), Lock::shared(path).unwrap());
        assert_eq!(
            Lock::alone(path).unwrap_err().code(),
            "custody_folder_in_use"
        );
        drop(one);
        assert_eq!(
            Lock::alone(path).unwrap_err().code(),
            "custody_folder_in_use"
        );
        drop(two);
        let alone = Lock::alone(path).unwrap();
        assert!(alone.is_alone());
        assert_eq!(
            Lock::shared(path).unwrap_err().code(),
            "custody_folder_in_use"
        );
        drop(alone);
        assert!(!Lock::shared(path).unwrap().is_alone());
    }

    #[test]
    fn no_wallet_is_marked_while_a_key_signs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let signing = Lock::while_signing(path).unwrap();
        drop(Lock::while_signing(path).unwrap());
        let (began, marked) = (std::sync::Barrier::new(2), std::sync::OnceLock::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                began.wait();
                let lock = Lock::while_marking(path).unwrap();
                marked.set(()).unwrap();
                drop(lock);
            });
            began.wait();
            assert_eq!(marked.get(), None);
            drop(signing);
        });
        assert_eq!(marked.get(), Some(&()));
    }
}
