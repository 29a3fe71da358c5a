//! The probed adapters, and the routes that depend on each. A test compares the table of routes
//! with the sources that answers name.

use std::time::Duration;

use data_sources::probe::{Found, Probed, probe_all};
use route_catalog::Operation;
use route_catalog::Operation::{
    AllTokens, Approve, AutoBridge, AutoDefiInvest, AutoSwap, CryptoNews, DefiAnalytics,
    FilteredNews, FundingRates, GenerateMeme, HlTransactionHistory, HyperliquidAccount,
    HyperliquidMarket, IdleCapital, KolSentiment, LlmResearch, MarketAlpha, MegaReport, Portfolio,
    Price, RwaPulse, SupportedTokens, Swap, TokenAlpha, TokenDeepDive, TokenDetails, TokenSecurity,
    TradfiData, TrendingAltcoins, TwitterSummary, TxExplainer, VetToken, YieldAlpha,
    YieldFarmingActive, YieldFarmingHistorical, YieldMarkets, YieldRecommendations,
};

use super::Sources;

impl Sources {
    /// Asks every upstream once.
    pub(crate) async fn probe(&self) -> Found {
        probe_all(&self.probed(), self.now(), &serves).await
    }

    /// Asks every upstream periodically.
    pub(crate) async fn keep_probing(&self, every: Duration) {
        let now = || self.now();
        self.probes.keep(&self.probed(), every, now, &serves).await;
    }

    /// The paths of the routes that read a source or fall back to it.
    #[must_use]
    pub fn serves(source: &str) -> Vec<&'static str> {
        serves(source)
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
            &self.rails.aggregator,
            &self.rails.circle,
        ]
    }
}

/// Routes that read every perpetual, or one at every venue.
const MARKETS: &[Operation] = &[FundingRates, TokenAlpha, TokenDeepDive, MegaReport];
/// Routes that read the news. `/token-alpha` reads it while the source of symbols is unavailable.
const NEWS: &[Operation] = &[CryptoNews, FilteredNews, RwaPulse, MegaReport, TokenAlpha];
const SCANS: &[Operation] = &[TokenSecurity, VetToken, TokenDeepDive];
const BALANCES: &[Operation] = &[Portfolio, IdleCapital, YieldRecommendations];
const CATALOGUES: &[Operation] = &[TokenDetails, TokenAlpha, TokenDeepDive];

