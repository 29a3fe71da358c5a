//! The chains' own coins: balances that an index does not list, and prices.

use std::collections::BTreeMap;
use std::time::Duration;

use alloy_primitives::Address;
use data_sources::{Meter, Sourced};
use readings::Figure;
use readings::defi::chains::{GasCoin, gas_coin};
use readings::portfolio::{Asset, ChainReading, Coverage, Holding};
use readings::token::consensus::MAX_AGE_SECONDS;
use tokio::task::JoinSet;

use crate::context::Context;
use crate::source_report::SourceReport;
use crate::sources::Accounts;

/// The time limit of one chain.
const PATIENCE: Duration = Duration::from_millis(2_500);

/// For how long a price of a native coin counts as fresh. Older prices are not used.
pub(super) const PRICE_FRESH_SECONDS: u64 = MAX_AGE_SECONDS.unsigned_abs();

/// Reads the chains that an index covers. If the index lists no native balance, a node is asked,
/// because the index leaves out zero and unknown balances alike.
pub(super) async fn read(
    context: &Context,
    accounts: &Accounts,
    account: Address,
    indexed: BTreeMap<u64, Vec<Holding>>,
    report: &mut SourceReport,
) -> Vec<ChainReading> {
    let native = |holdings: &[Holding]| {
        let mut natives = holdings.iter();
        natives.any(|holding| holding.asset == Asset::Native)
    };
    let mut asked = JoinSet::new();
    for (chain_id, _) in indexed.iter().filter(|(_, holdings)| !native(holdings)) {
        let (reader, chain_id) = (accounts.evm.clone(), *chain_id);
        asked.spawn(Meter::carry(async move {
            let read = reader.native_balance(chain_id, account);
            let read = tokio::time::timeout(PATIENCE, read).await;
            (chain_id, read)
        }));
    }
    let mut answer: BTreeMap<u64, _> = asked.join_all().await.into_iter().collect();
    let mut readings = Vec::new();
    for (chain_id, mut holdings) in indexed {
        let raw = match answer.remove(&chain_id) {
            None => None,
            Some(Ok(Ok(sourced))) => Some(Some(report.accept(sourced))),
            Some(Ok(Err(error))) => {
                report.failed(context, &error);
                Some(None)
            }
            Some(Err(_)) => {
                report.failed(context, &super::fallback::too_late(chain_id, PATIENCE));
                Some(None)
            }
        };
        holdings.extend(raw.map(|raw| Holding {
            raw,
            ..super::fallback::unread_native(chain_id)
        }));
        readings.push(ChainReading {
            chain_id,
            holdings: Ok(holdings),
            coverage: Coverage::Indexed,
        });
    }
    readings
}

/// Adds a price to native balances above zero that have none.
pub(super) async fn price(
    context: &Context,
    accounts: &Accounts,
    readings: &mut [ChainReading],
    report: &mut SourceReport,
) {
    let wanted: BTreeMap<&'static str, GasCoin> = readings
        .iter()
        .filter(|reading| unpriced(reading).is_some())
        .filter_map(|reading| gas_coin(reading.chain_id))
        .map(|coin| (coin.symbol, coin))
        .collect();
    let mut asked = JoinSet::new();
    for (symbol, coin) in wanted {
        let llama = accounts.defillama.clone();
        asked.spawn(Meter::carry(async move {
            (
                symbol,
                llama.token_price(coin.platform, coin.token, None).await,
            )
        }));
    }
    let mut prices: BTreeMap<&'static str, Figure> = BTreeMap::new();
    for (symbol, answer) in asked.join_all().await {
        match answer {
            Ok(sourced) if sourced.value.weakness(context.now()).is_none() => {
                let Sourced { value, sources } = sourced;
                report.accept(Sourced { value: (), sources });
                prices.insert(symbol, value.price_usd);
            }
            // An old or doubtful price is not used.
            Ok(_) => {}
            Err(error) => report.failed(context, &error),
        }
    }
    for reading in readings {
        let price = gas_coin(reading.chain_id).and_then(|coin| prices.get(coin.symbol).copied());
        if let Ok(holdings) = &mut reading.holdings {
            let natives = holdings
                .iter_mut()
                .filter(|holding| holding.asset == Asset::Native);
            for holding in natives {
                holding.price_usd = holding.price_usd.or(price);
            }
        }
    }
}

/// The native balance above zero that has no price, if there is one.
fn unpriced(reading: &ChainReading) -> Option<&Holding> {
    let holdings = reading.holdings.as_ref().ok()?;
    holdings.iter().find(|holding| {
        let raw = holding.raw.is_some_and(|raw| !raw.is_zero());
        let whole = holding.amount.is_some_and(|amount| !amount.get().is_zero());
        holding.asset == Asset::Native && holding.price_usd.is_none() && (raw || whole)
    })
}
