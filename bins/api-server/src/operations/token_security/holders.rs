//! The holders of a token of the home chain, its pools and its market.

use data_sources::okx::Okx;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

use alloy_primitives::Address;
use data_sources::{Error, Sourced};
use readings::{
    Figure,
    security::{Holder, Holding, Scan, SecurityReport},
    token::market::{TokenMarket, TokenOrigin, TokenPool},
};

use crate::context::Context;
use crate::source_report::SourceReport;

/// The source of a token's origin.
const ORIGIN: &str = "okx.advanced-info";
/// The source of the list of holders.
pub(in crate::operations) const SOURCE: &str = "okx.token-holders";

type Reading<T> = Option<Result<Sourced<T>, Error>>;

/// The available data. It is empty on another chain than the home chain.
#[derive(Debug, Default)]
pub(in crate::operations) struct Held {
    holders: Reading<Arc<Vec<Holder>>>,
    pools: Reading<Arc<[TokenPool]>>,
    origin: Reading<Arc<TokenOrigin>>,
    /// Price, liquidity and number of holders.
    pub(in crate::operations) market: Reading<TokenMarket>,
}

/// Asks all sources at once.
pub(in crate::operations) async fn held(
    okx: &Okx,
    token: Address,
    max_age: Option<Duration>,
) -> Held {
    let (holders, pools, origin, market) = tokio::join!(
        okx.token_holders(token, max_age),
        okx.token_pools(token, max_age),
        okx.token_origin(token, max_age),
        okx.market(token, max_age),
    );
    Held {
        holders: Some(holders),
        pools: Some(pools),
        origin: Some(origin),
        market: Some(market),
    }
}

impl Held {
    /// The concentration over the scans' lists and the chain's own list.
    pub(in crate::operations) fn holding(&self, scans: &[Scan]) -> Holding {
        let pools: BTreeSet<Address> = self.pools().filter_map(|pool| pool.address).collect();
        let holders = value(&self.holders)
            .map(|holders| holders.as_slice())
            .unwrap_or_default();
        Holding::of(scans, holders, &pools)
    }

    /// All evidence for or against the token: the scans, and the market's evidence against it. The
    /// market's evidence alone is not a scan and cannot make an answer.
    pub(in crate::operations) fn with_origin(&self, scans: &[Scan]) -> Vec<Scan> {
        let origin = value(&self.origin).and_then(|origin| Scan::of_origin(ORIGIN, origin));
        scans.iter().cloned().chain(origin).collect()
    }

    /// The creator's share, in percent.
    pub(in crate::operations) fn creator_pct(&self) -> Option<Figure> {
        value(&self.origin).and_then(|origin| origin.creator_hold_pct)
    }

    /// Dollars in the token's pools: the market's figure, or else the sum of the deepest pools.
    pub(in crate::operations) fn liquidity_usd(&self) -> Option<Figure> {
        let market = value(&self.market).and_then(|market| market.liquidity_usd);
        let deepest = || {
            let mut stated = self
                .pools()
                .filter_map(|pool| pool.liquidity_usd)
                .peekable();
            stated.peek()?;
            let sum = stated.try_fold(readings::Decimal::ZERO, |sum, usd| {
                sum.checked_add(usd.get())
            });
            sum.map(Figure)
        };
        market.or_else(deepest)
    }

    /// Adds the facts that only the chain's market knows to a report.
    pub(in crate::operations) fn complete(&self, report: &mut SecurityReport) {
        let market = value(&self.market);
        report.holders.count = report
            .holders
            .count
            .or(market.and_then(|market| market.holders));
        report.holders.creator_pct = report.holders.creator_pct.max(self.creator_pct());
        if report.ownership.creator.is_none() {
            let creator = value(&self.origin).and_then(|origin| origin.creator);
            report.ownership.creator = creator.map(|creator| creator.to_string());
        }
        if report.liquidity.in_dex.is_none() && self.pools().next().is_some() {
            report.liquidity.in_dex = Some(true);
        }
        if report.liquidity.pools.is_empty() {
            let pool = |pool: &TokenPool| {
                Some(readings::security::PoolReport {
                    exchange: pool.protocol.clone(),
                    address: pool.address?.to_string(),
                    liquidity_usd: pool.liquidity_usd,
                })
            };
            report.liquidity.pools = self.pools().filter_map(pool).collect();
        }
    }

    /// Lists the sources that were asked.
    pub(in crate::operations) fn list(&self, report: &mut SourceReport, context: &Context) {
        list(report, context, &self.holders);
        list(report, context, &self.pools);
        list(report, context, &self.origin);
        list(report, context, &self.market);
    }

    fn pools(&self) -> impl Iterator<Item = &TokenPool> {
        value(&self.pools)
            .into_iter()
            .flat_map(|pools| pools.iter())
    }
}

fn value<T>(reading: &Reading<T>) -> Option<&T> {
    reading.as_ref()?.as_ref().ok().map(|found| &found.value)
}

fn list<T>(report: &mut SourceReport, context: &Context, reading: &Reading<T>) {
    match reading {
        Some(Ok(found)) => report.accept(Sourced {
            value: (),
            sources: found.sources.clone(),
        }),
        Some(Err(error)) => report.failed(context, error),
        None => {}
    }
}