/// The operations that read a source or fall back to it. A test compares them with the sources in
/// their answers.
const READERS: &[(&str, &[Operation])] = &[
    ("okx.market-price", &[Price, VetToken, TokenDeepDive]),
    (
        "okx.all-tokens",
        &[
            AllTokens,
            TokenSecurity,
            VetToken,
            TokenDeepDive,
            Portfolio,
            IdleCapital,
            YieldRecommendations,
        ],
    ),
    (
        "okx.price-info",
        &[Price, MarketAlpha, TokenSecurity, VetToken, TokenDeepDive],
    ),
    ("okx.token-search", &[SupportedTokens]),
    (
        "okx.hot-tokens",
        &[MarketAlpha, TrendingAltcoins, MegaReport],
    ),
    ("okx.top-liquidity", SCANS),
    ("okx.advanced-info", SCANS),
    ("okx.token-scan", SCANS),
    ("okx.token-holders", SCANS),
    ("okx.quote", &[VetToken, Price]),
    ("okx.approve-transaction", &[Approve]),
    ("okx.swap", &[Swap]),
    (
        "okx.news",
        &[
            CryptoNews,
            FilteredNews,
            RwaPulse,
            MegaReport,
            TokenAlpha,
            TokenDeepDive,
        ],
    ),
    ("okx.sentiment", &[TokenAlpha, TrendingAltcoins, MegaReport]),
    ("okx.vibe", &[KolSentiment, TokenDeepDive, MegaReport]),
    ("okx.balances", BALANCES),
    ("okx.balance-chains", BALANCES),
    ("okx.defi", &[YieldMarkets, YieldFarmingActive]),
    ("goplus.", SCANS),
    ("coingecko.token-list", &[AllTokens]),
    ("coingecko.trending", &[TrendingAltcoins, MegaReport]),
    ("coingecko.", CATALOGUES),
    ("coinpaprika.", CATALOGUES),
    (
        "dexscreener.pairs",
        &[
            Price,
            VetToken,
            TokenDeepDive,
            Swap,
            AutoSwap,
            AutoDefiInvest,
        ],
    ),
    ("dexscreener.search", &[TokenDetails, TokenDeepDive]),
    (
        "defillama.coins",
        &[
            Price,
            VetToken,
            TokenDeepDive,
            Portfolio,
            IdleCapital,
            YieldRecommendations,
            Swap,
            AutoSwap,
            AutoDefiInvest,
        ],
    ),
    ("defillama.chart", &[YieldFarmingHistorical]),
    (
        "defillama.pools",
        &[
            YieldAlpha,
            YieldMarkets,
            YieldFarmingActive,
            YieldRecommendations,
            IdleCapital,
            MegaReport,
        ],
    ),
    ("defillama.", &[DefiAnalytics, MegaReport]),
    ("hyperliquid.account", &[HyperliquidAccount]),
    ("hyperliquid.spot-account", &[HyperliquidAccount]),
    ("hyperliquid.open-orders", &[HyperliquidAccount]),
    ("hyperliquid.role", &[HyperliquidAccount]),
    ("hyperliquid.history", &[HlTransactionHistory]),
    ("hyperliquid.categories", &[RwaPulse]),
    (
        "hyperliquid.dexs",
        &[RwaPulse, HyperliquidAccount, HyperliquidMarket],
    ),
    ("hyperliquid.predicted-fundings", MARKETS),
    (
        "hyperliquid.book",
        &[HyperliquidMarket, TokenDeepDive, MegaReport],
    ),
    (
        "hyperliquid.candles",
        &[HyperliquidMarket, TokenDeepDive, MegaReport],
    ),
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
    (
        "binance.long-short",
        &[FundingRates, TokenAlpha, TokenDeepDive],
    ),
    ("binance.", MARKETS),
    (
        "okx-futures.long-short",
        &[FundingRates, TokenAlpha, TokenDeepDive],
    ),
    ("okx-futures.", MARKETS),
    (
        "bybit.long-short",
        &[FundingRates, TokenAlpha, TokenDeepDive],
    ),
    ("bybit.", MARKETS),
    ("fred.", &[TradfiData, RwaPulse, MegaReport]),
    ("treasury.", &[TradfiData, RwaPulse, MegaReport]),
    ("cboe.", &[TradfiData, RwaPulse, MegaReport]),
    ("frankfurter.", &[TradfiData, MegaReport]),
    ("yahoo.", &[TradfiData, MegaReport]),
    ("alternative-me.", NEWS),
    ("coindesk.", NEWS),
    ("rss.", NEWS),
    ("cryptopanic.", NEWS),
    (
        "x.",
        &[KolSentiment, TwitterSummary, TokenDeepDive, MegaReport],
    ),
    ("lunarcrush.", &[TokenAlpha]),
    ("openai.images", &[GenerateMeme]),
    ("openai.responses", &[LlmResearch]),
    ("openai.", &[LlmResearch, GenerateMeme]),
    ("anthropic.", &[LlmResearch]),
    ("perplexity.", &[LlmResearch]),
    ("gemini.", &[GenerateMeme]),
    ("fal.", &[GenerateMeme]),
    ("sourcify.", &[TxExplainer]),
    ("fourbyte.", &[TxExplainer]),
    ("blockscout.", BALANCES),
    ("lifi.", &[AutoSwap]),
    ("circle.", &[AutoBridge]),
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
fn serves(source: &str) -> Vec<&'static str> {
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
