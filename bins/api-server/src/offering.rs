//! The parts of the catalog that this configuration does not serve: operations whose upstreams have
//! no key or are switched off, and schemes that cannot be settled. Every rendering of the catalog
//! shows them, so that no caller pays in vain.
//!
//! Only the configuration decides what appears here. An upstream that is down stays in the
//! offering: `/status` shows it, and the call is refused without a charge.

use std::collections::BTreeMap;

use data_sources::Source;
use data_sources::x_api::XApi;
use route_catalog::{Offering, Operation, Unserved};
use x402_wire::Scheme;

use crate::Sources;
use crate::config::{Config, SettlementMode};
use crate::sources::Wallets;
use crate::wallets::acting_chains;

/// The reason of a route whose upstreams have no key or are all switched off.
const NO_UPSTREAM: &str = "no_upstream_configured";
/// The reason of a route that needs a custodian where none is configured.
const NO_CUSTODY: &str = "no_custody_connected";
/// The reason of a route whose wallets have a custodian, but no node of a chain to act on.
pub(crate) const NO_CHAIN: &str = "no_chain_connected";
/// The reason of a route that deposits where the reviewed list names no product.
pub(crate) const NO_PRODUCTS: &str = "no_reviewed_products";
/// The reason of a route whose dataset is switched off.
const NOT_GATHERED: &str = "dataset_not_gathered";

/// Lists what a configuration does not serve, given its connected sources.
pub(crate) fn offering(config: &Config, sources: &Sources) -> Offering {
    let refused = |operation: Operation| Some((operation, unserved(operation, config, sources)?));
    let unserved: BTreeMap<_, _> = Operation::ALL.into_iter().filter_map(refused).collect();
    Offering {
        unserved,
        unpayable: unpayable(config.settlement.mode),
    }
}

/// The schemes of every challenge that a settlement mode can never settle. In facilitator mode the
/// facilitator itself says what it accepts.
pub(crate) fn unpayable(mode: SettlementMode) -> Vec<Scheme> {
    match mode {
        SettlementMode::Onchain => vec![Scheme::AggrDeferred],
        SettlementMode::Facilitator | SettlementMode::Okx => Vec::new(),
    }
}

fn unserved(operation: Operation, config: &Config, sources: &Sources) -> Option<Unserved> {
    let (tokens, derivatives) = (&sources.tokens, &sources.derivatives);
    let (okx, goplus) = (tokens.okx.source(), sources.security.goplus.source());
    let (feeds, ai, tradfi) = (&sources.news.feeds, &sources.ai, &sources.tradfi);
    let llama = sources.defi.defillama.source();
    let hyperliquid = derivatives.hyperliquid.source();
    let catalogues = [
        tokens.coingecko.source(),
        tokens.coinpaprika.source(),
        tokens.dexscreener.source(),
    ];
    match operation {
        Operation::Swap | Operation::SupportedTokens | Operation::MarketAlpha => any_of(&[okx]),
        Operation::Price => any_of(&[llama, tokens.dexscreener.source(), okx]),
        Operation::AllTokens => any_of(&[tokens.coingecko.source(), okx]),
        Operation::TokenDetails | Operation::TokenDeepDive => any_of(&catalogues),
        Operation::CryptoNews if !config.datasets.news => Some(not_gathered("datasets.news")),
        Operation::CryptoNews => any_of(&[feeds.rss.source(), feeds.coindesk.source(), okx]),
        Operation::FilteredNews if !config.datasets.news => any_of(&[okx]),
        Operation::FilteredNews => any_of(&[feeds.rss.source(), feeds.coindesk.source(), okx]),
        Operation::TokenAlpha => any_of(&[hyperliquid, derivatives.binance.source(), okx]),
        Operation::KolSentiment | Operation::TwitterSummary => posts(&feeds.x_api),
        Operation::TrendingAltcoins => any_of(&[tokens.coingecko.source(), okx]),
        Operation::MegaReport if config.datasets.news => None,
        Operation::MegaReport => any_of(&[tokens.coingecko.source(), okx]),
        Operation::TokenSecurity => any_of(&[goplus, okx]),
        // Only the aggregator's scanner covers the home chain.
        Operation::VetToken => any_of(&[okx]),
        Operation::FundingRates => any_of(&[
            hyperliquid,
            derivatives.binance.source(),
            derivatives.okx_futures.source(),
            derivatives.bybit.source(),
        ]),
        Operation::HlTransactionHistory
        | Operation::HyperliquidAccount
        | Operation::HyperliquidMarket => any_of(&[hyperliquid]),
        Operation::DefiAnalytics | Operation::YieldFarmingHistorical => any_of(&[llama]),
        Operation::YieldAlpha
        | Operation::YieldMarkets
        | Operation::YieldRecommendations
        // A notifying mandate needs no custody. It needs the yields that it checks.
        | Operation::CreateYieldWatch => {
            match config.datasets.yields {
                true => any_of(&[llama]),
                false => Some(not_gathered("datasets.yields")),
            }
        }
        Operation::TradfiData => any_of(&[
            tradfi.treasury.source(),
            tradfi.fred.source(),
            tradfi.cboe.source(),
            tradfi.frankfurter.source(),
            hyperliquid,
        ]),
        Operation::RwaPulse => any_of(&[tradfi.treasury.source(), tradfi.fred.source()]),
        Operation::GenerateMeme => {
            any_of(&[ai.openai.source(), ai.gemini.source(), ai.fal.source()])
        }
        Operation::LlmResearch => any_of(&[
            ai.openai.source(),
            ai.anthropic.source(),
            ai.perplexity.source(),
        ]),
        // These are built here, or read from nodes. Public nodes are preset.
        Operation::Approve
        | Operation::TxExplainer
        | Operation::Portfolio
        | Operation::IdleCapital
        | Operation::YieldFarmingActive
        // An existing mandate can be read and cancelled even when no yields are gathered now.
        | Operation::CancelYieldWatch
        | Operation::ListYieldWatch
        | Operation::AuditYieldWatch => None,
        Operation::SubWallet if config.custody.is_some() => None,
        Operation::SubWallet
        | Operation::AutoSwap
        | Operation::AutoBridge
        | Operation::AutoWithdraw
        | Operation::AutoDefiInvest
        | Operation::AutoDefiWithdraw => acting(config),
        Operation::YieldCopilot if !config.datasets.yields => Some(not_gathered("datasets.yields")),
        Operation::YieldCopilot => any_of(&[llama]).or_else(|| planning(&sources.wallets)),
    }
}

