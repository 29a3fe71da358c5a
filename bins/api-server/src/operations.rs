//! The work behind each route. The match is exhaustive: a catalogued route without an arm does not compile.

pub(crate) mod all_tokens;
mod approve;
mod fault;
mod price;
mod swap;

use alloy_primitives::Address;
use data_sources::{Clock, okx::Okx};
use http_edge::RequestId;
use route_catalog::{ErrorCode, Operation, Parameters};

use crate::answer::Answered;
use crate::reply::ErrorReply;

/// The upstreams that the routes draw on.
#[derive(Debug)]
pub struct Sources {
    /// The DEX aggregator of chain 196.
    pub okx: Okx,
}

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
    pub(crate) fn max_age(&self) -> Option<u64> {
        self.parameters.max_age_seconds().or(self.max_age)
    }
}

/// Does the work of a call.
pub(crate) async fn answer(
    sources: &Sources,
    call: &Call,
    clock: &dyn Clock,
) -> Result<Answered, ErrorReply> {
    let answered = match call.operation {
        Operation::Price => price::answer(&sources.okx, call).await,
        Operation::AllTokens => all_tokens::answer(&sources.okx, call).await,
        Operation::Approve => approve::answer(&sources.okx, call, clock).await,
        Operation::Swap => swap::answer(&sources.okx, call, clock).await,
        Operation::MarketAlpha
        | Operation::CryptoNews
        | Operation::TokenAlpha
        | Operation::KolSentiment
        | Operation::TrendingAltcoins
        | Operation::MegaReport
        | Operation::TokenSecurity
        | Operation::FundingRates
        | Operation::DefiAnalytics
        | Operation::FilteredNews
        | Operation::TwitterSummary
        | Operation::TokenDetails
        | Operation::YieldAlpha
        | Operation::TradfiData
        | Operation::VetToken
        | Operation::TokenDeepDive
        | Operation::RwaPulse
        | Operation::GenerateMeme
        | Operation::LlmResearch
        | Operation::TxExplainer
        | Operation::Portfolio
        | Operation::SupportedTokens
        | Operation::HlTransactionHistory
        | Operation::HyperliquidAccount
        | Operation::HyperliquidMarket
        | Operation::IdleCapital
        | Operation::YieldFarmingActive
        | Operation::YieldFarmingHistorical
        | Operation::YieldMarkets
        | Operation::YieldRecommendations
        | Operation::SubWallet
        | Operation::AutoSwap
        | Operation::AutoBridge
        | Operation::AutoWithdraw
        | Operation::AutoDefiInvest
        | Operation::AutoDefiWithdraw
        | Operation::YieldCopilot
        | Operation::CreateYieldWatch
        | Operation::CancelYieldWatch
        | Operation::ListYieldWatch
        | Operation::AuditYieldWatch => Err(no_source(call)),
    }?;
    answered.no_older_than(call.max_age(), clock.now())
}

/// No upstream of this route is connected, so there is nothing to sell.
fn no_source(call: &Call) -> ErrorReply {
    tracing::debug!(payer = %call.payer, operation = %call.operation, "no source is connected");
    ErrorReply::new(
        ErrorCode::UpstreamUnavailable,
        format!(
            "no data source is connected for {}",
            call.operation.route().path
        ),
    )
    .detail("reason", "no_source_connected")
    .retryable(false)
}
