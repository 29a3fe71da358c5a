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
/// set the secret.
pub fn read_secret_file(
    key: &str,
    secret: &mut Option<SecretString>,
    file: Option<&Path>,
    problems: &mut Vec<Problem>,
) {
    let (None, Some(path)) = (&secret, file) else {
        return;
    };
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
