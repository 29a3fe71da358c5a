//! Ranks the reviewed products that take the asset, each with its yield, its costs and its
//! transactions. The transactions are built by `wallet-actions`; nothing is signed here.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::Address;
use data_sources::defillama::Defillama;
use data_sources::{Meter, Provenance, Sourced, aave, evm};
use readings::defi::assets;
use readings::defi::gas::GasPrice;
use readings::defi::market::{self, Market};
use readings::defi::placement::{self, Earnings, Terms};
use readings::{Decimal, Figure};
use route_catalog::ErrorCode;
use tokio::task::JoinSet;
use wallet_actions::{DepositPlan, ListedProduct, Refused};

use super::Wish;
use crate::answer::Part;
use crate::call::Call;
use crate::context::Context;
use crate::operations::fault;
use crate::operations::yield_recommendations::GAS_FRESH_SECONDS;
use crate::operations::yields::{edition, gas_prices};
use crate::reply::ErrorReply;
use crate::snapshots::yield_pools;
use crate::source_report::SourceReport;
use crate::sources::{Chain, Defi, Wallets};
use crate::wallets::refused;

/// For how many seconds the facts about a product are valid. Other deposits, pauses and caps can
/// change them.
pub(super) const VALID_SECONDS: u64 = 300;

/// The unavailable fields when the price of gas or of the asset is unknown.
const OF_GAS: [&str; 3] = [
    "plans[].est_gas_usd",
    "plans[].net_apy_pct",
    "plans[].breakeven_days",
];
const OF_PRICE: [&str; 2] = ["plans[].net_apy_pct", "plans[].breakeven_days"];

/// A possible deposit.
pub(super) struct Plan {
    pub(super) product: ListedProduct,
    pub(super) symbol: String,
    pub(super) market: Market,
    pub(super) earnings: Earnings,
    pub(super) slippage_bps: Figure,
    pub(super) deposit: DepositPlan,
}

/// A product that takes the asset but has no plan, with the reason.
pub(super) struct LeftOut {
    pub(super) product: ListedProduct,
    pub(super) reason: String,
    /// Whether a fact about the product is unavailable; otherwise the product does not fit.
    pub(super) is_gap: bool,
}

/// The result of a ranking.
pub(super) struct Ranking {
    pub(super) plans: Vec<Plan>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) report: SourceReport,
    pub(super) parts: Vec<Part>,
    pub(super) snapshot_id: String,
}

