//! Implementations of ports for tests, which set the yields and the prices.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use alloy_primitives::Address;
use api_server::TokenPrices;
use jiff::Timestamp;
use readings::defi::market::Market;
use readings::{Decimal, Figure};
use serde_json::Value;
use wallet_actions::{
    Attested, BridgeAsk, BridgePlan, Burn, DepositAsk, PlanCause, PlanRefused, Plans, PortFuture,
    SwapAsk, SwapPlan,
};
use watch_server::{Edition, EditionFuture, Yields};
use yield_watch::Snapshot;

use crate::moves::stage::FRESH;

/// Yields that a test sets.
pub(crate) struct TestYields(pub(crate) Mutex<Vec<Market>>);

impl TestYields {
    pub(crate) fn set(&self, pool: &str, apy: &str) {
        let mut markets = self.0.lock().unwrap();
        let market = markets.iter_mut().find(|market| market.pool == pool);
        let market = market.unwrap();
        market.apy_pct = apy.parse().unwrap();
        for other in &mut market.also_reported {
            other.apy_pct = market.apy_pct;
        }
    }

    pub(crate) fn edition(&self, taken_at: Timestamp) -> Edition {
        Edition {
            snapshot: Snapshot {
                id: "s".to_owned(),
                taken_at,
                max_age_seconds: FRESH,
            },
            markets: Arc::new(self.0.lock().unwrap().clone()),
        }
    }
}

impl Yields for TestYields {
    fn latest(&self) -> EditionFuture<'_> {
        Box::pin(async { Some(self.edition(Timestamp::UNIX_EPOCH)) })
    }
}

/// The yields of the first field, as if gathered at the time of the second one.
pub(crate) struct Gathered(pub(crate) Arc<TestYields>, pub(crate) Arc<AtomicU64>);

impl Yields for Gathered {
    fn latest(&self) -> EditionFuture<'_> {
        let now = i64::try_from(self.1.load(Ordering::SeqCst)).unwrap();
        let taken_at = Timestamp::from_second(now).unwrap();
        Box::pin(async move { Some(self.0.edition(taken_at)) })
    }
}

/// One price for every token, which a test sets.
pub(crate) struct TestPrices(pub(crate) Mutex<Option<Decimal>>);

impl TestPrices {
    pub(crate) fn set(&self, price: Option<&str>) {
        let price = price.map(|price| price.parse::<Figure>().unwrap().0);
        *self.0.lock().unwrap() = price;
    }
}

impl TokenPrices for TestPrices {
    fn usd(&self, _: u64, _: Address) -> PortFuture<'_, Option<Decimal>> {
        Box::pin(std::future::ready(*self.0.lock().unwrap()))
    }

    fn gas_usd(&self, _: u64, _: u64) -> PortFuture<'_, Option<Decimal>> {
        Box::pin(std::future::ready(Some(Decimal::ZERO)))
    }
}

/// A port that finds no swap and no bridge.
pub(crate) struct Nothing;

fn no_plan<T>() -> Result<T, PlanRefused> {
    Err(PlanRefused {
        cause: PlanCause::NoRoute,
        check: "no_route".to_owned(),
        message: "none".to_owned(),
        retry_after: None,
    })
}

impl Plans for Nothing {
    fn swap(&self, _: SwapAsk) -> PortFuture<'_, Result<SwapPlan, PlanRefused>> {
        Box::pin(async { no_plan() })
    }

    fn judge_deposit(&self, _: DepositAsk) -> PortFuture<'_, Result<Value, PlanRefused>> {
        Box::pin(async { Ok(Value::Null) })
    }

    fn bridge(&self, _: BridgeAsk) -> PortFuture<'_, Result<BridgePlan, PlanRefused>> {
        Box::pin(async { no_plan() })
    }

    fn attestation(&self, _: Burn) -> PortFuture<'_, Result<Option<Attested>, PlanRefused>> {
        Box::pin(async { no_plan() })
    }
}
