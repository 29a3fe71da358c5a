//! `[delegation]`.

use serde::Deserialize;
use server_config::{Problem, lenient};

/// `[delegation]`: the address that reads the fence back, and the expected record. Without the
/// section the status record is empty.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DelegationSection {
    /// `GET /delegation/status` of the paid API.
    pub status_url: String,
    /// The policy's versioned name.
    pub policy_name: String,
    /// The digest of its rules.
    pub policy_digest: String,
    /// Its cap for one swap, in US dollars.
    #[serde(deserialize_with = "lenient::scalar")]
    pub per_swap_cap_usd: u64,
    /// The id of the project that a grant names.
    pub project_id: String,
    /// A key of the paid API, so that both servers can share one file; not read here.
    pub instance_salt: Option<toml::Value>,
    /// As `instance_salt`.
    pub policy: Option<toml::Value>,
    /// As `instance_salt`.
    pub redeemer_key_file: Option<toml::Value>,
    /// As `instance_salt`.
    pub enforcer: Option<toml::Value>,
    /// As `instance_salt`.
    pub confirmations: Option<toml::Value>,
    /// As `instance_salt`.
    pub max_deviation_bps: Option<toml::Value>,
    /// As `instance_salt`.
    pub min_order_usd: Option<toml::Value>,
    /// As `instance_salt`.
    pub gas_estimate_usd: Option<toml::Value>,
    /// As `instance_salt`.
    pub gas_budget_usd_per_account: Option<toml::Value>,
    /// As `instance_salt`.
    pub gas_budget_usd: Option<toml::Value>,
    /// As `instance_salt`.
    pub posts_per_minute: Option<toml::Value>,
    /// As `instance_salt`.
    pub gets_per_minute: Option<toml::Value>,
    /// As `instance_salt`.
    pub strangers_revocations: Option<toml::Value>,
}

impl DelegationSection {
    pub(super) fn check(&self, problems: &mut Vec<Problem>) {
        server_config::check_url(problems, "delegation.status_url", &self.status_url);
        for (key, text) in [
            ("delegation.policy_name", &self.policy_name),
            ("delegation.project_id", &self.project_id),
        ] {
            if text.is_empty() {
                let message =
                    "is missing: the status record shows it, and the fence must read back as it";
                problems.push(Problem::new(key, message));
            }
        }
        if !is_word(&self.policy_digest) {
            let message = "expected 0x and 64 lower-case hexadecimal digits";
            problems.push(Problem::new("delegation.policy_digest", message));
        }
        if self.per_swap_cap_usd == 0 {
            let message = "expected the policy's cap in whole US dollars";
            problems.push(Problem::new("delegation.per_swap_cap_usd", message));
        }
    }
}

fn is_word(text: &str) -> bool {
    exact::parse_lower_hex_array::<32>(text).is_some()
}
