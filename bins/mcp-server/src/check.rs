//! `check-config`: reports the recipients of fees and the files of a configuration, for an operator
//! to compare with the intention. It sends no request; [`online`] sends those of `--online`.

pub(crate) mod online;

use std::fmt::Write as _;

use calldata_checks::FeePolicy;

use crate::config::Config;

/// Reports the address, every recipient of a fee, and the files. It shows no secret.
pub(crate) fn report(config: &Config, fees: &FeePolicy) -> String {
    let plans = &config.plans;
    let mut text = format!(
        "the configuration can be used: listening on {}, tools named {}_…\n",
        config.listen(),
        config.brand()
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "  fees         version {:?}, at most {} bps together",
        fees.version,
        fees.aggregate_cap.get()
    );
    for chain in &fees.chains {
        let code = chain.legs.iter().filter(|leg| leg.runs_arbitrary_code);
        let _ = writeln!(
            text,
            "  swaps        on chain {}: {} reviewed legs, {} of them run code of the quote's choosing",
            chain.chain_id,
            chain.legs.len(),
            code.count()
        );
    }
    for recipient in &fees.recipients {
        let _ = writeln!(
            text,
            "  recipient    {:?}: {} bps to {}",
            recipient.role,
            recipient.bps.get(),
            recipient.address
        );
    }
    if !fees.pm_builder_code.is_zero() {
        let _ = writeln!(
            text,
            "  builder      of prediction-market orders: {}, at most {} bps",
            fees.pm_builder_code,
            fees.pm_max_builder_fee.get()
        );
    }
    let _ = writeln!(
        text,
        "  simulation   {}; chains with a node: {}",
        plans.simulation_mode().as_str(),
        nodes(config)
    );
    if plans.allow_unread_accounts {
        let _ = writeln!(
            text,
            "  accounts     bridge plans are given for accounts that no node was asked about"
        );
    }
    if let Some(builder) = &fees.perp_builder {
        let _ = writeln!(
            text,
            "  builder      of perpetuals orders: {} tenths of a bp to {}",
            builder.fee_tenth_bps, builder.address
        );
    }
    if let Some(fence) = &config.delegation {
        let _ = writeln!(
            text,
            "  fence        {} {}, at most {} USD in one swap, read back at {}",
            fence.policy_name, fence.policy_digest, fence.per_swap_cap_usd, fence.status_url
        );
    }
    let _ = writeln!(text, "  storage      {}", storage(config));
    text
}

/// Names the file of used limits, for `check-config` and for the log.
pub(crate) fn storage(config: &Config) -> String {
    match config.storage.file() {
        Some(file) => format!("quotas, budgets and shares are kept in {file}"),
        None => "quotas, budgets and shares are kept in memory, and begin anew at every start \
            (storage.url is not set)"
            .to_owned(),
    }
}

/// The ids of the chains that have a node.
fn nodes(config: &Config) -> String {
    let read = config.chains.0.iter();
    let read = read.filter(|(_, table)| !table.rpc_urls.is_empty());
    let ids: Vec<_> = read.map(|(id, _)| id.as_str()).collect();
    if ids.is_empty() {
        return "none".to_owned();
    }
    ids.join(", ")
}
