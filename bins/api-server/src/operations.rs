//! The work behind each route. The `match` is exhaustive: a catalogued route without an arm does
//! not compile.
//!
//! An operation gets a valid call and the sources that it reads, and returns an answer or an error.
//! After an error nothing is charged.
//!
//! An operation gets the sources that it reads and a valid call, and returns an answer or an error.
//! It does not know payments: an error means that nothing is charged.

mod actions;
mod ai;
mod all_tokens;
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
mod yield_copilot;
mod yield_farming_active;
mod yield_farming_historical;
mod yield_markets;
mod yield_recommendations;
mod yield_watch;
mod yields;

pub(crate) use self::yield_watch::begun_mandate;
use std::pin::Pin;

use readings::Extent;
use route_catalog::Operation;

use crate::Sources;
use crate::answer::Answered;
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;

/// Boxes a future where it is made. Futures of routes that ask many sources are large, and a
/// function that awaits one of several would reserve stack space for all of them.
pub(crate) fn boxed<'a, F>(
    make: impl FnOnce() -> F,
) -> Pin<Box<dyn Future<Output = F::Output> + Send + 'a>>
where
    F: Future + Send + 'a,
{
    Box::pin(make())
}

/// Does the work of a call. Only this function sees all sources; each operation gets the sources
/// that it reads.
pub(crate) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let Sources {
        context,
        accounts,
        ai,
        chain,
        defi,
        derivatives,
        news,
        security,
        tokens,
        tradfi,
        wallets,
        ..
    } = sources;
    let own = sub_wallet::with_own(wallets, call).await?;
    let call = own.as_ref().unwrap_or(call);
    let hyperliquid = &derivatives.hyperliquid;
    let store = sources.store().map(AsRef::as_ref);
    let answered = match call.operation {
        Operation::Price => boxed(|| price::answer(context, tokens, call)).await,
        Operation::AllTokens => boxed(|| all_tokens::answer(context, tokens, call)).await,
        Operation::Approve => {
            boxed(|| approve::answer(context, &tokens.okx, &sources.unreviewed, call)).await
        }
        Operation::Swap => {
            let sources = swap::Reads {
                okx: &tokens.okx,
                unreviewed: &sources.unreviewed,
                evm: &accounts.evm,
                worth: &sources.worth,
            };
            boxed(|| swap::answer(context, sources, call)).await
        }
        Operation::MarketAlpha => boxed(|| market_alpha::answer(context, &tokens.okx, call)).await,
        Operation::CryptoNews => boxed(|| crypto_news::answer(context, news, call)).await,
        Operation::TokenAlpha => {
            boxed(|| token_alpha::answer(context, tokens, derivatives, news, call)).await
        }
        Operation::KolSentiment => boxed(|| kol_sentiment::answer(context, news, call)).await,
        Operation::TrendingAltcoins => {
            boxed(|| trending_altcoins::answer(context, tokens, news, call, Extent::First)).await
        }
        Operation::MegaReport => {
            let sources = mega_report::Reads {
                news,
                tokens,
                defi,
                derivatives,
                tradfi,
                memory: &sources.memory,
            };
            boxed(|| mega_report::answer(context, sources, call)).await
        }
        Operation::TokenSecurity => boxed(|| token_security::answer(context, security, call)).await,
        Operation::FundingRates => {
            boxed(|| funding_rates::answer(context, derivatives, call, Extent::First)).await
        }
        Operation::DefiAnalytics => {
            boxed(|| defi_analytics::answer(context, defi, call, Extent::First)).await
        }
        Operation::FilteredNews => boxed(|| filtered_news::answer(context, news, call)).await,
        Operation::TwitterSummary => {
            boxed(|| twitter_summary::answer(context, news, call, Extent::First)).await
        }
        Operation::TokenDetails => boxed(|| token_details::answer(context, tokens, call)).await,
        Operation::YieldAlpha => {
            boxed(|| yield_alpha::answer(context, defi, call, Extent::First)).await
        }
        Operation::TradfiData => {
            boxed(|| tradfi_data::answer(context, tradfi, hyperliquid, call)).await
        }
        Operation::VetToken => boxed(|| vet_token::answer(context, tokens, security, call)).await,
        Operation::TokenDeepDive => {
            let sources = token_deep_dive::Reads {
                tokens,
                security,
                derivatives,
                news,
                memory: &sources.memory,
            };
            boxed(|| token_deep_dive::answer(context, sources, call)).await
        }
        Operation::RwaPulse => {
            boxed(|| rwa_pulse::answer(context, tradfi, hyperliquid, news, call)).await
        }
        Operation::GenerateMeme => boxed(|| generate_meme::answer(context, ai, store, call)).await,
        Operation::LlmResearch => boxed(|| llm_research::answer(context, ai, call)).await,
        Operation::TxExplainer => boxed(|| tx_explainer::answer(context, chain, call)).await,
        Operation::Portfolio => boxed(|| portfolio::answer(context, accounts, call)).await,
        Operation::SupportedTokens => boxed(|| supported_tokens::answer(&tokens.okx, call)).await,
        Operation::HlTransactionHistory => {
            boxed(|| hl_transaction_history::answer(context, hyperliquid, call)).await
        }
        Operation::HyperliquidAccount => {
            boxed(|| hyperliquid_account::answer(context, hyperliquid, call)).await
        }
        Operation::HyperliquidMarket => {
            boxed(|| hyperliquid_market::answer(context, hyperliquid, call)).await
        }
        Operation::IdleCapital => {
            boxed(|| idle_capital::answer(context, accounts, defi, call)).await
        }
        Operation::YieldFarmingActive => {
            boxed(|| yield_farming_active::answer(context, defi, call)).await
        }
        Operation::YieldFarmingHistorical => {
            boxed(|| yield_farming_historical::answer(context, defi, wallets, call)).await
        }
        Operation::YieldMarkets => boxed(|| yield_markets::answer(context, defi, call)).await,
        Operation::YieldRecommendations => {
            boxed(|| yield_recommendations::answer(context, chain, accounts, defi, call)).await
        }
        Operation::SubWallet => {
            boxed(|| sub_wallet::answer(context, wallets, accounts, call)).await
        }
        Operation::CreateYieldWatch
        | Operation::CancelYieldWatch
        | Operation::ListYieldWatch
        | Operation::AuditYieldWatch => {
            let watch = yield_watch::Watch {
                mandates: sources.mandates(),
                wallets,
                gathers: sources.gathers_yields(),
            };
            boxed(|| async move { watch.answer(call).await }).await
        }
        Operation::AutoSwap
        | Operation::AutoBridge
        | Operation::AutoWithdraw
        | Operation::AutoDefiInvest
        | Operation::AutoDefiWithdraw => boxed(|| actions::answer(context, wallets, call)).await,
        Operation::YieldCopilot => {
            boxed(|| yield_copilot::answer(context, wallets, chain, defi, call)).await
        }
    }?;
    finish(context, call, answered)
}

/// Enforces the rules for every route: each missing field is listed, and no data is older than the
/// caller accepts.
fn finish(context: &Context, call: &Call, answered: Answered) -> Result<Answered, ErrorReply> {
    answered
        .complete()
        .no_older_than(call.max_age_seconds(), context.now())
}
