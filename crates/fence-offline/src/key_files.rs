//! Where key files lie.

use std::path::{Path, PathBuf};

/// Where `cast wallet` keeps its key files.
#[must_use]
pub(crate) fn default_folder() -> Option<PathBuf> {
    std::env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(|home| Path::new(&home).join(".foundry/keystores"))
}

/// The file that `--keystore` means: a path, or the name of a file in the default folder.
#[must_use]
pub(crate) fn locate(named: &Path) -> PathBuf {
    let bare = named.components().count() == 1 && named.file_name() == Some(named.as_os_str());
    match default_folder().map(|folder| folder.join(named)) {
        Some(path) if bare && !named.exists() && path.exists() => path,
        _ => named.to_owned(),
    }
}