/// The reason why actions are unserved: no custodian is configured, or no chain of the wallets has
/// a node.
fn acting(config: &Config) -> Option<Unserved> {
    let (reason, needs) = match config.custody.is_some() {
        false => (NO_CUSTODY, "custody.provider".to_owned()),
        true if acting_chains(config).next().is_some() => return None,
        true => {
            let chain = config.wallets.chains.first().copied().unwrap_or_default();
            (NO_CHAIN, format!("chains.{chain}.rpc_urls"))
        }
    };
    Some(Unserved {
        reason,
        needs: vec![needs],
    })
}

/// The reason why plans are unserved: no product is reviewed, or no chain of the products can be
/// read. Custody is needed only when a plan runs.
fn planning(wallets: &Wallets) -> Option<Unserved> {
    let Some(product) = wallets.reviewed.first() else {
        return Some(Unserved {
            reason: NO_PRODUCTS,
            needs: vec!["wallets.reviewed".to_owned()],
        });
    };
    wallets.readers.is_empty().then(|| Unserved {
        reason: NO_CHAIN,
        needs: vec![format!("chains.{}.rpc_urls", product.chain_id)],
    })
}

/// The reason why a route is unserved: none of these sources may be asked.
fn any_of(sources: &[&Source]) -> Option<Unserved> {
    let needs: Option<Vec<String>> = sources.iter().map(|source| needed(source)).collect();
    Some(Unserved {
        reason: NO_UPSTREAM,
        needs: needs?,
    })
}

/// The configuration key that would enable a source; `None` when it is enabled.
fn needed(source: &Source) -> Option<String> {
    let name = source.spec().name;
    let key = match source.disabled()? {
        "no api key" => "api_key",
        _ => "enabled",
    };
    Some(format!("upstreams.{name}.{key}"))
}

/// Posts of leaders need a key and a list of leaders.
fn posts(x_api: &XApi) -> Option<Unserved> {
    let needs = match needed(x_api.source()) {
        Some(key) => key,
        None if x_api.has_list() => return None,
        None => "upstreams.x_api.list_id".to_owned(),
    };
    Some(Unserved {
        reason: NO_UPSTREAM,
        needs: vec![needs],
    })
}

fn not_gathered(key: &str) -> Unserved {
    Unserved {
        reason: NOT_GATHERED,
        needs: vec![key.to_owned()],
    }
}
