//! `[settlement]`: how payments reach the chain, and with which key. The checks here ask no
//! settler.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use alloy_signer_local::PrivateKeySigner;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use server_config::{check_rpc_url, check_url, lenient, read_secret_file};
use settlement::GasPolicy;
use tx_sender::{HttpTransport, LocalKey, TransactionSigner, Web3Signer};

use super::problem;
use crate::config::Problem;

/// `[settlement]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SettlementSection {
    /// The settler.
    pub mode: SettlementMode,
    /// The base URL of an x402 v2 facilitator.
    pub facilitator_url: Option<String>,
    /// The broker's base URL.
    pub okx_base_url: String,
    /// The broker's API key.
    pub okx_api_key: Option<SecretString>,
    /// A file that holds the key.
    pub okx_api_key_file: Option<PathBuf>,
    /// The broker's signing secret.
    pub okx_secret_key: Option<SecretString>,
    /// A file that holds the secret.
    pub okx_secret_key_file: Option<PathBuf>,
    /// The broker's passphrase.
    pub okx_passphrase: Option<SecretString>,
    /// A file that holds the passphrase.
    pub okx_passphrase_file: Option<PathBuf>,
    /// A JSON-RPC endpoint of the chain.
    pub rpc_url: Option<String>,
    /// The key that pays gas when the service settles by itself.
    pub private_key: Option<SecretString>,
    /// A file that holds the key.
    pub private_key_file: Option<PathBuf>,
    /// The same key in an encrypted file (Web3 Secret Storage, version 3).
    pub keystore_file: Option<PathBuf>,
    /// The password of that file.
    pub keystore_password: Option<SecretString>,
    /// A file that holds the password.
    pub keystore_password_file: Option<PathBuf>,
    /// A Web3Signer instance of the chain, which holds the key of `gas_account`. The URL itself may
    /// contain a key.
    pub web3signer_url: Option<SecretString>,
    /// The account that pays gas. It must match the key. Without a key, the program's own signer
    /// signs for it.
    pub gas_account: Option<Address>,
    /// The key in `keystore_file`, after it was opened.
    #[serde(skip)]
    pub(crate) keystore: Option<LocalKey>,
    /// Mode `onchain`: the most gas that one settlement may use.
    #[serde(deserialize_with = "lenient::scalar")]
    pub gas_cap: u64,
    /// Mode `onchain`: whether payers with code (smart contract accounts) are served.
    #[serde(deserialize_with = "lenient::boolean")]
    pub contract_wallets: bool,
    /// Mode `onchain`: the highest price per gas, in gwei.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_fee_gwei: u64,
    /// The confirmations that a settlement needs to count. Defaults to the number of `[chains.ID]`.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub confirmations: Option<u64>,
    /// The time limit of one call to a facilitator or an RPC, in milliseconds.
    #[serde(deserialize_with = "lenient::scalar")]
    pub timeout_ms: u64,
    /// The seconds between two checks of payments whose result is unknown.
    #[serde(deserialize_with = "lenient::scalar")]
    pub reconcile_seconds: u64,
}

/// A settler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettlementMode {
    /// A standard x402 v2 facilitator.
    Facilitator,
    /// The OKX broker.
    Okx,
    /// This server, with its own gas.
    Onchain,
}

impl std::fmt::Display for SettlementMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Facilitator => "facilitator",
            Self::Okx => "okx",
            Self::Onchain => "onchain",
        })
    }
}

impl Default for SettlementSection {
    fn default() -> Self {
        Self {
            mode: SettlementMode::Facilitator,
            facilitator_url: None,
            okx_base_url: "https://web3.okx.com".to_owned(),
            okx_api_key: None,
            okx_api_key_file: None,
            okx_secret_key: None,
            okx_secret_key_file: None,
            okx_passphrase: None,
            okx_passphrase_file: None,
            rpc_url: None,
            private_key: None,
            private_key_file: None,
            keystore_file: None,
            keystore_password: None,
            keystore_password_file: None,
            web3signer_url: None,
            gas_account: None,
            keystore: None,
            gas_cap: GasPolicy::default().gas_cap,
            contract_wallets: true,
            max_fee_gwei: 100,
            confirmations: None,
            // A broker that settles synchronously takes up to 30 seconds.
            timeout_ms: 35_000,
            reconcile_seconds: 15,
        }
    }
}

