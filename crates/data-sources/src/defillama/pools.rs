//! `GET /pools`: one body with every pool. It is read row by row, and only the pools that can be
//! shown are kept.

use std::{fmt, sync::PoisonError, time::Duration};

use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use readings::{
    Figure,
    defi::{chains, pool::Pool},
};
use reqwest::header::{ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, LAST_MODIFIED};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{Defillama, MAX_LIST_BYTES};
use crate::{
    error::{Error, SourceErrorKind},
    provenance::Sourced,
    source::Fault,
    text::clean,
    transport::{QUOTED_CHARS, Reply, not_json},
};

const SOURCE: &str = "defillama.pools";
/// Pools that are kept, the largest first; about 4,000 pass the filters.
const MAX_KEPT: usize = 6_000;
/// Most pools that are held while the list is read.
const MAX_HELD: usize = 2 * MAX_KEPT;
/// Tokens of one pool that are kept.
const MAX_TOKENS: usize = 16;
const NOT_MODIFIED: u16 = 304;
/// The time limit of the request: a body of over 10 MB takes long, and only a background job asks
/// for it.
const PATIENCE: Duration = Duration::from_secs(45);
/// A time of change further than this in the future is ignored.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// The pools that can be shown ([`Pool::admit`]), and the number of all rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolList {
    /// The pools, the largest first.
    pub pools: Vec<Pool>,
    /// Rows of the body.
    pub seen: u64,
    /// Rows that could not be read.
    pub malformed: u64,
}

/// A list with the tag that its source gave it.
#[derive(Clone, Debug)]
pub(super) struct Tagged {
    tag: HeaderValue,
    list: PoolList,
    changed: Option<Timestamp>,
}

impl Defillama {
    /// The pools. Every call asks the source, with the tag of the last answer if there was one: an
    /// unchanged list is not sent again.
    ///
    /// # Errors
    ///
    /// When the answer is unusable: it is larger than 32 MiB, it is no list, one row of twenty
    /// cannot be read, or no pool can be shown.
    pub async fn pools(&self) -> Result<Sourced<PoolList>, Error> {
        let last = self.last().clone();
        let headers = move || {
            let tag = last
                .iter()
                .map(|tagged| (IF_NONE_MATCH, tagged.tag.clone()));
            Ok(HeaderMap::from_iter(tag))
        };
        let ask = self
            .source
            .get(SOURCE, "/pools")
            .at("yields_url")
            .max_body_bytes(MAX_LIST_BYTES)
            .timeout(PATIENCE)
            .accepts(&[NOT_MODIFIED])
            .signed(headers);
        let now = self.source.now();
        let answer: Result<_, Error> = self
            .source
            .ask(ask, |reply| {
                if reply.status.as_u16() == NOT_MODIFIED {
                    let unasked = SourceErrorKind::HttpStatus {
                        status: NOT_MODIFIED,
                        code: None,
                    };
                    let last = self.last().clone().ok_or(Fault::Upstream(unasked))?;
                    return Ok((last.list, last.changed));
                }
                let list = read(&reply.body)?;
                let changed = changed(reply, now);
                *self.last() = reply.headers.get(ETAG).map(|tag| Tagged {
                    tag: tag.clone(),
                    list: list.clone(),
                    changed,
                });
                Ok((list, changed))
            })
            .await;
        let answer = answer?;
        let changed = answer.value.1;
        Ok(answer.map(|(list, _)| list).as_of(changed))
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Option<Tagged>> {
        self.last_pools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn changed(reply: &Reply, now: Timestamp) -> Option<Timestamp> {
    let text = reply.headers.get(LAST_MODIFIED)?.to_str().ok()?;
    let changed = rfc2822::parse(text).ok()?.timestamp();
    (changed.duration_since(now) <= TOLERANCE).then_some(changed)
}

#[derive(Deserialize)]
struct Body {
    status: Option<String>,
    data: Reading,
}

/// The list in the form of the upstream.
#[derive(Default)]
struct Reading(PoolList);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    pool: String,
    chain: String,
    project: String,
    symbol: String,
    tvl_usd: Figure,
    #[serde(default, deserialize_with = "Figure::or_none")]
    apy_base: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    apy_reward: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    apy: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    apy_mean30d: Option<Figure>,
    reward_tokens: Option<Vec<Option<String>>>,
    underlying_tokens: Option<Vec<Option<String>>>,
    il_risk: Option<String>,
    stablecoin: Option<bool>,
    exposure: Option<String>,
    outlier: Option<bool>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    count: Option<Figure>,
}

fn read(body: &[u8]) -> Result<PoolList, SourceErrorKind> {
    let body: Body = serde_json::from_slice(body).map_err(|error| not_json(&error))?;
    if let Some(status) = body.status.filter(|status| status != "success") {
        return Err(SourceErrorKind::Business {
            code: clean(&status, 16),
            message: clean(&status, QUOTED_CHARS),
        });
    }
    let Reading(mut list) = body.data;
    keep_largest(&mut list.pools);
    let mostly_read = list.malformed.saturating_mul(20) <= list.seen;
    if list.pools.is_empty() || !mostly_read {
        return Err(SourceErrorKind::Malformed {
            path: "$.data".to_owned(),
            expected: "pools",
            observed: format!(
                "{} of {} rows usable, {} not readable",
                list.pools.len(),
                list.seen,
                list.malformed
            ),
        });
    }
    Ok(list)
}

impl<'de> Deserialize<'de> for Reading {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Rows)
    }
}

