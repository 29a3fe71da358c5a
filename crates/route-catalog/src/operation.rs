//! All paid operations. Each is declared together with its row of the table.

use std::fmt;

use crate::{Dataset, Parameters, Route, WorkClass, routes};

/// Declares each operation with its name and its row. The constant of a row has the name of its
/// operation. So an operation without a row, or with the row of another operation, does not
/// compile.
macro_rules! operations {
    ($( $variant:ident, $name:literal => routes::$family:ident::$row:ident; )+) => {
        /// A paid operation: one method on one path.
        ///
        /// Handlers `match` over this enumeration, so a route without a handler does not compile.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Operation {
            $(
                #[doc = concat!("The operation `", $name, "`.")]
                $variant,
            )+
        }

        impl Operation {
            /// Every operation, in the order of the table.
            pub const ALL: [Self; [$( $name ),+].len()] = [$( Self::$variant ),+];

            /// The stable snake_case name: the `operationId` of OpenAPI, and the label of logs
            /// and metrics.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name ),+ }
            }

            /// The row of the table.
            pub const fn route(self) -> &'static Route {
                match self {
                    $( Self::$variant => {
                        const { assert!(stringify!($row).eq_ignore_ascii_case($name)) };
                        static ROW: Route = routes::$family::$row;
                        &ROW
                    } )+
                }
            }
        }
    };
}

operations! {
    Swap, "swap" => routes::tokens::SWAP;
    MarketAlpha, "market_alpha" => routes::tokens::MARKET_ALPHA;
    Price, "price" => routes::tokens::PRICE;
    AllTokens, "all_tokens" => routes::tokens::ALL_TOKENS;
    Approve, "approve" => routes::tokens::APPROVE;
    CryptoNews, "crypto_news" => routes::news::CRYPTO_NEWS;
    TokenAlpha, "token_alpha" => routes::news::TOKEN_ALPHA;
    KolSentiment, "kol_sentiment" => routes::news::KOL_SENTIMENT;
    TrendingAltcoins, "trending_altcoins" => routes::news::TRENDING_ALTCOINS;
    MegaReport, "mega_report" => routes::news::MEGA_REPORT;
    TokenSecurity, "token_security" => routes::security::TOKEN_SECURITY;
    FundingRates, "funding_rates" => routes::derivatives::FUNDING_RATES;
    DefiAnalytics, "defi_analytics" => routes::defi::DEFI_ANALYTICS;
    FilteredNews, "filtered_news" => routes::news::FILTERED_NEWS;
    TwitterSummary, "twitter_summary" => routes::news::TWITTER_SUMMARY;
    TokenDetails, "token_details" => routes::tokens::TOKEN_DETAILS;
    YieldAlpha, "yield_alpha" => routes::defi::YIELD_ALPHA;
    TradfiData, "tradfi_data" => routes::macro_data::TRADFI_DATA;
    VetToken, "vet_token" => routes::security::VET_TOKEN;
    TokenDeepDive, "token_deep_dive" => routes::tokens::TOKEN_DEEP_DIVE;
    RwaPulse, "rwa_pulse" => routes::macro_data::RWA_PULSE;
    GenerateMeme, "generate_meme" => routes::ai::GENERATE_MEME;
    LlmResearch, "llm_research" => routes::ai::LLM_RESEARCH;
    TxExplainer, "tx_explainer" => routes::chains::TX_EXPLAINER;
    Portfolio, "portfolio" => routes::chains::PORTFOLIO;
    SupportedTokens, "supported_tokens" => routes::tokens::SUPPORTED_TOKENS;
    HlTransactionHistory, "hl_transaction_history" => routes::derivatives::HL_TRANSACTION_HISTORY;
    HyperliquidAccount, "hyperliquid_account" => routes::derivatives::HYPERLIQUID_ACCOUNT;
    HyperliquidMarket, "hyperliquid_market" => routes::derivatives::HYPERLIQUID_MARKET;
    IdleCapital, "idle_capital" => routes::defi::IDLE_CAPITAL;
    YieldFarmingActive, "yield_farming_active" => routes::defi::YIELD_FARMING_ACTIVE;
    YieldFarmingHistorical, "yield_farming_historical" => routes::defi::YIELD_FARMING_HISTORICAL;
    YieldMarkets, "yield_markets" => routes::defi::YIELD_MARKETS;
    YieldRecommendations, "yield_recommendations" => routes::defi::YIELD_RECOMMENDATIONS;
    SubWallet, "sub_wallet" => routes::wallet::SUB_WALLET;
    AutoSwap, "auto_swap" => routes::wallet::AUTO_SWAP;
    AutoBridge, "auto_bridge" => routes::wallet::AUTO_BRIDGE;
    AutoWithdraw, "auto_withdraw" => routes::wallet::AUTO_WITHDRAW;
    AutoDefiInvest, "auto_defi_invest" => routes::wallet::AUTO_DEFI_INVEST;
    AutoDefiWithdraw, "auto_defi_withdraw" => routes::wallet::AUTO_DEFI_WITHDRAW;
    YieldCopilot, "yield_copilot" => routes::yield_watch::YIELD_COPILOT;
    CreateYieldWatch, "create_yield_watch" => routes::yield_watch::CREATE_YIELD_WATCH;
    CancelYieldWatch, "cancel_yield_watch" => routes::yield_watch::CANCEL_YIELD_WATCH;
    ListYieldWatch, "list_yield_watch" => routes::yield_watch::LIST_YIELD_WATCH;
    AuditYieldWatch, "audit_yield_watch" => routes::yield_watch::AUDIT_YIELD_WATCH;
}

impl Operation {
    /// Whether a call with these parameters begins an action of a sub-wallet or makes a mandate. It
    /// must not do so twice for one purchase. `/yield-copilot` begins an action only with
    /// `execute`.
    #[must_use]
    pub fn begins_something(self, parameters: &Parameters) -> bool {
        match (self, self.route().work) {
            (Self::YieldCopilot, _) => parameters.boolean("execute").unwrap_or_default(),
            (_, work) => work == WorkClass::Transaction || self == Self::CreateYieldWatch,
        }
    }

    /// Returns the statuses of paid answers, the usual one first. An action that is unfinished at
    /// its time limit answers 202; a creation answers 201.
    pub const fn answers(self) -> &'static [u16] {
        match (self, self.route().work) {
            (Self::CreateYieldWatch, _) => &[201],
            (_, WorkClass::Transaction) => &[200, 202],
            _ => &[200],
        }
    }
}

impl Dataset {
    /// Returns the operations that read the dataset.
    pub fn operations(self) -> impl Iterator<Item = Operation> {
        let all = Operation::ALL.into_iter();
        all.filter(move |operation| operation.route().datasets.contains(&self))
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The numbers of operations, paths and resources, counted in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// The number of methods on paths.
    pub operations: usize,
    /// The number of distinct paths.
    pub paths: usize,
    /// The number of distinct resources. The yield-watch family counts as one.
    pub resources: usize,
}

impl Counts {
    /// Counts the table.
    pub fn of_table() -> Self {
        let distinct = |key: fn(&'static Route) -> &'static str| {
            let mut keys: Vec<_> = Operation::ALL.iter().map(|op| key(op.route())).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.len()
        };
        Self {
            operations: Operation::ALL.len(),
            paths: distinct(|route| route.path),
            resources: distinct(|route| route.resource),
        }
    }
}
