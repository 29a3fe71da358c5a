//! `[delegation]`: the fence that this server serves, its pinned policy, and the limits on what it
//! costs.

use std::fmt;
use std::path::{Path, PathBuf};

use alloy_primitives::{Address, B256};
use calldata_checks::BasisPoints;
use delegation_fence::Name;
use exact::DecimalText;
use exact::address::ConfiguredAddress;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use server_config::{Problem, lenient, read_secret_file};
use tx_sender::TransactionSigner as _;

use super::problem;

/// `[delegation]`: the fence. Without the section its endpoints answer 404.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DelegationSection {
    /// The project to which grants are bound.
    pub project_id: String,
    /// The instance of the service for which messages are signed: 32 bytes of their domain.
    pub instance_salt: String,
    /// The policy document. A relative path is relative to the folder of the configuration file.
    pub policy: Option<PathBuf>,
    /// The required digest of the document.
    pub policy_digest: String,
    /// The smallest plan that is accepted.
    pub min_order_usd: Usd,
    /// The assumed cost of a plan's gas until the real cost is known.
    pub gas_estimate_usd: Usd,
    /// The daily limit for the gas of one account's plans.
    pub gas_budget_usd_per_account: Usd,
    /// The daily limit for the gas of all plans.
    pub gas_budget_usd: Usd,
    /// The key that redeems the delegations of `eoa7702` accounts and pays their gas. Without one
    /// the service accepts no such grant.
    pub redeemer_key: Option<SecretString>,
    /// The file that holds the key.
    pub redeemer_key_file: Option<PathBuf>,
    /// The project's own enforcer on the policy's chain. Without one the framework's own enforcers
    /// restrict delegations.
    pub enforcer: Option<ConfiguredAddress>,
    /// The confirmations that a block needs to count. Defaults to that of the chain's own table,
    /// and to 1 without either.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub confirmations: Option<u64>,
    /// The most by which a plan's minimum may be below the value at current prices, in basis
    /// points.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_deviation_bps: u16,
    /// The most writing requests of one address in a minute.
    #[serde(deserialize_with = "lenient::scalar")]
    pub posts_per_minute: u32,
    /// The most reading requests of one address in a minute.
    #[serde(deserialize_with = "lenient::scalar")]
    pub gets_per_minute: u32,
    /// How many revocations are kept of accounts that have no grant and no wallet here.
    #[serde(deserialize_with = "lenient::scalar")]
    pub strangers_revocations: u32,
    /// A key of the agent rail, so that both servers can share one file. This server does not read
    /// it.
    pub status_url: Option<toml::Value>,
    /// As `status_url`.
    pub policy_name: Option<toml::Value>,
    /// As `status_url`.
    pub per_swap_cap_usd: Option<toml::Value>,
}

impl Default for DelegationSection {
    fn default() -> Self {
        Self {
            project_id: String::new(),
            instance_salt: String::new(),
            policy: None,
            policy_digest: String::new(),
            min_order_usd: Usd::whole(10),
            gas_estimate_usd: Usd::micro(50_000),
            gas_budget_usd_per_account: Usd::whole(1),
            gas_budget_usd: Usd::whole(20),
            redeemer_key: None,
            redeemer_key_file: None,
            enforcer: None,
            confirmations: None,
            max_deviation_bps: 200,
            posts_per_minute: 60,
            gets_per_minute: 600,
            strangers_revocations: 1000,
            status_url: None,
            policy_name: None,
            per_swap_cap_usd: None,
        }
    }
}

impl DelegationSection {
    pub(in crate::config) fn resolve(&mut self, folder: &Path) {
        if let Some(policy) = &mut self.policy {
            *policy = folder.join(&policy);
        }
    }

    pub(crate) fn read_secret_files(&mut self, problems: &mut Vec<Problem>) {
        let file = self.redeemer_key_file.as_deref();
        let key = &mut self.redeemer_key;
        read_secret_file("delegation.redeemer_key", key, file, problems);
    }

    /// The address of the redeeming key.
    pub(crate) fn redeemer(&self) -> Option<Address> {
        let key = self.redeemer_key.as_ref()?;
        Some(tx_sender::LocalKey::from_hex(key).ok()?.account())
    }

    /// The most by which a plan's minimum may be below the value at current prices.
    pub(crate) fn max_deviation(&self) -> BasisPoints {
        BasisPoints::new(self.max_deviation_bps).unwrap_or(BasisPoints::MAX)
    }

