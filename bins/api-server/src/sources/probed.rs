//! Which adapters are probed, and which routes rest on each.

use std::time::Duration;

use data_sources::probe::{Found, Probed, probe_all};
use route_catalog::Operation;
use route_catalog::Operation::{
    AllTokens, Approve, CryptoNews, DefiAnalytics, FilteredNews, FundingRates, GenerateMeme,
    HlTransactionHistory, HyperliquidAccount, HyperliquidMarket, IdleCapital, KolSentiment,
    LlmResearch, MarketAlpha, MegaReport, Portfolio, Price, RwaPulse, SupportedTokens, Swap,
    TokenAlpha, TokenDeepDive, TokenDetails, TokenSecurity, TradfiData, TrendingAltcoins,
    TwitterSummary, TxExplainer, VetToken, YieldAlpha, YieldFarmingActive, YieldFarmingHistorical,
    YieldMarkets, YieldRecommendations,
};

use super::Sources;

impl Sources {
    /// Asks every upstream once.
    pub(crate) async fn probe(&self) -> Found {
        probe_all(&self.probed(), self.now(), &serves).await
    }

    /// Asks every upstream again and again.
    pub(crate) async fn keep_probing(&self, every: Duration) {
        let now = || self.now();
        self.probes.keep(&self.probed(), every, now, &serves).await;
    }

    fn probed(&self) -> Vec<&dyn Probed> {
        let feeds = &self.news.feeds;
        vec![
            &self.tokens.okx,
            &self.security.goplus,
            &self.tokens.coingecko,
            &self.tokens.coinpaprika,
            &self.tokens.dexscreener,
            &self.defi.defillama,
            &self.derivatives.hyperliquid,
            &self.derivatives.binance,
            &self.derivatives.okx_futures,
            &self.derivatives.bybit,
            &self.tradfi.fred,
            &self.tradfi.treasury,
            &self.tradfi.cboe,
            &self.tradfi.frankfurter,
            &self.tradfi.yahoo,
            &feeds.alternative_me,
            &feeds.coindesk,
            &feeds.rss,
            &feeds.cryptopanic,
            &feeds.x_api,
            &self.news.lunarcrush,
            &self.ai.openai,
            &self.ai.anthropic,
            &self.ai.gemini,
            &self.ai.fal,
            &self.ai.perplexity,
            &self.chain.sourcify,
            &self.chain.fourbyte,
            &self.accounts.blockscout,
            &self.chain.evm,
        ]
    }
}

const MARKETS: &[Operation] = &[FundingRates, TokenAlpha, TokenDeepDive, MegaReport];
const NEWS: &[Operation] = &[
    CryptoNews,
    FilteredNews,
    TokenAlpha,
    TokenDeepDive,
    TrendingAltcoins,
    RwaPulse,
    MegaReport,
];
const MOODS: &[Operation] = &[
    KolSentiment,
    TwitterSummary,
    TokenAlpha,
    TokenDeepDive,
    TrendingAltcoins,
    MegaReport,
];
const SCANS: &[Operation] = &[TokenSecurity, VetToken, TokenDeepDive];
const YIELDS: &[Operation] = &[
    YieldAlpha,
    YieldMarkets,
    YieldFarmingActive,
    YieldRecommendations,
    IdleCapital,
];
const MACRO: &[Operation] = &[TradfiData, RwaPulse, MegaReport];

