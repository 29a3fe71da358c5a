//! Turns the configuration table of each venue into the configuration of its adapter.

use std::collections::BTreeMap;
use std::time::Duration;

use data_sources::hyperliquid::HyperliquidConfig;
use data_sources::polymarket::PolymarketConfig;
use data_sources::rpc::RpcConfig;
use data_sources::{Mode, QuotaSpec, SourceConfig, VenueConfig};
use server_config::{UpstreamMode, UpstreamTable};

use crate::config::Config;

pub(super) fn polymarket(table: UpstreamTable) -> PolymarketConfig {
    let mut config = PolymarketConfig::default();
    venue(&mut config.common, &table);
    set(&mut config.clob_url, table.clob_url);
    set(&mut config.gamma_url, table.gamma_url);
    config
}

pub(super) fn hyperliquid(table: UpstreamTable) -> HyperliquidConfig {
    let mut config = HyperliquidConfig::default();
    venue(&mut config.common, &table);
    set(&mut config.base_url, table.base_url);
    config
}

/// The table of an upstream in the form that most adapters take.
pub(super) fn source(table: &UpstreamTable) -> SourceConfig {
    let owned = |(key, text): (&str, &str)| (key.to_owned(), text.to_owned());
    SourceConfig {
        urls: table.urls().map(owned).collect(),
        options: table.options().map(owned).collect(),
        api_key: table.api_key.clone(),
        secret_key: table.secret_key.clone(),
        passphrase: table.passphrase.clone(),
        enabled: table.enabled.unwrap_or(true),
        mode: match table.mode {
            Some(UpstreamMode::Replay) => Mode::Replay,
            _ => Mode::Live,
        },
        timeout: table.timeout_ms.map(Duration::from_millis),
        monthly_quota: table.monthly_quota,
        daily_quota: table.daily_quota,
        servers: table.shared_by(),
        ..SourceConfig::default()
    }
}

pub(super) fn rpc(config: &Config) -> RpcConfig {
    let chains = config.chains.0.iter().filter_map(|(id, table)| {
        let urls = table.rpc_urls.iter().map(|url| url.clone().into());
        Some((id.parse().ok()?, urls.collect()))
    });
    RpcConfig {
        chains: chains.collect::<BTreeMap<_, _>>(),
        ..RpcConfig::default()
    }
}

/// Applies the keys that every venue's table may have.
fn venue(config: &mut VenueConfig, table: &UpstreamTable) {
    if let Some(wanted) = table.enabled {
        config.enabled = wanted;
    }
    if table.mode == Some(UpstreamMode::Replay) {
        config.mode = Mode::Replay;
    }
    if let Some(milliseconds) = table.timeout_ms {
        config.limits.timeout = Duration::from_millis(milliseconds);
    }
    config.servers = table.shared_by();
    config.quota = QuotaSpec {
        daily: table.daily_quota.unwrap_or(0),
        monthly: table.monthly_quota.unwrap_or(0),
    };
}

fn set(value: &mut String, wanted: Option<String>) {
    if let Some(wanted) = wanted {
        *value = wanted;
    }
}
