//! The recordings of this repository, compiled in: a binary needs nothing beside itself.

pub(crate) const MANIFEST: &str = include_str!("../../../fixtures/upstreams/manifest.json");

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../fixtures/upstreams/", $name)))),*]
    };
}

pub(crate) const FILES: &[(&str, &str)] = files![
    "circle/error_rate_limited.json",
    "circle/fast_allowance.json",
    "circle/fees_fast.json",
    "circle/fees_fast_forward.json",
    "circle/fees_fast_forward_ethereum.json",
    "circle/fees_standard.json",
    "circle/fees_standard_forward.json",
    "circle/fees_standard_forward_ethereum.json",
    "hyperliquid/max_builder_fee.json",
    "hyperliquid/meta.json",
    "hyperliquid/meta_and_asset_ctxs.json",
    "hyperliquid/meta_and_asset_ctxs_xyz.json",
    "hyperliquid/meta_xyz.json",
    "hyperliquid/perp_dexs.json",
    "hyperliquid/unknown_dex.json",
    "lifi/error_no_quote.json",
    "lifi/error_rate_limited.json",
    "lifi/error_validation.json",
    "lifi/gateway_page.html",
    "lifi/quote_receiver_changed.json",
    "lifi/quote_usdc_weth.json",
    "lifi/quote_without_transaction.json",
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
    "polymarket/error_no_book.json",
    "polymarket/error_no_market.json",
    "polymarket/error_trading_disabled.json",
    "polymarket/listed_none.json",
    "polymarket/nominee_book.json",
    "polymarket/nominee_listed.json",
    "polymarket/nominee_neg_risk.json",
    "polymarket/nominee_tick_size.json",
    "polymarket/nominee_token.json",
    "polymarket/rate_cut_book.json",
    "polymarket/rate_cut_listed.json",
    "polymarket/rate_cut_neg_risk.json",
    "polymarket/rate_cut_tick_size.json",
    "polymarket/rate_cut_token.json",
    "polymarket/version.json",
];
