//! `~/.config/svc-fence/config.toml`: values that a person would otherwise repeat on every command
//! line. A flag has precedence, then the environment (`SVC_FENCE_*`), then this file.

use std::path::{Path, PathBuf};

use alloy_primitives::{Address, B256};
use serde::Deserialize;

use crate::{Failure, Printable, source};

/// The file's keys. None of them is a secret.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The server's address.
    pub url: Option<String>,
    /// The public project id.
    pub project_id: Option<String>,
    /// The instance's salt.
    pub salt: Option<B256>,
    /// The policy document.
    pub policy_file: Option<PathBuf>,
    /// The digest that the policy document must have.
    pub policy_digest: Option<B256>,
    /// The key file.
    pub keystore: Option<PathBuf>,
    /// The service's key that redeems delegations.
    pub redeemer: Option<Address>,
    /// The project's own enforcer.
    pub enforcer: Option<Address>,
    /// An endpoint of the chain.
    pub rpc_url: Option<String>,
}

impl Settings {
    /// Reads the file; without one every key is absent.
    ///
    /// # Errors
    /// When the file exists and cannot be used.
    pub fn load() -> Result<Self, Failure> {
        match path() {
            Some(path) if path.exists() => Self::read(&path),
            _ => Ok(Self::default()),
        }
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let text = source::read(path)?;
        toml::from_str(&text).map_err(|error| {
            Failure::file(format!(
                "{}: not the settings of fence-cli: {}",
                path.display(),
                Printable(error.message())
            ))
        })
    }
}

/// Requires a value that a command needs.
///
/// # Errors
/// A usage error that names the flag and the key of a missing value.
pub fn required<T>(given: Option<T>, flag: &str) -> Result<T, Failure> {
    given.ok_or_else(|| {
        let key = flag.replace('-', "_");
        Failure::usage(format!(
            "--{flag} is missing: give it, or set SVC_FENCE_{}, or {key} in ~/.config/svc-fence/config.toml",
            key.to_uppercase()
        ))
    })
}

fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| Path::new(&home).join(".config")))?;
    Some(folder.join("svc-fence/config.toml"))
}
