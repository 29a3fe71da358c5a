//! The most outside requests that a call of each operation can make.

use crate::Operation;

/// The most requests of one call of an operation when nothing is in a cache.
///
/// A server reserves credit for that many before it begins the work. A failed request that is sent
/// again counts once, because the caller does not control failures. A call that only reads cached
/// data counts as one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MostCalls {
    /// Requests to upstreams of data, and polls for the result of a model.
    pub upstream: u32,
    /// Requests that start work of a model.
    pub model: u32,
}

impl Operation {
    /// Returns the most requests that one call of the operation makes.
    pub const fn most_calls(self) -> MostCalls {
        let (upstream, model) = match self {
            // One dataset.
            Self::CryptoNews
            | Self::YieldAlpha
            | Self::CreateYieldWatch
            | Self::CancelYieldWatch
            | Self::ListYieldWatch
            | Self::AuditYieldWatch => (1, 0),
            // One list or one quote, and another source for it.
            Self::AllTokens
            | Self::SupportedTokens
            | Self::Approve
            | Self::DefiAnalytics
            | Self::YieldFarmingHistorical => (2, 0),
            // Some pages of posts; some lists side by side; or a market with its book and its
            // candles.
            Self::FilteredNews
            | Self::TrendingAltcoins
            | Self::TwitterSummary
            | Self::MarketAlpha
            | Self::HyperliquidMarket
            | Self::YieldMarkets => (4, 0),
            // Three quotes, the pools, and a trade both ways.
            Self::Price => (6, 0),
            // A quote, a token's decimals from two nodes, and two prices of each of the two tokens.
            Self::Swap => (7, 0),
            // Three sources one after the other. Some need a search first.
            Self::TokenDetails => (8, 0),
            // Some pages of posts, and the opinion leaders of seven tokens; or two scans and the
            // holders.
            Self::KolSentiment | Self::TokenSecurity => (10, 0),
            // Pages of three kinds; or every chain of a protocol.
            Self::HlTransactionHistory | Self::YieldFarmingActive => (14, 0),
            // Scans, holders, the price, and trades of two sizes.
            Self::VetToken => (22, 0),
            // Four venues, a coin and two measures of mood; or one request for each exchange of the
            // venue.
            Self::TokenAlpha | Self::HyperliquidAccount => (24, 0),
            // One request for each of sixteen exchanges, and the bonds and the volatility.
            Self::RwaPulse => (26, 0),
            // Four venues and each of the twenty largest markets; or each instrument, some from a
            // second source too.
            Self::FundingRates | Self::TradfiData => (30, 0),
            // Every chain whose balances the index lacks, by its nodes and its explorer.
            Self::Portfolio | Self::IdleCapital | Self::SubWallet => (48, 0),
            // A coin, with its venues, its scans, its price and its pools.
            Self::TokenDeepDive => (56, 0),
            // A portfolio, and the gas price of every chain.
            Self::YieldRecommendations => (68, 0),
            // Two nodes of every chain, and then a look-up of every contract and selector; or all
            // sections of a report.
            Self::TxExplainer | Self::MegaReport => (80, 0),
            // One model after the other while they fail; or one image, with polls until it is
            // drawn.
            Self::LlmResearch => (1, 3),
            Self::GenerateMeme => (16, 1),
            Self::AutoSwap
            | Self::AutoBridge
            | Self::AutoWithdraw
            | Self::AutoDefiInvest
            | Self::AutoDefiWithdraw => (16, 0),
            // The gas price of four chains, the price of each product, and one action.
            Self::YieldCopilot => (32, 0),
        };
        MostCalls { upstream, model }
    }

    /// Whether a call may make something that stays for good even when it ends uncharged: a
    /// sub-wallet, or a mandate.
    #[must_use]
    pub const fn keeps(self) -> bool {
        matches!(self, Self::SubWallet | Self::CreateYieldWatch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorkClass;

    #[test]
    fn only_the_routes_of_models_ask_models() {
        for operation in Operation::ALL {
            let MostCalls { upstream, model } = operation.most_calls();
            let is_of_models = operation.route().work == WorkClass::Model;
            assert_eq!(model > 0, is_of_models, "{operation}");
            assert!(upstream > 0, "{operation}");
        }
    }
}
