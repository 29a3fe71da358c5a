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

use std::pin::Pin;
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

/// A future on the heap, made there: those of routes that ask many sources are large, and the frame of whoever awaits one of
/// several would hold the space of all of them.
pub(crate) fn boxed<'a, F>(
    make: impl FnOnce() -> F,
) -> Pin<Box<dyn Future<Output = F::Output> + Send + 'a>>
where
    F: Future + Send + 'a,
{
    Box::pin(make())
}

/// Does the work of a call.
pub(crate) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let answered = match call.operation {
        Operation::Price => boxed(|| price::answer(sources, call)).await,
        Operation::AllTokens => boxed(|| all_tokens::answer(sources, call)).await,
        Operation::Approve => boxed(|| approve::answer(sources, call)).await,
        Operation::Swap => boxed(|| swap::answer(sources, call)).await,
        Operation::MarketAlpha => boxed(|| market_alpha::answer(sources, call)).await,
        Operation::CryptoNews => boxed(|| crypto_news::answer(sources, call)).await,
        Operation::TokenAlpha => boxed(|| token_alpha::answer(sources, call)).await,
        Operation::KolSentiment => boxed(|| kol_sentiment::answer(sources, call)).await,
        Operation::TrendingAltcoins => boxed(|| trending_altcoins::answer(sources, call)).await,
        Operation::MegaReport => boxed(|| mega_report::answer(sources, call)).await,
        Operation::TokenSecurity => boxed(|| token_security::answer(sources, call)).await,
        Operation::FundingRates => boxed(|| funding_rates::answer(sources, call)).await,
        Operation::DefiAnalytics => boxed(|| defi_analytics::answer(sources, call)).await,
        Operation::FilteredNews => boxed(|| filtered_news::answer(sources, call)).await,
        Operation::TwitterSummary => boxed(|| twitter_summary::answer(sources, call)).await,
        Operation::TokenDetails => boxed(|| token_details::answer(sources, call)).await,
        Operation::YieldAlpha => boxed(|| yield_alpha::answer(sources, call)).await,
        Operation::TradfiData => boxed(|| tradfi_data::answer(sources, call)).await,
        Operation::VetToken => boxed(|| vet_token::answer(sources, call)).await,
        Operation::TokenDeepDive => boxed(|| token_deep_dive::answer(sources, call)).await,
        Operation::RwaPulse => boxed(|| rwa_pulse::answer(sources, call)).await,
        Operation::GenerateMeme => boxed(|| generate_meme::answer(sources, call)).await,
        Operation::LlmResearch => boxed(|| llm_research::answer(sources, call)).await,
        Operation::TxExplainer => boxed(|| tx_explainer::answer(sources, call)).await,
        Operation::Portfolio => boxed(|| portfolio::answer(sources, call)).await,
        Operation::SupportedTokens => boxed(|| supported_tokens::answer(sources, call)).await,
        Operation::HlTransactionHistory => {
            boxed(|| hl_transaction_history::answer(sources, call)).await
        }
        Operation::HyperliquidAccount => boxed(|| hyperliquid_account::answer(sources, call)).await,
        Operation::HyperliquidMarket => boxed(|| hyperliquid_market::answer(sources, call)).await,
        Operation::IdleCapital => boxed(|| idle_capital::answer(sources, call)).await,
        Operation::YieldFarmingActive => {
            boxed(|| yield_farming_active::answer(sources, call)).await
        }
        Operation::YieldFarmingHistorical => {
            boxed(|| yield_farming_historical::answer(sources, call)).await
        }
        Operation::YieldMarkets => boxed(|| yield_markets::answer(sources, call)).await,
        Operation::YieldRecommendations => {
            boxed(|| yield_recommendations::answer(sources, call)).await
        }
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
