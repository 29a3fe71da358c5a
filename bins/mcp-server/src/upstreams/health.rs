//! The state of the venues, for `/status`, `/readyz` and metrics.

use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use data_sources::transport::SourceHealth;
use data_sources::{Mode, Source};
use serde_json::Value;

use super::{Adapters, NEXT_LOOK, NEXT_TRY, PRICES, Upstreams};
use crate::http::{Health, Limits as Left, Observed};

impl Health for Upstreams {
    fn observe(&self) -> Vec<Observed> {
        let Adapters {
            lifi,
            circle,
            polymarket,
            hyperliquid,
            rpc,
            defillama,
            dexscreener,
            ..
        } = self.0.as_ref();
        let venues = [
            lifi.source(),
            circle.source(),
            polymarket.source(),
            hyperliquid.source(),
        ];
        let mut observed: Vec<Observed> = venues
            .into_iter()
            .flat_map(|venue| {
                let seen = venue.health().into_iter();
                seen.map(|seen| observe(venue.mode(), seen, ""))
            })
            .collect();
        for prices in [defillama.source(), dexscreener.source()] {
            let asked = prices.health().into_iter();
            let asked = asked.filter(|seen| PRICES.contains(&seen.source));
            observed.extend(asked.map(|seen| observe(prices.mode(), seen, "")));
        }
        for endpoint in rpc.health() {
            let of = format!("[{}#{}]", endpoint.chain_id, endpoint.position);
            let sources = endpoint.sources.into_iter();
            observed.extend(sources.map(|seen| observe(rpc.mode(), seen, &of)));
        }
        observed
    }

    fn limits(&self) -> Left {
        self.0.probed.measure();
        let sources = self.0.limited();
        let quota = |source: &Source| Some((source.spec().name, source.quota()?));
        Left {
            budgets: sources.into_iter().flat_map(Source::budget).collect(),
            quotas: sources.into_iter().filter_map(quota).collect(),
        }
    }

    fn concerns(&self) -> Vec<(String, String)> {
        self.0
            .refused_legs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .map(|(key, reason)| (format!("plans.fee_config {key}"), reason.clone()))
            .collect()
    }

    fn keep(self: Arc<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            loop {
                let next = if self.look_at_legs().await {
                    NEXT_LOOK
                } else {
                    NEXT_TRY
                };
                tokio::time::sleep(next).await;
            }
        })
    }

    fn probes(&self) -> Vec<Value> {
        self.0.probed.document()
    }

    fn keep_probing(self: Arc<Self>, every: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move { self.probe_every(every).await })
    }
}

fn observe(mode: Mode, seen: SourceHealth, of: &str) -> Observed {
    Observed {
        id: format!("{}{of}", seen.source),
        is_optional: PRICES.contains(&seen.source),
        mode,
        health: seen,
    }
}