/// Ranks the products.
///
/// # Errors
/// 503 without an edition of the yields; 404 when no product takes the asset; 400 for an amount
/// that the asset cannot have.
pub(super) async fn ranking(
    context: &Context,
    wallets: &Wallets,
    chain: &Chain,
    defi: &Defi,
    call: &Call,
    wish: &Wish<'_>,
) -> Result<Ranking, ErrorReply> {
    let edition = edition(defi, context.now()).await?;
    let mut report = SourceReport::default();
    edition.count_in(&mut report);
    let (taking, mut left_out) = taking(wallets, wish).await;
    if taking.is_empty() {
        return Err(no_product(wish, &left_out));
    }
    let deposits = deposits(wallets, call.payer, wish.amount, &taking).await;
    let chains: BTreeSet<u64> = taking.iter().map(|(product, _)| product.chain_id).collect();
    let mut gas = SourceReport::default();
    let of_gas = gas_prices(
        context,
        chain,
        defi,
        call.max_age(),
        &chains,
        &OF_GAS,
        &mut gas,
    )
    .await;
    let markets = markets(context, defi, call, &edition.markets, &chains, &mut report).await;
    let mut rows = Vec::new();
    for ((product, symbol), deposit) in taking.into_iter().zip(deposits) {
        let left_out_of = |reason: &str, is_gap| LeftOut {
            product: product.clone(),
            reason: reason.to_owned(),
            is_gap,
        };
        let deposit = match deposit {
            Ok(deposit) => deposit,
            Err(error @ Refused::Invalid { .. }) => return Err(refused(&error)),
            Err(error) => {
                let is_gap = matches!(error, Refused::Unavailable { .. });
                left_out.push(left_out_of(error.reason(), is_gap));
                continue;
            }
        };
        report.accept(Sourced {
            value: (),
            sources: vec![Provenance::local(
                evm::source(product.chain_id),
                context.now(),
            )],
        });
        let costs = Costs {
            amount_usd: amount_usd(context, defi, call, &product, wish.amount, &mut report).await,
            gas: of_gas.get(&product.chain_id).copied(),
        };
        match judge(&product, symbol, deposit, &markets, wish, costs) {
            Ok(plan) => {
                let order = placement::order(&plan.market, &plan.earnings);
                rows.push(((order, plan.product.product_id.clone()), plan));
            }
            Err((reason, is_gap)) => left_out.push(left_out_of(reason, is_gap)),
        }
    }
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    for unread in left_out.iter().filter(|left_out| left_out.is_gap) {
        let source = match unread.reason.as_str() {
            YIELD_NOT_KNOWN => yield_pools::SOURCE,
            _ => evm::source(unread.product.chain_id),
        };
        report.missing("plans", &unread.reason, source);
    }
    let mut parts = vec![
        edition.part("yields"),
        Part::at("steps", context.now(), VALID_SECONDS),
    ];
    if !gas.core().is_empty() {
        parts.push(Part::of("gas", &gas.sources, GAS_FRESH_SECONDS));
    }
    report.join(gas);
    Ok(Ranking {
        plans: rows.into_iter().map(|(_, plan)| plan).collect(),
        left_out,
        report,
        parts,
        snapshot_id: edition.snapshot_id().to_owned(),
    })
}

/// The reason when no source states the yield of the product.
const YIELD_NOT_KNOWN: &str = "yield_not_known";

/// The inputs of a cost, as far as they are known.
struct Costs {
    amount_usd: Option<Decimal>,
    gas: Option<GasPrice>,
}

/// Returns the plan of a product that takes the deposit. Otherwise, returns the reason, and whether
/// a fact is unknown.
fn judge(
    product: &ListedProduct,
    symbol: String,
    deposit: DepositPlan,
    markets: &[Market],
    wish: &Wish<'_>,
    costs: Costs,
) -> Result<Plan, (&'static str, bool)> {
    let &ListedProduct {
        chain_id,
        ref product_id,
        protocol,
        asset,
        ..
    } = product;
    let market = placement::market_of(markets, chain_id, protocol, product_id, asset);
    let market = market.ok_or((YIELD_NOT_KNOWN, true))?;
    let slippage_bps = placement::slippage_bps(deposit.amount, deposit.worth);
    let slippage_bps = slippage_bps.ok_or(("preview_out_of_range", true))?;
    let terms = Terms {
        amount_usd: costs.amount_usd,
        gas: costs.gas,
        slippage_bps,
    };
    let earnings = placement::earnings(market, &terms, wish.appetite);
    Ok(Plan {
        product: product.clone(),
        symbol,
        market: market.clone(),
        earnings: earnings.map_err(|unfit| (unfit.as_str(), false))?,
        slippage_bps,
        deposit,
    })
}

