//! `check-config`: what a configuration that can be used will do, in words that an operator can compare with what was
//! meant. Nothing is opened or asked here; [`online`] asks.

pub(crate) mod online;

use std::fmt::{self, Write as _};

use alloy_primitives::Address;
use route_catalog::Operation;
use x402_wire::{Asset, Terms};

use crate::config::{Config, SettlementMode};

/// Who is paid what, and by whom it is settled. Shows no key and no URL that may hold one.
pub(crate) fn report(config: &Config, terms: &Terms) -> String {
    let mut text = String::new();
    let mut line = |label: &str, value: &dyn fmt::Display| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {label:<11}{value}");
    };
    line("payee", &terms.pay_to);
    for asset in &terms.assets {
        line("asset", &Contract(asset));
    }
    line("prices", &Prices);
    let mode = config.settlement.mode;
    line("settled by", &mode);
    if mode == SettlementMode::Onchain
        && let Some(account) = config.settlement.gas_account()
    {
        line("gas paid by", &account);
    }
    text
}

/// The address that pays gas is worth a look: it has to be funded, and it must not be the payee's by mistake.
pub(crate) fn gas_account_is_payee(account: Address, terms: &Terms) -> bool {
    account == terms.pay_to
}

struct Contract<'a>(&'a Asset);

impl fmt::Display for Contract<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Asset {
            address,
            name,
            version,
        } = self.0;
        write!(f, "{address} {name:?}, version {version:?}")
    }
}

/// The range of the catalog's prices.
struct Prices;

impl fmt::Display for Prices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prices = || Operation::ALL.iter().map(|operation| operation.route().price);
        let (Some(least), Some(most)) = (prices().min(), prices().max()) else {
            return f.write_str("none");
        };
        write!(
            f,
            "{least} to {most} USD for each of {} operations",
            Operation::ALL.len()
        )
    }
}
