//! `GET /protocols`: every protocol with the value that is locked in it, in the order of the
//! source. The list is read row by row, and impossible values are left out.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use readings::{
    Decimal, Figure,
    defi::tvl::{Protocol, is_chain_key, plausible_change},
};
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{Defillama, MAX_LIST_BYTES};
use crate::{
    error::{Error, SourceErrorKind},
    provenance::Sourced,
    text::clean,
    transport::not_json,
};

const SOURCE: &str = "defillama.protocols";
/// Protocols that are kept; there are about 6,000.
const MAX_KEPT: usize = 10_000;
/// Chains of one protocol that are kept.
const MAX_CHAINS: usize = 256;
/// The largest value of a protocol that is believed.
const MAX_TVL_USD: i64 = 10_000_000_000_000;

impl Defillama {
    /// Every protocol with value in it, in the order of the source.
    ///
    /// # Errors
    ///
    /// When the answer is unusable: it is no list, or one row of twenty cannot be read.
    pub async fn protocols(
        &self,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<Protocol>>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let ask = this
                .source
                .get(SOURCE, "/protocols")
                .at("base_url")
                .max_body_bytes(MAX_LIST_BYTES);
            let read: Result<Sourced<Kept>, Error> =
                this.source.ask(ask, |reply| Ok(read(&reply.body)?)).await;
            Ok(read?.map(|kept| Arc::new(kept.rows)))
        };
        self.protocols.get((), max_age, fetch).await
    }
}

/// The kept rows of a list that is read once, row by row.
#[derive(Debug, Default)]
struct Kept {
    rows: Vec<Protocol>,
    seen: usize,
    malformed: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    slug: Option<String>,
    category: Option<String>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    tvl: Option<Figure>,
    chain_tvls: Option<BTreeMap<String, Lenient>>,
    #[serde(default, rename = "change_1d", deserialize_with = "Figure::lenient")]
    change_1d: Option<Figure>,
    #[serde(default, rename = "change_7d", deserialize_with = "Figure::lenient")]
    change_7d: Option<Figure>,
    parent_protocol: Option<String>,
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Lenient(#[serde(deserialize_with = "Figure::lenient")] Option<Figure>);

fn read(body: &[u8]) -> Result<Kept, SourceErrorKind> {
    let kept: Kept = serde_json::from_slice(body).map_err(|error| not_json(&error))?;
    let mostly_read = kept.malformed.saturating_mul(20) <= kept.seen;
    if kept.rows.is_empty() || !mostly_read {
        return Err(SourceErrorKind::Malformed {
            path: "$".to_owned(),
            expected: "protocols",
            observed: format!("{} of {} rows not readable", kept.malformed, kept.seen),
        });
    }
    Ok(kept)
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Rows)
    }
}

struct Rows;

impl<'de> Visitor<'de> for Rows {
    type Value = Kept;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of protocols")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Kept, A::Error> {
        let mut kept = Kept::default();
        while let Some(raw) = list.next_element::<&'de RawValue>()? {
            kept.seen = kept.seen.saturating_add(1);
            match serde_json::from_str::<Row>(raw.get()).map(Row::read) {
                Ok(Some(row)) if kept.rows.len() < MAX_KEPT => kept.rows.push(row),
                Ok(_) => {}
                Err(_) => kept.malformed = kept.malformed.saturating_add(1),
            }
        }
        Ok(kept)
    }
}

impl Row {
    /// `None` for a protocol without value, and for one with an impossible value.
    fn read(self) -> Option<Protocol> {
        let tvl_usd = self.tvl.filter(|tvl| is_value(*tvl) && !tvl.0.is_zero())?;
        let name = clean(&self.name, 80);
        let slug = match self.slug {
            Some(slug) => clean(&slug, 80),
            None => name.to_lowercase().replace(' ', "-"),
        };
        if name.is_empty() || slug.is_empty() {
            return None;
        }
        let chains = self.chain_tvls.unwrap_or_default().into_iter();
        let by_chain = chains
            .filter(|(key, _)| is_chain_key(key))
            .filter_map(|(key, tvl)| Some((clean(&key, 40), tvl.0.filter(|tvl| is_value(*tvl))?)))
            .take(MAX_CHAINS)
            .collect();
        Some(Protocol {
            slug,
            name,
            category: self.category.map(|category| clean(&category, 40)),
            family: self
                .parent_protocol
                .map(|parent| clean(parent.trim_start_matches("parent#"), 80)),
            tvl_usd,
            by_chain,
            change_1d_pct: plausible_change(self.change_1d),
            change_7d_pct: plausible_change(self.change_7d),
        })
    }
}

pub(super) fn is_value(tvl: Figure) -> bool {
    tvl.0 >= Decimal::ZERO && tvl.0 <= Decimal::from(MAX_TVL_USD)
}
