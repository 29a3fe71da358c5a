//! The price of gas on the chains of a recommendation.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use data_sources::{Error, Meter, Sourced};
use readings::Decimal;
use readings::defi::{chains, gas::GasPrice};

use crate::context::Context;
use crate::source_report::SourceReport;
use crate::sources::Chain;
use crate::sources::Defi;

/// The price of gas on each of `wanted`, all read at the same time. A chain without the node's
/// price or the coin's price is left out, and `fields` are listed as unavailable for it.
pub(crate) async fn gas_prices(
    context: &Context,
    chain: &Chain,
    defi: &Defi,
    max_age: Option<Duration>,
    wanted: &BTreeSet<u64>,
    fields: &[&str],
    report: &mut SourceReport,
) -> BTreeMap<u64, GasPrice> {
    let mut tasks = tokio::task::JoinSet::new();
    for chain_id in wanted.iter().copied() {
        let (evm, llama) = (chain.evm.clone(), defi.defillama.clone());
        tasks.spawn(Meter::carry(async move {
            let coin = async {
                let coin = chains::gas_coin(chain_id)?;
                Some(llama.token_price(coin.platform, coin.token, max_age).await)
            };
            let (wei, coin) = tokio::join!(evm.gas_price(chain_id), coin);
            (chain_id, wei, coin)
        }));
    }
    let mut prices = BTreeMap::new();
    while let Some(done) = tasks.join_next().await {
        let Ok((chain_id, wei, coin)) = done else {
            continue;
        };
        let wei = half(context, fields, report, wei);
        let coin = coin.and_then(|coin| half(context, fields, report, coin));
        let price = wei
            .zip(coin)
            .and_then(|(wei, coin)| GasPrice::new(wei, coin.price_usd.0));
        if let Some(price) = price.filter(|price| price.usd_per_million > Decimal::ZERO) {
            prices.insert(chain_id, price);
        }
    }
    prices
}

fn half<T>(
    context: &Context,
    fields: &[&str],
    report: &mut SourceReport,
    reading: Result<Sourced<T>, Error>,
) -> Option<T> {
    match reading {
        Ok(sourced) => Some(report.accept(sourced)),
        Err(error) => {
            let source = error.source_id().unwrap_or_default();
            report.failed(context, &error);
            for field in fields {
                report.missing(field, error.reason(), source);
            }
            None
        }
    }
}
