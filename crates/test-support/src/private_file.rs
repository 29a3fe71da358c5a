//! A file that only its owner may read.

use std::fs;
use std::path::Path;

/// Writes a file with the mode of a secret, 0600.
///
/// # Panics
/// When the file cannot be written.
pub fn private_file(path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
    let path = path.as_ref();
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}
