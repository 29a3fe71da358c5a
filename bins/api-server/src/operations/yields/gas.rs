//! What gas costs on the chains of a recommendation.

use std::collections::{BTreeMap, BTreeSet};

use data_sources::{Error, Sourced};
use readings::Decimal;
use readings::defi::{chains, gas::GasPrice};

use crate::Sources;
use crate::operations::Call;
use crate::operations::legs::Legs;

/// What cannot be had of a chain whose gas has no price.
const FIELDS: [&str; 3] = [
    "recommendations[].est_gas_usd",
    "recommendations[].net_apy_pct",
    "recommendations[].breakeven_days",
];

/// The price of gas on each of `wanted`, all asked at the same time. A chain of which one half, the
/// node's price or the coin's, is not known is left out and named.
pub(crate) async fn gas_prices(
    sources: &Sources,
    call: &Call,
    wanted: &BTreeSet<u64>,
    legs: &mut Legs,
) -> BTreeMap<u64, GasPrice> {
    let mut tasks = tokio::task::JoinSet::new();
    for chain_id in wanted.iter().copied() {
        let (evm, llama, max_age) = (
            sources.evm.clone(),
            sources.defillama.clone(),
            call.max_age(),
        );
        tasks.spawn(async move {
            let coin = async {
                let coin = chains::gas_coin(chain_id)?;
                Some(llama.token_price(coin.platform, coin.token, max_age).await)
            };
            let (wei, coin) = tokio::join!(evm.gas_price(chain_id), coin);
            (chain_id, wei, coin)
        });
    }
    let mut prices = BTreeMap::new();
    while let Some(done) = tasks.join_next().await {
        let Ok((chain_id, wei, coin)) = done else {
            continue;
        };
        let wei = half(sources, legs, wei);
        let coin = coin.and_then(|coin| half(sources, legs, coin));
        let price = wei
            .zip(coin)
            .and_then(|(wei, coin)| GasPrice::new(wei, coin.price_usd.0));
        if let Some(price) = price.filter(|price| price.usd_per_million > Decimal::ZERO) {
            prices.insert(chain_id, price);
        }
    }
    prices
}

fn half<T>(sources: &Sources, legs: &mut Legs, leg: Result<Sourced<T>, Error>) -> Option<T> {
    match leg {
        Ok(sourced) => Some(legs.got(sourced)),
        Err(error) => {
            let source = error.source_id().unwrap_or_default();
            legs.failed(sources, &error);
            for field in FIELDS {
                legs.missing(field, error.reason(), source);
            }
            None
        }
    }
}