/// The products on the requested chains that take the asset, with its symbol; and the products
/// about which that is unknown.
async fn taking(
    wallets: &Wallets,
    wish: &Wish<'_>,
) -> (Vec<(ListedProduct, String)>, Vec<LeftOut>) {
    let (mut taking, mut unknown) = (Vec::new(), Vec::new());
    let is_asked = |product: &&ListedProduct| {
        let chains = wish.chains.as_ref();
        chains.is_none_or(|chains| chains.contains(&product.chain_id))
    };
    for product in wallets.reviewed.iter().filter(is_asked) {
        let left_out = |reason: &str| LeftOut {
            product: product.clone(),
            reason: reason.to_owned(),
            is_gap: true,
        };
        let reviewed = assets::find(product.chain_id, &product.asset.to_string());
        let symbol = match (reviewed, wallets.readers.get(&product.chain_id)) {
            (Some(asset), _) => Ok(asset.symbol.to_owned()),
            (None, Some(reader)) => product.symbol(reader).await,
            (None, None) => {
                unknown.push(left_out(crate::offering::NO_CHAIN));
                continue;
            }
        };
        match symbol {
            Ok(symbol) if wish.asset.names(&symbol) => taking.push((product.clone(), symbol)),
            Ok(_) => {}
            Err(error) => unknown.push(left_out(error.reason())),
        }
    }
    (taking, unknown)
}

fn no_product(wish: &Wish<'_>, unknown: &[LeftOut]) -> ErrorReply {
    if let Some(first) = unknown.first() {
        return fault::core_missing("plans", first.reason.clone());
    }
    let message = format!("no reviewed product on these chains takes {}", wish.asset);
    ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "no_such_product")
}

/// The transactions into each product, read at the same time, in the order of the products.
async fn deposits(
    wallets: &Wallets,
    account: Address,
    amount: &str,
    products: &[(ListedProduct, String)],
) -> Vec<Result<DepositPlan, Refused>> {
    let mut tasks = JoinSet::new();
    for (index, (product, _)) in products.iter().enumerate() {
        if let Some(reader) = wallets.readers.get(&product.chain_id).cloned() {
            let (product, amount) = (product.clone(), amount.to_owned());
            tasks.spawn(Meter::carry(async move {
                let planned = Box::pin(product.plan_deposit(&reader, account, &amount));
                (index, planned.await)
            }));
        }
    }
    let mut planned = BTreeMap::new();
    while let Some(done) = tasks.join_next().await {
        planned.extend(done.ok());
    }
    let unread = || Refused::Unavailable {
        reason: crate::offering::NO_CHAIN,
        message: "no node of the chain is connected".to_owned(),
    };
    let indices = 0..products.len();
    indices
        .map(|index| planned.remove(&index).unwrap_or_else(|| Err(unread())))
        .collect()
}

/// The markets of the edition; those of chain 196 are joined with the chain's own data.
async fn markets(
    context: &Context,
    defi: &Defi,
    call: &Call,
    edition: &[Market],
    chains: &BTreeSet<u64>,
    report: &mut SourceReport,
) -> Vec<Market> {
    let markets = edition.to_vec();
    if !chains.contains(&aave::CHAIN_ID) {
        return markets;
    }
    match defi.aave.markets(call.max_age()).await {
        Ok(sourced) => {
            let quoted = report.accept(sourced);
            let others = quoted.iter().filter_map(Market::of_quoted).collect();
            market::merged(markets, others)
        }
        Err(error) => {
            report.failed(context, &error);
            markets
        }
    }
}

/// The amount in dollars. An unknown or doubtful price is listed.
async fn amount_usd(
    context: &Context,
    defi: &Defi,
    call: &Call,
    product: &ListedProduct,
    amount: &str,
    report: &mut SourceReport,
) -> Option<Decimal> {
    let platform = Defillama::platform(product.chain_id)?;
    let quoted = defi
        .defillama
        .token_price(platform, product.asset, call.max_age());
    let (reason, source) = match quoted.await {
        Ok(sourced) => {
            let quote = report.accept(sourced);
            if quote.weakness(context.now()).is_none() {
                let amount: Figure = amount.parse().ok()?;
                return amount.0.checked_mul(quote.price_usd.0);
            }
            ("price_in_doubt".to_owned(), quote.source)
        }
        Err(error) => {
            report.failed(context, &error);
            (error.reason(), error.source_id().unwrap_or_default())
        }
    };
    for field in OF_PRICE {
        report.missing(field, reason.clone(), source);
    }
    None
}
