//! `[payment]`: the payee and the assets of payments. Whether the token contracts exist and agree
//! is for `check-config --online`.

use exact::address::{ConfiguredAddress, check_payee};
use route_catalog::Operation;
use serde::Deserialize;
use server_config::lenient;
use x402_wire::{Asset, Network, Terms};

use super::problem;
use crate::config::Problem;

/// [`PaymentSection::again_seconds`] by default, and for actions and deferred payments when it is
/// 0.
const AGAIN_SECONDS: u64 = 600;

/// `[payment]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PaymentSection {
    /// The receiving address, the same on every route. Required.
    pub pay_to: Option<ConfiguredAddress>,
    /// `maxTimeoutSeconds` of every option.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_timeout_seconds: u64,
    /// The time limit of a settlement, in seconds. An authorization must outlive the work and this.
    #[serde(deserialize_with = "lenient::scalar")]
    pub settle_budget_seconds: u64,
    /// Whether the header of a 402 has the extension `bazaar`, too, for registries that read no
    /// body. The head of an answer is then longer than the default buffers of proxies.
    #[serde(deserialize_with = "lenient::boolean")]
    pub bazaar_in_header: bool,
    /// For how many seconds after its settlement an answer that was not delivered is given to
    /// another authorization of its payer, and an action is not begun again. 0 switches the first
    /// of the two off; the other one is 600 then.
    #[serde(deserialize_with = "lenient::scalar")]
    pub again_seconds: u64,
    /// The accepted assets, in the order of the options.
    #[serde(deserialize_with = "lenient::tables")]
    pub assets: Vec<AssetTable>,
}

/// `[[payment.assets]]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssetTable {
    /// The token contract.
    pub address: ConfiguredAddress,
    /// The name of its EIP-712 domain.
    pub name: String,
    /// The version of its EIP-712 domain.
    pub version: String,
}

impl Default for PaymentSection {
    fn default() -> Self {
        let assets = Asset::chain_196().into_iter().map(|asset| AssetTable {
            address: asset.address.into(),
            name: asset.name,
            version: asset.version,
        });
        Self {
            pay_to: None,
            max_timeout_seconds: 300,
            settle_budget_seconds: 40,
            bazaar_in_header: false,
            again_seconds: AGAIN_SECONDS,
            assets: assets.collect(),
        }
    }
}

impl PaymentSection {
    /// The payment terms of every route. `None` when the receiving address is missing or
    /// unreadable.
    #[must_use]
    pub fn terms(&self) -> Option<Terms> {
        let assets = self.assets.iter().map(|asset| {
            Some(Asset {
                address: asset.address.get().ok()?,
                name: asset.name.clone(),
                version: asset.version.clone(),
            })
        });
        Some(Terms {
            network: Network::X_LAYER,
            pay_to: self.pay_to.as_ref()?.get().ok()?,
            max_timeout_seconds: self.max_timeout_seconds,
            assets: assets.collect::<Option<_>>()?,
        })
    }

    /// For how many seconds a deferred payment may stay without an answer of the broker.
    pub(crate) fn deferred_seconds(&self) -> u64 {
        match self.again_seconds {
            0 => AGAIN_SECONDS,
            seconds => seconds,
        }
    }

    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        match self.pay_to.as_ref().map(ConfiguredAddress::get) {
            None => problem(
                problems,
                "payment.pay_to",
                "is missing: this address receives every payment, so it has no default",
            ),
            Some(Ok(payee)) => {
                if let Err(fault) = check_payee(payee) {
                    problem(problems, "payment.pay_to", fault.to_string());
                }
            }
            Some(Err(fault)) => problem(problems, "payment.pay_to", fault.to_string()),
        }
        if self.assets.len() != 3 {
            problem(
                problems,
                "payment.assets",
                format!("expected three assets, observed {}", self.assets.len()),
            );
        }
        for (index, asset) in self.assets.iter().enumerate() {
            let address = asset.address.get();
            if let Err(fault) = &address {
                let key = format!("payment.assets[{index}].address");
                problem(problems, &key, fault.to_string());
            }
            if address.is_ok_and(|address| address.is_zero())
                || asset.name.is_empty()
                || asset.version.is_empty()
            {
                let key = format!("payment.assets[{index}]");
                problem(problems, &key, "expected an address, a name and a version");
            }
            if self
                .assets
                .iter()
                .take(index)
                .any(|other| other.address == asset.address)
            {
                let key = format!("payment.assets[{index}].address");
                problem(problems, &key, "is listed twice");
            }
        }
        let longest_work = longest_work_seconds();
        if self.max_timeout_seconds < longest_work + self.settle_budget_seconds {
            problem(
                problems,
                "payment.max_timeout_seconds",
                format!(
                    "expected at least {}: the longest work ({longest_work}) and payment.settle_budget_seconds",
                    longest_work + self.settle_budget_seconds
                ),
            );
        }
        if self.max_timeout_seconds > x402_wire::MAX_WINDOW_SECONDS {
            problem(
                problems,
                "payment.max_timeout_seconds",
                format!("expected at most {}", x402_wire::MAX_WINDOW_SECONDS),
            );
        }
    }
}

/// The longest work that any route allows, in seconds.
fn longest_work_seconds() -> u64 {
    let budgets = Operation::ALL
        .iter()
        .map(|operation| operation.route().work_seconds);
    budgets.max().unwrap_or_default()
}
