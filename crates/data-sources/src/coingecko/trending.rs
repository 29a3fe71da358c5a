//! `GET /api/v3/search/trending`: the coins with the most searches.

use std::{sync::Arc, time::Duration};

use readings::{
    Figure,
    token::{measure, trending::SearchedCoin},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Coingecko, is_slug};
use crate::{
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::Sourced,
    source::Fault,
    text::clean,
};

pub(super) const SOURCE: &str = "coingecko.trending";

#[derive(Deserialize)]
struct Body {
    coins: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    item: Box<RawValue>,
}

#[derive(Deserialize)]
struct Item {
    id: String,
    symbol: String,
    name: String,
    market_cap_rank: Option<u32>,
    data: Option<Data>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Data {
    #[serde(deserialize_with = "Figure::lenient")]
    price: Option<Figure>,
    price_change_percentage_24h: Option<Change>,
    market_cap: Option<String>,
    total_volume: Option<String>,
}

#[derive(Deserialize)]
struct Change {
    #[serde(default, deserialize_with = "Figure::lenient")]
    usd: Option<Figure>,
}

impl Coingecko {
    /// The coins with the most searches, in order.
    ///
    /// # Errors
    ///
    /// When the answer is unusable.
    pub async fn trending(
        &self,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<SearchedCoin>>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let ask = this.ask(SOURCE, "/api/v3/search/trending");
            let read: Result<Sourced<Vec<SearchedCoin>>, Error> = this
                .source
                .ask(ask, |reply| {
                    coins(read_json(&reply.body)?).map_err(Fault::Upstream)
                })
                .await;
            Ok(read?.map(Arc::new))
        };
        self.trending.get((), max_age, fetch).await
    }
}

fn coins(body: Body) -> Result<Vec<SearchedCoin>, SourceErrorKind> {
    let mut problem = None;
    let mut found: Vec<SearchedCoin> = Vec::new();
    for entry in &body.coins {
        match read_json::<Item>(entry.item.get().as_bytes()) {
            Ok(item) => found.extend(coin(item)),
            Err(kind) => problem = problem.or(Some(kind)),
        }
    }
    match problem {
        Some(kind) if found.is_empty() => Err(kind),
        None if found.is_empty() => Err(SourceErrorKind::Malformed {
            path: "$.coins".to_owned(),
            expected: "coins",
            observed: "none".to_owned(),
        }),
        _ => Ok(found),
    }
}

fn coin(item: Item) -> Option<SearchedCoin> {
    let symbol = clean(&item.symbol, 32);
    let name = clean(&item.name, 64);
    if !is_slug(&item.id) || symbol.is_empty() || name.is_empty() {
        return None;
    }
    let data = item.data.unwrap_or_default();
    let above_zero =
        |figure: Option<Figure>| measure(figure).filter(|figure| !figure.get().is_zero());
    Some(SearchedCoin {
        id: item.id,
        symbol,
        name,
        rank: item.market_cap_rank.filter(|rank| *rank > 0),
        price_usd: above_zero(data.price),
        change_24h_pct: data
            .price_change_percentage_24h
            .and_then(|change| change.usd),
        market_cap_usd: above_zero(data.market_cap.as_deref().and_then(dollars)),
        volume_24h_usd: above_zero(data.total_volume.as_deref().and_then(dollars)),
    })
}

/// Reads `$521,967,819` as a figure.
fn dollars(text: &str) -> Option<Figure> {
    let digits = text.trim().strip_prefix('$')?.replace(',', "");
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_read_with_their_commas() {
        let read = |text: &str| dollars(text).map(|figure| figure.to_string());
        assert_eq!(read("$521,967,819").as_deref(), Some("521967819"));
        assert_eq!(read("$0.5").as_deref(), Some("0.5"));
        for other in ["521", "€5", "$", "$1.2M", "$ 1", "$NaN", ""] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
