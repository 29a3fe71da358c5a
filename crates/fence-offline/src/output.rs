//! Writes files for their owner only, and never over another file without a request.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The file already exists.
    #[error("{}: exists already; nothing was written (--force replaces it)", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The system refuses the write.
    #[error("{}: cannot be written: {error}", path.display())]
    Unwritable {
        /// The file, or the folder of the file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// Writes a new file that only its owner reads (mode 0600), durably: text and name are on the disk
/// when this returns. An existing file or link of that name is an error. With `replace` a new file
/// takes the name, so a link is replaced and its target stays untouched.
///
/// # Errors
/// [`OutputError`]; there is then no new file.
pub fn write(path: &Path, bytes: &[u8], replace: bool) -> Result<(), OutputError> {
    let unwritable = |error| OutputError::Unwritable {
        path: path.to_owned(),
        error,
    };
    if !replace && path.symlink_metadata().is_ok() {
        return Err(OutputError::Exists {
            path: path.to_owned(),
        });
    }
    let beside = beside(path).map_err(unwritable)?;
    let written = fill(&beside, bytes).and_then(|()| {
        if replace {
            fs::rename(&beside, path)
        } else {
            // Unlike a rename, a link is not made over a file that has appeared meanwhile.
            fs::hard_link(&beside, path)
        }
    });
    let existed = matches!(&written, Err(error) if error.kind() == io::ErrorKind::AlreadyExists);
    drop(fs::remove_file(&beside));
    if existed {
        return Err(OutputError::Exists {
            path: path.to_owned(),
        });
    }
    written.and_then(|()| sync_folder(path)).map_err(unwritable)
}

/// An unused name in the same folder.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{:016x}", u64::from_be_bytes(random)));
    Ok(path.with_file_name(hidden))
}

fn fill(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_file_is_for_its_owner_and_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grant.json");
        write(&path, b"one", false).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(
            write(&path, b"two", false),
            Err(OutputError::Exists { .. })
        ));
        assert_eq!(fs::read(&path).unwrap(), b"one");
        write(&path, b"two", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, b"precious").unwrap();
        symlink(&target, &link).unwrap();
        assert!(matches!(
            write(&link, b"x", false),
            Err(OutputError::Exists { .. })
        ));
        write(&link, b"x", true).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"precious");
        assert_eq!(fs::read(&link).unwrap(), b"x");
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_without_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = write(&folder.path().join("no/grant.json"), b"x", false).unwrap_err();
        assert!(error.to_string().contains("cannot be written"), "{error}");
        assert!(matches!(
            write(Path::new("/"), b"x", true),
            Err(OutputError::Unwritable { .. })
        ));
    }
}
