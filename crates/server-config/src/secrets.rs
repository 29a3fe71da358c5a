//! Reads secrets from their own files. Secrets come from such a file or from the environment, and
//! are never printed.

use std::path::Path;

use secrecy::SecretString;

use crate::Problem;

/// Keys that must not be in the configuration file itself.
pub(crate) const SECRET_KEYS: [&str; 12] = [
    "api_private_key",
    "private_key",
    "keystore_password",
    "okx_api_key",
    "okx_secret_key",
    "okx_passphrase",
    "api_key",
    "secret_key",
    "passphrase",
    "secret",
    "gas_account_key",
    "redeemer_key",
];

/// Reads a secret from the file that its `*_file` key names. Does nothing when the environment has
/// set the secret. A file that users other than its owner may read or change is a problem.
pub fn read_secret_file(
    key: &str,
    secret: &mut Option<SecretString>,
    file: Option<&Path>,
    problems: &mut Vec<Problem>,
) {
    let (None, Some(path)) = (&secret, file) else {
        return;
    };
    if let Some(mode) = mode_for_others(path) {
        let message = format!(
            "other users may read or change {}: it has the mode {mode:03o}, expected 600",
            path.display()
        );
        problems.push(Problem::new(format!("{key}_file"), message));
        return;
    }
    match std::fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() => *secret = Some(text.trim().to_owned().into()),
        Ok(_) => problems.push(Problem::new(
            format!("{key}_file"),
            format!("{} is empty", path.display()),
        )),
        Err(error) => problems.push(Problem::new(
            format!("{key}_file"),
            format!("cannot read {}: {}", path.display(), error.kind()),
        )),
    }
}

/// Returns the mode of a file that users other than its owner may read or change. `None` for every
/// other file, and for one that cannot be read.
///
/// systemd passes credentials to one service alone: in a folder that only this service may open,
/// and with an access list, which shows in the bits of the group.
#[cfg(unix)]
fn mode_for_others(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let credentials = std::env::var_os("CREDENTIALS_DIRECTORY");
    let is_credential = credentials.is_some_and(|folder| path.starts_with(folder));
    let forbidden = if is_credential { 0o037 } else { 0o077 };
    (mode & forbidden != 0).then_some(mode)
}

#[cfg(not(unix))]
fn mode_for_others(_: &Path) -> Option<u32> {
    None
}