impl SettlementSection {
    /// Reads the secrets from their files.
    pub(crate) fn read_secret_files(&mut self, problems: &mut Vec<Problem>) {
        for (key, secret, file) in [
            ("private_key", &mut self.private_key, &self.private_key_file),
            (
                "keystore_password",
                &mut self.keystore_password,
                &self.keystore_password_file,
            ),
            ("okx_api_key", &mut self.okx_api_key, &self.okx_api_key_file),
            (
                "okx_secret_key",
                &mut self.okx_secret_key,
                &self.okx_secret_key_file,
            ),
            (
                "okx_passphrase",
                &mut self.okx_passphrase,
                &self.okx_passphrase_file,
            ),
        ] {
            let key = format!("settlement.{key}");
            read_secret_file(&key, secret, file.as_deref(), problems);
        }
        self.open_keystore(problems);
    }

    /// Decrypts the key file. The file decides how long this takes, usually about a second.
    fn open_keystore(&mut self, problems: &mut Vec<Problem>) {
        const KEY: &str = "settlement.keystore_file";

        let Some(path) = &self.keystore_file else {
            return;
        };
        if self.private_key.is_some() {
            problem(
                problems,
                KEY,
                "settlement.private_key is another key: only one pays the gas",
            );
            return;
        }
        let Some(password) = &self.keystore_password else {
            let message = "its password is missing: set SVC__SETTLEMENT__KEYSTORE_PASSWORD or \
                           settlement.keystore_password_file";
            problem(problems, KEY, message);
            return;
        };
        match LocalKey::from_keystore(path, password) {
            Ok(key) => self.keystore = Some(key),
            Err(error) => problem(problems, KEY, error.to_string()),
        }
    }

    /// The account of the key that pays the gas. `None` when the key is missing or unusable.
    fn key_account(&self) -> Option<Address> {
        if let Some(key) = &self.keystore {
            return Some(key.account());
        }
        let key = self.private_key.as_ref()?.expose_secret();
        let signer: PrivateKeySigner = key.trim().parse().ok()?;
        Some(signer.address())
    }

    /// The account that pays the gas: the key's account, or the one of the program's own signer.
    pub(crate) fn payer_of_gas(&self) -> Option<Address> {
        self.key_account().or(self.gas_account)
    }

    /// The signer for the account that pays the gas, if it is not `private_key`: the key of the
    /// encrypted file, or the Web3Signer instance.
    pub(crate) fn signer(&self) -> Option<Arc<dyn TransactionSigner>> {
        if let Some(key) = self.keystore.clone() {
            return Some(Arc::new(key));
        }
        Some(Arc::new(self.web3signer()?))
    }

    /// The Web3Signer instance that signs for the gas account, if there is one.
    pub(crate) fn web3signer(&self) -> Option<Web3Signer> {
        let transport = HttpTransport::new(self.web3signer_url.as_ref()?, SIGNER_TIMEOUT).ok()?;
        Some(Web3Signer::new(self.gas_account?, Arc::new(transport)))
    }

    /// The configured URLs by their keys. Each may hold a key of its own.
    pub(crate) fn urls(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let signer = self.web3signer_url.as_ref();
        let urls = [
            (
                "settlement.facilitator_url",
                self.facilitator_url.as_deref(),
            ),
            ("settlement.okx_base_url", Some(self.okx_base_url.as_str())),
            ("settlement.rpc_url", self.rpc_url.as_deref()),
            (
                "settlement.web3signer_url",
                signer.map(|url| url.expose_secret()),
            ),
        ];
        urls.into_iter().filter_map(|(key, url)| Some((key, url?)))
    }

    /// Whether this section names the key that pays the gas.
    pub(crate) fn has_key(&self) -> bool {
        self.private_key.is_some() || self.keystore_file.is_some() || self.web3signer_url.is_some()
    }

    /// A Web3Signer instance needs `gas_account`, and excludes every other key.
    fn check_web3signer(&self, problems: &mut Vec<Problem>) {
        const KEY: &str = "settlement.web3signer_url";

        let Some(url) = &self.web3signer_url else {
            return;
        };
        check_rpc_url(problems, KEY, url.expose_secret());
        if self.private_key.is_some() || self.keystore_file.is_some() {
            let message = "a key is set as well, but only one key pays the gas";
            problem(problems, KEY, message);
        }
        if self.gas_account.is_none() {
            let message = "is missing: settlement.web3signer_url signs for this account";
            problem(problems, "settlement.gas_account", message);
        }
    }

