//! Where a shelf lies, and that nobody else reads it.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use super::ShelfError;

/// The file of the shelf beside a ledger: `data/service.shelf.db` for `sqlite://data/service.db`.
pub(super) fn beside(ledger: &str) -> Result<PathBuf, ShelfError> {
    let path = match ledger.split_once("://") {
        None => ledger,
        Some(("sqlite", path)) => path,
        Some((scheme, _)) => {
            return Err(ShelfError::UnsupportedAddress {
                observed: format!("{scheme}://"),
            });
        }
    };
    if path.is_empty() || path == ":memory:" {
        return Err(ShelfError::UnsupportedAddress {
            observed: format!("{path:?}"),
        });
    }
    Ok(Path::new(path).with_extension("shelf.db"))
}

/// Creates the file and its folder where missing, and takes other users' rights from the file.
pub(super) fn create(path: &Path) -> Result<(), ShelfError> {
    let run = || {
        if let Some(folder) = path.parent()
            && !folder.as_os_str().is_empty()
            && !folder.exists()
        {
            private_folder().create(folder)?;
        }
        restrict(&private_file().open(path)?)
    };
    run().map_err(|error: io::Error| ShelfError::CannotOpen {
        path: path.to_owned(),
        kind: error.kind(),
    })
}

fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// SQLite gives the same rights to its side files.
#[cfg(unix)]
fn restrict(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = file.metadata()?.permissions();
    if permissions.mode() & 0o077 != 0 {
        permissions.set_mode(0o600);
        file.set_permissions(permissions)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shelf_stands_beside_its_ledger() {
        let check = |ledger: &str, shelf: &str| {
            assert_eq!(beside(ledger), Ok(PathBuf::from(shelf)), "{ledger}");
        };
        check("sqlite://data/service.db", "data/service.shelf.db");
        check("sqlite:///var/lib/service.db", "/var/lib/service.shelf.db");
        check("data/service", "data/service.shelf.db");
        check("data.d/service.v2.sqlite", "data.d/service.v2.shelf.db");
    }

    #[test]
    fn other_addresses_are_refused_without_their_secrets() {
        for address in [
            "postgres://user:secret@host/db",
            "sqlite://",
            "",
            ":memory:",
        ] {
            let error = beside(address).unwrap_err();
            assert_eq!(error.code(), "shelf_unsupported_address");
            assert!(!error.to_string().contains("secret"));
        }
    }
}