struct Rows;

impl<'de> Visitor<'de> for Rows {
    type Value = Reading;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of pools")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Reading, A::Error> {
        let mut list = PoolList::default();
        // The raw text of a row is borrowed from the body, so that at most one row is in memory.
        while let Some(raw) = rows.next_element::<&'de RawValue>()? {
            list.seen = list.seen.saturating_add(1);
            let row = serde_json::from_str::<Row>(raw.get())
                .ok()
                .and_then(Row::read);
            match row {
                Some(pool) if pool.admit().is_ok() => list.pools.push(pool),
                Some(_) => {}
                None => list.malformed = list.malformed.saturating_add(1),
            }
            if list.pools.len() >= MAX_HELD {
                keep_largest(&mut list.pools);
            }
        }
        Ok(Reading(list))
    }
}

fn keep_largest(pools: &mut Vec<Pool>) {
    pools.sort_by(|a, b| b.tvl_usd.cmp(&a.tvl_usd).then_with(|| a.id.cmp(&b.id)));
    pools.truncate(MAX_KEPT);
}

impl Row {
    /// `None` for a row without a usable id or name.
    fn read(self) -> Option<Pool> {
        let named = |text: &str, most| Some(clean(text, most)).filter(|text| !text.is_empty());
        let chain = named(&self.chain, 40)?;
        Some(Pool {
            id: Some(self.pool).filter(|id| is_id(id))?,
            chain_id: chains::id_of(&chain),
            chain,
            project: named(&self.project, 64)?,
            symbol: named(&self.symbol, 64)?,
            tvl_usd: self.tvl_usd,
            apy_base_pct: self.apy_base,
            apy_reward_pct: self.apy_reward,
            apy_total_pct: self.apy,
            mean_30d_pct: self.apy_mean30d,
            reward_tokens: tokens(self.reward_tokens),
            underlying: tokens(self.underlying_tokens),
            il_risk: match self.il_risk.as_deref() {
                Some("yes") => Some(true),
                Some("no") => Some(false),
                _ => None,
            },
            stablecoin: self.stablecoin,
            single_asset: match self.exposure.as_deref() {
                Some("single") => Some(true),
                Some("multi") => Some(false),
                _ => None,
            },
            outlier: self.outlier,
            days: self.count.and_then(|count| u32::try_from(count.0).ok()),
        })
    }
}

/// A token without a name stays in the list as an empty text: a list must not look shorter.
fn tokens(tokens: Option<Vec<Option<String>>>) -> Vec<String> {
    let tokens = tokens.unwrap_or_default().into_iter().take(MAX_TOKENS);
    tokens
        .map(|token| clean(&token.unwrap_or_default(), 80))
        .collect()
}

/// An id becomes part of cursors and paths: letters, digits, `-`, `_` and `.`.
fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=64).contains(&id.len()) && id.bytes().all(plain)
}
