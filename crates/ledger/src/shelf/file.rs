//! Where a shelf lies, and that nobody else reads it.

use std::path::{Path, PathBuf};

use super::ShelfError;
use crate::private;

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
    private::create(path).map_err(|error| ShelfError::CannotOpen {
        path: path.to_owned(),
        kind: error.kind(),
    })
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