    /// `settle_budget_seconds` is the value of `[payment]`: how long a settlement may take.
    /// `has_nodes` says whether this section or the chain's own table names a node of the chain.
    pub(crate) fn check(
        &self,
        settle_budget_seconds: u64,
        has_nodes: bool,
        problems: &mut Vec<Problem>,
    ) {
        let needs = |problems: &mut Vec<Problem>, present: bool, key: &str, why: &str| {
            if !present {
                problem(problems, key, format!("is missing: {why}"));
            }
        };
        match self.mode {
            SettlementMode::Facilitator => needs(
                problems,
                self.facilitator_url.is_some(),
                "settlement.facilitator_url",
                "settlement.mode is \"facilitator\", and payments are verified and settled there",
            ),
            SettlementMode::Okx => {
                for (present, key) in [
                    (self.okx_api_key.is_some(), "okx_api_key"),
                    (self.okx_secret_key.is_some(), "okx_secret_key"),
                    (self.okx_passphrase.is_some(), "okx_passphrase"),
                ] {
                    let variable = format!("SVC__SETTLEMENT__{}", key.to_ascii_uppercase());
                    let why = format!(
                        "settlement.mode is \"okx\"; set {variable} or settlement.{key}_file"
                    );
                    needs(problems, present, &format!("settlement.{key}"), &why);
                }
            }
            SettlementMode::Onchain => {
                let why = "settlement.mode is \"onchain\", and payments are sent there";
                needs(problems, has_nodes, "settlement.rpc_url", why);
                let why = "settlement.mode is \"onchain\", and this key pays the gas; \
                           set SVC__SETTLEMENT__PRIVATE_KEY, settlement.private_key_file, settlement.keystore_file or settlement.web3signer_url";
                let present = self.has_key() || self.gas_account.is_some();
                needs(problems, present, "settlement.private_key", why);
            }
        }
        if let Some(url) = &self.facilitator_url {
            check_url(problems, "settlement.facilitator_url", url);
        }
        check_url(problems, "settlement.okx_base_url", &self.okx_base_url);
        if let Some(url) = &self.rpc_url {
            check_rpc_url(problems, "settlement.rpc_url", url);
        }
        self.check_web3signer(problems);
        match (self.key_account(), self.gas_account) {
            (None, _) if self.private_key.is_some() => problem(
                problems,
                "settlement.private_key",
                "expected 32 bytes as hexadecimal digits that are a secp256k1 private key",
            ),
            (Some(key), Some(account)) if key != account => problem(
                problems,
                "settlement.gas_account",
                format!("expected {key}, the account of the key, observed {account}"),
            ),
            _ => {}
        }
        self.check_limits(settle_budget_seconds, problems);
        if self.reconcile_seconds == 0 {
            problem(
                problems,
                "settlement.reconcile_seconds",
                "expected at least 1",
            );
        }
    }
}

/// The time limit of a Web3Signer instance.
const SIGNER_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time limit of one settlement, in seconds.
const LONGEST_TIMEOUT_SECONDS: u64 = 100;

impl SettlementSection {
    fn check_limits(&self, settle_budget_seconds: u64, problems: &mut Vec<Problem>) {
        let timeout = "settlement.timeout_ms";
        if self.timeout_ms == 0 {
            problem(problems, timeout, "expected at least 1");
        }
        // A check of an unknown payment may settle it, and is cut off after two minutes.
        let most = settle_budget_seconds.min(LONGEST_TIMEOUT_SECONDS);
        if self.timeout_ms > most.saturating_mul(1000) {
            let message = format!(
                "expected at most {most} s: payment.settle_budget_seconds, and not above {LONGEST_TIMEOUT_SECONDS} s"
            );
            problem(problems, timeout, message);
        }
        if !GAS_CAPS.contains(&self.gas_cap) {
            let message = format!("expected {} to {} gas", GAS_CAPS.start(), GAS_CAPS.end());
            problem(problems, "settlement.gas_cap", message);
        }
        if !MAX_FEES.contains(&self.max_fee_gwei) {
            let message = format!("expected {} to {} gwei", MAX_FEES.start(), MAX_FEES.end());
            problem(problems, "settlement.max_fee_gwei", message);
        }
        if self
            .confirmations
            .is_some_and(|depth| depth > MOST_CONFIRMATIONS)
        {
            let message = format!(
                "expected at most {MOST_CONFIRMATIONS}: every caller waits for them, at most timeout_ms"
            );
            problem(problems, "settlement.confirmations", message);
        }
    }
}

/// Allowed gas limits: no transfer with authorization needs less, and an honest wallet's needs no
/// more.
const GAS_CAPS: std::ops::RangeInclusive<u64> = 60_000..=2_000_000;

/// Allowed prices per gas, in gwei.
const MAX_FEES: std::ops::RangeInclusive<u64> = 1..=100_000;

/// The most confirmations that may be required. More would outlast any open connection.
const MOST_CONFIRMATIONS: u64 = 64;
