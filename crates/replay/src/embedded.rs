//! The recordings of this repository, compiled in: a binary needs nothing beside itself.

pub(crate) const MANIFEST: &str = include_str!("../../../fixtures/upstreams/manifest.json");

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../fixtures/upstreams/", $name)))),*]
    };
}

pub(crate) const FILES: &[(&str, &str)] = files![
    "okx/all_tokens_196.json",
    "okx/approve_transaction.json",
    "okx/approve_transaction_reviewed.json",
    "okx/error_bad_sign.json",
    "okx/error_rate_limited.json",
    "okx/market_price_okb.json",
    "okx/market_price_unknown.json",
    "okx/market_price_usdg.json",
    "okx/market_price_usdt0.json",
    "okx/swap_no_liquidity.json",
    "okx/swap_usdg_wokb.json",
    "okx/swap_usdt0_usdg.json",
    "okx/swap_usdt0_wokb.json",
];