/// The operations that read a source, or fall back on it.
const READERS: &[(&str, &[Operation])] = &[
    (
        "okx.market-price",
        &[Price, VetToken, TokenDeepDive, TokenAlpha, MegaReport],
    ),
    (
        "okx.all-tokens",
        &[AllTokens, SupportedTokens, Portfolio, TokenSecurity],
    ),
    (
        "okx.price-info",
        &[
            Price,
            MarketAlpha,
            TokenDetails,
            TokenSecurity,
            VetToken,
            TokenDeepDive,
        ],
    ),
    ("okx.token-search", &[SupportedTokens, TokenDetails]),
    ("okx.hot-tokens", &[MarketAlpha, TrendingAltcoins]),
    ("okx.top-liquidity", SCANS),
    ("okx.advanced-info", SCANS),
    ("okx.token-scan", SCANS),
    ("okx.token-holders", SCANS),
    ("okx.quote", SCANS),
    ("okx.approve-transaction", &[Approve]),
    ("okx.swap", &[Swap]),
    ("okx.news", NEWS),
    ("okx.sentiment", MOODS),
    ("okx.vibe", MOODS),
    (
        "okx.balances",
        &[Portfolio, IdleCapital, YieldRecommendations],
    ),
    (
        "okx.balance-chains",
        &[Portfolio, IdleCapital, YieldRecommendations],
    ),
    ("okx.defi", YIELDS),
    ("goplus.", SCANS),
    ("coingecko.token-list", &[AllTokens]),
    (
        "coingecko.",
        &[
            TokenDetails,
            TrendingAltcoins,
            TokenAlpha,
            TokenDeepDive,
            MegaReport,
        ],
    ),
    ("coinpaprika.", &[TokenDetails, TokenAlpha]),
    (
        "dexscreener.",
        &[Price, TokenDetails, TokenDeepDive, TokenAlpha, VetToken],
    ),
    (
        "defillama.coins",
        &[
            Price,
            Portfolio,
            IdleCapital,
            YieldRecommendations,
            TokenDeepDive,
        ],
    ),
    ("defillama.chart", &[YieldFarmingHistorical]),
    ("defillama.pools", YIELDS),
    ("defillama.", &[DefiAnalytics, MegaReport]),
    ("hyperliquid.account", &[HyperliquidAccount]),
    ("hyperliquid.spot-account", &[HyperliquidAccount]),
    ("hyperliquid.open-orders", &[HyperliquidAccount]),
    (
        "hyperliquid.role",
        &[HyperliquidAccount, HlTransactionHistory],
    ),
    ("hyperliquid.history", &[HlTransactionHistory]),
    (
        "hyperliquid.",
        &[
            HyperliquidMarket,
            FundingRates,
            TradfiData,
            RwaPulse,
            TokenAlpha,
            TokenDeepDive,
            MegaReport,
        ],
    ),
    ("binance.", MARKETS),
    ("okx-futures.", MARKETS),
    ("bybit.", MARKETS),
    ("fred.", MACRO),
    ("treasury.", MACRO),
    ("cboe.", MACRO),
    ("frankfurter.", MACRO),
    ("yahoo.", MACRO),
    ("alternative-me.", MOODS),
    ("coindesk.", NEWS),
    ("rss.", NEWS),
    ("cryptopanic.", NEWS),
    ("x.", MOODS),
    ("lunarcrush.", MOODS),
    ("openai.", &[LlmResearch, GenerateMeme]),
    ("anthropic.", &[LlmResearch]),
    ("perplexity.", &[LlmResearch]),
    ("gemini.", &[GenerateMeme]),
    ("fal.", &[GenerateMeme]),
    ("sourcify.", &[TxExplainer]),
    ("fourbyte.", &[TxExplainer]),
    (
        "blockscout.",
        &[Portfolio, IdleCapital, YieldRecommendations],
    ),
    ("rpc.gas-price", &[YieldRecommendations]),
    (
        "rpc.",
        &[
            TxExplainer,
            Portfolio,
            IdleCapital,
            YieldMarkets,
            YieldFarmingActive,
            YieldRecommendations,
        ],
    ),
];

/// The paths of the routes that read a source.
pub(crate) fn serves(source: &str) -> Vec<&'static str> {
    let found = READERS
        .iter()
        .find(|(prefix, _)| source.starts_with(prefix));
    let operations = found.map_or(&[][..], |(_, operations)| operations);
    operations
        .iter()
        .map(|operation| operation.route().path)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_serves_a_route() {
        for spec in Sources::specs() {
            for source in spec.sources {
                assert!(!serves(source).is_empty(), "{source}");
            }
        }
    }
}
