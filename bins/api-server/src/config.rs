//! The configuration: one TOML file, overridden by the environment, complete before anything starts.

mod error;
mod lenient;
mod secrets;
mod sections;
mod source;

use std::path::Path;

use serde::Deserialize;

pub use error::{ConfigError, Problem};
pub use sections::{
    AssetTable, ChainTable, LogFormat, LogSection, PaymentSection, ServerSection, SettlementMode,
    SettlementSection, StorageSection, UpstreamMode, UpstreamTable, Upstreams,
};

/// Everything that an operator can set (decisions sections 1 and 7).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub struct Config {
    /// Listening, limits, origins.
    pub server: ServerSection,
    /// To whom and in what the calls are paid.
    pub payment: PaymentSection,
    /// How payments reach the chain.
    pub settlement: SettlementSection,
    /// The ledger.
    pub storage: StorageSection,
    /// One table for each upstream.
    pub upstreams: Upstreams,
    /// RPC endpoints by chain id.
    pub chains: std::collections::BTreeMap<String, ChainTable>,
    /// Keys of the agent rail, so that both servers can share one file; not read here.
    pub plans: toml::Table,
    /// Logging.
    pub log: LogSection,
}

impl Config {
    /// Reads a file and the environment variables `SVC__SECTION__KEY`, which win.
    ///
    /// # Errors
    /// The file cannot be read or is not TOML; or every problem that was found, each with its key.
    pub fn load(
        path: &Path,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
            path: path.to_owned(),
            kind: error.kind(),
        })?;
        Self::parse(&text, environment)
    }

    /// [`Self::load`] from text.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn parse(
        text: &str,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let document = source::document(text, environment)?;
        let mut config: Self = serde_path_to_error::deserialize(document).map_err(|error| {
            let key = error.path().to_string();
            ConfigError::one(&key, expectation(error.inner().message()))
        })?;
        let mut problems = Vec::new();
        config.read_secret_files(&mut problems);
        config.check(&mut problems);
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError::Invalid { problems })
        }
    }

    fn read_secret_files(&mut self, problems: &mut Vec<Problem>) {
        let settlement = &mut self.settlement;
        for (key, secret, file) in [
            (
                "private_key",
                &mut settlement.private_key,
                &settlement.private_key_file,
            ),
            (
                "okx_api_key",
                &mut settlement.okx_api_key,
                &settlement.okx_api_key_file,
            ),
            (
                "okx_secret_key",
                &mut settlement.okx_secret_key,
                &settlement.okx_secret_key_file,
            ),
            (
                "okx_passphrase",
                &mut settlement.okx_passphrase,
                &settlement.okx_passphrase_file,
            ),
        ] {
            secrets::read(
                &format!("settlement.{key}"),
                secret,
                file.as_deref(),
                problems,
            );
        }
        for (name, table) in &mut self.upstreams.0 {
            for (key, secret, file) in [
                ("api_key", &mut table.api_key, &table.api_key_file),
                ("secret_key", &mut table.secret_key, &table.secret_key_file),
                ("passphrase", &mut table.passphrase, &table.passphrase_file),
            ] {
                let key = format!("upstreams.{name}.{key}");
                secrets::read(&key, secret, file.as_deref(), problems);
            }
        }
    }

    fn check(&self, problems: &mut Vec<Problem>) {
        self.server.check(problems);
        self.payment.check(problems);
        self.settlement.check(problems);
        self.storage.check(problems);
        self.upstreams.check(problems);
        sections::check_chains(&self.chains, problems);
        self.log.check(problems);
    }
}

/// What was expected of a key. A section that is given as text is not repeated: it may be a secret in the wrong place.
fn expectation(message: &str) -> &str {
    let is_section = ["expected struct ", "expected a map"]
        .iter()
        .any(|expected| message.contains(expected));
    if is_section {
        "expected a section with keys"
    } else {
        message
    }
}
