//! `check-config`: prints the payees, the prices and the settler of a configuration, for an
//! operator to compare with the intention. Opens no store and sends no request; [`online`] does
//! both for `--online`.

pub(crate) mod online;

use std::fmt::{self, Write as _};
use std::path::Path;

use delegation_fence::onchain::Level;
use route_catalog::{Offering, Operation};
use tx_sender::TransactionSigner as _;
use x402_wire::{Asset, Terms};

use crate::config::{Config, SettlementMode};

/// Reports the payees and assets, the settler, the schemes that cannot be paid, and the routes that
/// are not served. Shows no secret, and no URL of a facilitator or node, because such a URL may
/// contain one.
pub(crate) fn report(config: &Config, terms: &Terms, offering: &Offering) -> String {
    let mode = config.settlement.mode;
    let mut text = format!(
        "the configuration can be used: listening on {}, paid to {}, settled by {mode}, ledger {}\n",
        config.listen(),
        terms.pay_to,
        config.storage.shown()
    );
    let mut line = |label: &str, value: &dyn fmt::Display| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {label:<12} {value}");
    };
    line("payee", &terms.pay_to);
    for asset in &terms.assets {
        line("asset", &Contract(asset));
    }
    line("prices", &Prices);
    line("settlement", &mode);
    if mode == SettlementMode::Onchain
        && let Some(account) = config.settlement.payer_of_gas()
    {
        line("gas account", &account);
    }
    if let Ok(reviewed) = crate::reviewed::contracts(config) {
        line(
            "contracts",
            &format!("{}, {} routers", reviewed.version, reviewed.routers.len()),
        );
    }
    if let Some(turnkey) = config.custody.as_ref().and_then(|it| it.turnkey()) {
        let text = format!(
            "turnkey, organisation {}: keys are held in Turnkey's enclaves, which are trusted execution environments",
            turnkey.organization_id
        );
        line("custody", &text);
    } else if let Some(custody) = &config.custody {
        let folder = custody
            .directory
            .as_deref()
            .unwrap_or_else(|| Path::new(""));
        let text = format!(
            "local, in {}: keys are held in this process, not in a trusted execution environment",
            folder.display()
        );
        line("custody", &text);
    }
    if (config.custody.is_some() || config.wallets.reviewed.is_some())
        && let Ok(policy) = crate::signing::policy(config)
    {
        line("targets", &crate::signing::summary(&policy));
    }
    if let Ok(Some(policy)) = crate::fees::policy(config) {
        let fees = &policy.fees;
        let chains: Vec<String> = fees.chains.iter().map(|c| c.chain_id.to_string()).collect();
        let text = format!(
            "fees {}: wallets also swap on {}, and bridge USDC",
            fees.version,
            chains.join(", ")
        );
        line("plans", &text);
    }
    if let Some(key) = &config.wallets.gas_account_key
        && let Ok(key) = tx_sender::LocalKey::from_hex(key)
    {
        line("wallets' gas", &key.account());
    }
    if let Ok(Some(pinned)) = crate::delegation::pinned(config) {
        let policy = pinned.fence.policy();
        let text = format!(
            "{} {}, at most {} USD in one swap",
            policy.name(),
            policy.digest(),
            policy.per_swap_cap_usd()
        );
        line("fence", &text);
    }
    if let Some(section) = &config.delegation
        && let Some(redeemer) = section.redeemer()
    {
        let text = match crate::delegation::level(section) {
            Level::Stock => format!("{redeemer}, held by the framework's own enforcers"),
            Level::Enforcer(enforcer) => format!("{redeemer}, held by the enforcer at {enforcer}"),
        };
        line("redeemer", &text);
    }
    for scheme in &offering.unpayable {
        let scheme = scheme.as_str();
        let text = format!(
            "every challenge offers {scheme}, but mode {mode} can never settle it: its payments are refused"
        );
        line("scheme", &text);
    }
    for (operation, unserved) in &offering.unserved {
        let route = operation.route();
        let text = format!("{} {} is {}", route.method, route.path, unserved.sentence());
        line("route", &text);
    }
    text
}

struct Contract<'a>(&'a Asset);

impl fmt::Display for Contract<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Asset {
            address,
            name,
            version,
        } = self.0;
        write!(f, "{address}, name {name:?}, version {version:?}")
    }
}

/// The range of the catalog's prices.
struct Prices;

impl fmt::Display for Prices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations = Operation::ALL.len();
        let prices = || {
            Operation::ALL
                .iter()
                .map(|operation| operation.route().price)
        };
        match (prices().min(), prices().max()) {
            (Some(least), Some(most)) => {
                write!(f, "{least} to {most} USD a call, {operations} operations")
            }
            _ => f.write_str("no operations"),
        }
    }
}
