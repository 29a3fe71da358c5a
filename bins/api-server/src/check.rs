//! `check-config`: who will be paid what, in words that an operator can compare with what was meant. Nothing is opened
//! or asked here; [`online`] asks.

pub(crate) mod online;

use std::fmt::{self, Write as _};

use route_catalog::{Offering, Operation};
use x402_wire::{Asset, Terms};

use crate::config::{Config, SettlementMode};

/// Who is paid what, who settles, what cannot be paid with and what is not served. Shows no secret, and no URL of a facilitator or node, which may hold one.
pub(crate) fn report(config: &Config, terms: &Terms, offering: &Offering) -> String {
    let mode = config.settlement.mode;
    let mut text = format!(
        "the configuration can be used: listening on {}, paid to {}, settled by {mode}, ledger {}\n",
        config.listen(),
        terms.pay_to,
        config.storage.url
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
        && let Some(account) = config.settlement.gas_account()
    {
        line("gas account", &account);
    }
    if let Ok(reviewed) = crate::reviewed::contracts(config) {
        line(
            "contracts",
            &format!("{}, {} routers", reviewed.version, reviewed.routers.len()),
        );
    }
    for scheme in &offering.unpayable {
        let scheme = scheme.as_str();
        let said = format!(
            "{scheme} stands in every challenge and can never be paid in mode {mode}: its payments are refused"
        );
        line("scheme", &said);
    }
    for (operation, unserved) in &offering.unserved {
        let route = operation.route();
        let said = format!("{} {} is {}", route.method, route.path, unserved.sentence());
        line("route", &said);
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
