//! The places of key files.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use crate::Printable;

/// A warning about a key file that other users than its owner may access: cast writes such files.
/// Anybody who can read one can try passwords on it.
#[must_use]
pub(crate) fn open_to_others(path: &Path) -> Option<String> {
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mode = metadata.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        let file = path.display().to_string();
        format!(
            "warning: {} has the mode {mode:04o}: others than its owner may use it (chmod 600 ends that)\n",
            Printable(&file)
        )
    })
}

/// The default folder of `cast wallet`.
#[must_use]
pub(crate) fn default_folder() -> Option<PathBuf> {
    std::env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(|home| Path::new(&home).join(".foundry/keystores"))
}

/// The file of `--keystore`: a path, or the name of a file in the default folder.
#[must_use]
pub(crate) fn locate(named: &Path) -> PathBuf {
    let bare = named.components().count() == 1 && named.file_name() == Some(named.as_os_str());
    match default_folder().map(|folder| folder.join(named)) {
        Some(path) if bare && !named.exists() && path.exists() => path,
        _ => named.to_owned(),
    }
}
