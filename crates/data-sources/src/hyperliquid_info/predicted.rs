//! The next funding payments, as the venue expects them.

use std::{sync::Arc, time::Duration};

use readings::{
    Figure,
    derivatives::{Funding, FundingInterval, Venue, coin_of_contract},
};
use serde::Deserialize;
use serde_json::json;

use super::{HyperliquidInfo, PREDICTED};
use crate::{error::Error, hyperliquid::info::USUAL, provenance::Sourced, wire::Millis};

/// The expected next funding of another venue, or of the venue itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// The coin.
    pub coin: String,
    /// The venue that pays.
    pub venue: Venue,
    /// The rate.
    pub funding: Funding,
}

impl HyperliquidInfo {
    /// The expected next funding of each venue, for the venue's own dex.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn predicted(
        &self,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<Predicted>>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let body = json!({"type": "predictedFundings"});
            let list = this
                .present::<Vec<RawPredicted>>(PREDICTED, &body, USUAL)
                .await?;
            Ok(list.map(|list| Arc::new(list.iter().flat_map(predictions).collect())))
        };
        self.predicted.get((), max_age, fetch).await
    }
}

/// The comparable predictions: rates of a known interval. Hyperliquid's own interval is an hour
/// when it is not named; an unnamed interval of another venue is unknown.
fn predictions(row: &RawPredicted) -> Vec<Predicted> {
    let of = |(name, prediction): &(String, Option<Prediction>)| {
        let venue = match name.as_str() {
            "BinPerp" => Venue::Binance,
            "BybitPerp" => Venue::Bybit,
            "HlPerp" => Venue::Hyperliquid,
            _ => return None,
        };
        let prediction = prediction.as_ref()?;
        let interval = match (prediction.funding_interval_hours, venue) {
            (Some(hours), _) => FundingInterval::hours(hours)?,
            (None, Venue::Hyperliquid) => FundingInterval::HOUR,
            (None, _) => return None,
        };
        let (coin, _) = coin_of_contract(Venue::Hyperliquid, &row.0)?;
        let next_at = prediction.next_funding_time.0;
        let funding = Funding::new(prediction.funding_rate.0, interval, next_at, PREDICTED).ok()?;
        Some(Predicted {
            coin,
            venue,
            funding,
        })
    };
    row.1.iter().filter_map(of).collect()
}

#[derive(Deserialize)]
struct RawPredicted(String, Vec<(String, Option<Prediction>)>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prediction {
    funding_rate: Figure,
    next_funding_time: Millis,
    #[serde(default)]
    funding_interval_hours: Option<u64>,
}
