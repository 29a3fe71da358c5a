//! The work behind each route. The match is exhaustive: a catalogued route without an arm does not compile.

mod ai;
pub(crate) mod all_tokens;
mod approve;
mod crypto_news;
mod defi_analytics;
mod fault;
mod filtered_news;
mod funding_rates;
mod generate_meme;
mod hl_transaction_history;
mod hyperliquid_account;
mod hyperliquid_market;
mod idle_capital;
mod kol_sentiment;
pub(crate) mod legs;
mod llm_research;
mod market_alpha;
mod mega_report;
mod portfolio;
mod price;
mod rwa_pulse;
mod sub_wallet;
mod supported_tokens;
mod swap;
mod token_alpha;
mod token_deep_dive;
mod token_details;
mod token_security;
mod tradfi_data;
mod trending_altcoins;
mod twitter_summary;
mod tx_explainer;
mod vet_token;
mod yield_alpha;
mod yield_farming_active;
mod yield_farming_historical;
mod yield_markets;
mod yield_recommendations;
pub(crate) mod yields;

use std::time::Duration;

use alloy_primitives::Address;
use http_edge::RequestId;
use route_catalog::{Operation, Parameters};

use crate::Sources;
use crate::answer::Answered;
use crate::reply::ErrorReply;

/// A paid call whose parameters are valid.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) parameters: Parameters,
    /// Who pays: the identity behind routes of a caller's own.
    pub(crate) payer: Address,
    pub(crate) request_id: RequestId,
    /// `X-Max-Age`; the parameter `max_age` wins.
    pub(crate) max_age: Option<u64>,
}

impl Call {
    /// The oldest data that the caller takes, in seconds.
    pub(crate) fn max_age_seconds(&self) -> Option<u64> {
        self.parameters.max_age_seconds().or(self.max_age)
    }

    /// [`Self::max_age_seconds`] as sources take it.
    pub(crate) fn max_age(&self) -> Option<Duration> {
        self.max_age_seconds().map(Duration::from_secs)
    }
}

/// Does the work of a call.
pub(crate) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let answered = match call.operation {
        Operation::Price => price::answer(sources, call).await,
        Operation::AllTokens => all_tokens::answer(sources, call).await,
        Operation::Approve => approve::answer(sources, call).await,
        Operation::Swap => swap::answer(sources, call).await,
        Operation::MarketAlpha => market_alpha::answer(sources, call).await,
        Operation::CryptoNews => crypto_news::answer(sources, call).await,
        Operation::TokenAlpha => token_alpha::answer(sources, call).await,
        Operation::KolSentiment => kol_sentiment::answer(sources, call).await,
        Operation::TrendingAltcoins => trending_altcoins::answer(sources, call).await,
        Operation::MegaReport => mega_report::answer(sources, call).await,
        Operation::TokenSecurity => token_security::answer(sources, call).await,
        Operation::FundingRates => funding_rates::answer(sources, call).await,
        Operation::DefiAnalytics => defi_analytics::answer(sources, call).await,
        Operation::FilteredNews => filtered_news::answer(sources, call).await,
        Operation::TwitterSummary => twitter_summary::answer(sources, call).await,
        Operation::TokenDetails => token_details::answer(sources, call).await,
        Operation::YieldAlpha => yield_alpha::answer(sources, call).await,
        Operation::TradfiData => tradfi_data::answer(sources, call).await,
        Operation::VetToken => vet_token::answer(sources, call).await,
        Operation::TokenDeepDive => token_deep_dive::answer(sources, call).await,
        Operation::RwaPulse => rwa_pulse::answer(sources, call).await,
        Operation::GenerateMeme => generate_meme::answer(sources, call).await,
        Operation::LlmResearch => llm_research::answer(sources, call).await,
        Operation::TxExplainer => tx_explainer::answer(sources, call).await,
        Operation::Portfolio => portfolio::answer(sources, call).await,
        Operation::SupportedTokens => supported_tokens::answer(sources, call).await,
        Operation::HlTransactionHistory => hl_transaction_history::answer(sources, call).await,
        Operation::HyperliquidAccount => hyperliquid_account::answer(sources, call).await,
        Operation::HyperliquidMarket => hyperliquid_market::answer(sources, call).await,
        Operation::IdleCapital => idle_capital::answer(sources, call).await,
        Operation::YieldFarmingActive => yield_farming_active::answer(sources, call).await,
        Operation::YieldFarmingHistorical => yield_farming_historical::answer(sources, call).await,
        Operation::YieldMarkets => yield_markets::answer(sources, call).await,
        Operation::YieldRecommendations => yield_recommendations::answer(sources, call).await,
        Operation::SubWallet
        | Operation::AutoSwap
        | Operation::AutoBridge
        | Operation::AutoWithdraw
        | Operation::AutoDefiInvest
        | Operation::AutoDefiWithdraw
        | Operation::YieldCopilot
        | Operation::CreateYieldWatch
        | Operation::CancelYieldWatch
        | Operation::ListYieldWatch
        | Operation::AuditYieldWatch => Err(sub_wallet::no_custody(call)),
    }?;
    answered
        .complete()
        .no_older_than(call.max_age_seconds(), sources.now())
}