    /// Reads the 32 bytes of a key. Only one spelling is accepted.
    pub(crate) fn word(text: &str) -> Option<B256> {
        exact::parse_hex_array(text).map(B256::new)
    }

    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        if self.project_id.is_empty() || Name::new(&self.project_id).is_err() {
            let message =
                "expected the project's public id, in printable ASCII; every grant names it";
            problem(problems, "delegation.project_id", message);
        }
        for (key, text) in [
            ("delegation.instance_salt", &self.instance_salt),
            ("delegation.policy_digest", &self.policy_digest),
        ] {
            if Self::word(text).is_none_or(|word| word.is_zero()) {
                problem(
                    problems,
                    key,
                    "expected 0x and 64 hexadecimal digits, not all zero",
                );
            }
        }
        if self.redeemer_key.is_some() && self.redeemer().is_none() {
            let message = "expected a private key of 32 bytes as hexadecimal digits";
            problem(problems, "delegation.redeemer_key", message);
        }
        match self.enforcer.as_ref().map(ConfiguredAddress::get) {
            None => {}
            Some(Err(fault)) => problem(problems, "delegation.enforcer", fault.to_string()),
            Some(Ok(enforcer)) if enforcer.is_zero() => {
                let message = "expected the address of the enforcer, observed zero";
                problem(problems, "delegation.enforcer", message);
            }
            Some(Ok(_)) if self.redeemer_key.is_none() && self.redeemer_key_file.is_none() => {
                let message =
                    "has no effect without delegation.redeemer_key_file, which redeems delegations";
                problem(problems, "delegation.enforcer", message);
            }
            Some(Ok(_)) => {}
        }
        if BasisPoints::new(self.max_deviation_bps).is_none() {
            let message = "expected at most 10000 basis points";
            problem(problems, "delegation.max_deviation_bps", message);
        }
        if self.policy.is_none() {
            let message = "is missing: expected the policy document's file";
            problem(problems, "delegation.policy", message);
        }
        if self.gas_estimate_usd == Usd::micro(0) {
            let message = "expected more than 0: otherwise the gas budgets limit nothing";
            problem(problems, "delegation.gas_estimate_usd", message);
        }
        for (key, budget) in [
            (
                "delegation.gas_budget_usd_per_account",
                self.gas_budget_usd_per_account,
            ),
            ("delegation.gas_budget_usd", self.gas_budget_usd),
        ] {
            if budget < self.gas_estimate_usd {
                let message = "expected at least gas_estimate_usd: otherwise no plan is ever sent";
                problem(problems, key, message);
            }
        }
        for (key, count) in [
            ("delegation.posts_per_minute", self.posts_per_minute),
            ("delegation.gets_per_minute", self.gets_per_minute),
            (
                "delegation.strangers_revocations",
                self.strangers_revocations,
            ),
        ] {
            if count == 0 {
                problem(problems, key, "expected at least 1");
            }
        }
    }
}

/// An amount of US dollars in millionths; in TOML a number or text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(u64);

impl Usd {
    /// Makes an amount of millionths.
    #[must_use]
    pub const fn micro(micro: u64) -> Self {
        Self(micro)
    }

    pub(super) const fn whole(dollars: u64) -> Self {
        Self(dollars.saturating_mul(1_000_000))
    }

    /// The amount in millionths.
    #[must_use]
    pub const fn as_micro(self) -> u64 {
        self.0
    }

    fn parse(text: &str) -> Option<Self> {
        let micro = DecimalText::parse(text).ok()?.to_atoms(6).ok()?;
        u64::try_from(micro).ok().map(Self)
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Amount;
        impl Visitor<'_> for Amount {
            type Value = Usd;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("US dollars with at most six decimals, not below 0")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Usd, E> {
                let wrong = || E::invalid_value(serde::de::Unexpected::Str(text), &self);
                Usd::parse(text.trim()).ok_or_else(wrong)
            }
            fn visit_i64<E: Error>(self, dollars: i64) -> Result<Usd, E> {
                self.visit_str(&dollars.to_string())
            }
            fn visit_f64<E: Error>(self, dollars: f64) -> Result<Usd, E> {
                self.visit_str(&dollars.to_string())
            }
        }
        deserializer.deserialize_any(Amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_read_to_a_millionth() {
        for (text, micro) in [
            ("0", Some(0)),
            ("10", Some(10_000_000)),
            ("0.05", Some(50_000)),
            ("1.000001", Some(1_000_001)),
            ("1.0000001", None),
            ("-1", None),
            ("1e3", None),
            (".5", None),
            ("", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(Usd::parse(text).map(Usd::as_micro), micro, "{text}");
        }
        #[derive(Deserialize)]
        struct Table {
            a: Usd,
            b: Usd,
            c: Usd,
        }
        let table: Table = toml::from_str("a = 5\nb = 0.05\nc = \"0.5\"").unwrap();
        let all = [table.a, table.b, table.c].map(Usd::as_micro);
        assert_eq!(all, [5_000_000, 50_000, 500_000]);
    }
}
