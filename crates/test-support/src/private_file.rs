//! A file that only its owner may read.

use std::fs;
use std::path::Path;

/// Writes a file with the mode of a secret, 0600.
///
/// # Panics
/// When the file cannot be written.
#[expect(clippy::expect_used, reason = "a test says what it needs by panicking")]
pub fn private_file(path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
    let path = path.as_ref();
    fs::write(path, text).expect("a file that can be written");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("a file of this user");
    }
}
