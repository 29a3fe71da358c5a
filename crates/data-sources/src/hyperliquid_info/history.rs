//! The history of an account.
//!
//! The venue lists a span of time oldest first, returns a limited number of items at once, and
//! charges weight for each item. A history may weigh at most a share of the budget ([`Purse`]). A
//! span that holds more is shortened to its newest part, and the answer says so. The same span is
//! not asked for again within [`FLOOR`].

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use alloy_primitives::Address;
use jiff::Timestamp;
use readings::{
    Figure,
    derivatives::{Fill, FundingPayment, HistoryItem, HistoryKind, LedgerUpdate, Window},
};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{json, value::RawValue};

use super::{
    HISTORY, HyperliquidInfo,
    account::{coin, side},
    purse::{Purse, most, weight},
};
use crate::{
    cached::{Ages, Cached},
    error::{Error, SourceErrorKind},
    hyperliquid::info::{RATE, Weight},
    meter::{Caller, Meter},
    provenance::{Clock, Provenance, Sourced},
    text::clean,
    wire::{Millis, malformed},
};

/// The same span of an account is not asked for again within this time.
const FLOOR: Duration = Duration::from_secs(10);
/// How many histories are kept, each of one kind: more than the budget allows within the floor.
const KEPT: usize = 64;

/// The key of a history: account, kind, start in whole minutes, and the end unless it is the
/// present.
type Asked = (Address, HistoryKind, Timestamp, Option<Timestamp>);
/// The recent histories.
pub(super) type Histories = Cached<Asked, History>;

pub(super) fn histories(clock: Arc<dyn Clock>) -> Histories {
    Cached::new(KEPT, Ages::floor(FLOOR), clock)
}

/// Most members of a ledger update, and most characters of a text in it.
const DETAILS: usize = 24;
const TEXT_CHARS: usize = 160;

/// The items of one kind in a span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Every item within `covered`, in no order.
    pub items: Vec<HistoryItem>,
    /// The span that the items cover: the requested one, or its newest part when the whole span
    /// holds too much.
    pub covered: Window,
    /// The time of the oldest item that the venue still has, when the requested span reaches
    /// further back: older items may be missing.
    pub dropped_before: Option<Timestamp>,
}

impl History {
    /// The part of the history that lies within `window`.
    fn within(mut self, window: Window) -> Self {
        let covered = Window {
            start: self.covered.start.max(window.start),
            end: self.covered.end.min(window.end),
        };
        self.items.retain(|item| covered.holds(item.time()));
        self.dropped_before = self.dropped_before.filter(|from| *from >= covered.start);
        self.covered = covered;
        self
    }
}

impl HyperliquidInfo {
    /// The items of `kind` of `user` within `window`. The three kinds together take at most 63
    /// percent of the budget. A repeated request within ten seconds gets the same history, with its
    /// age; a span that ends now then ends at the time of the read.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError): also when even the newest part of the window holds
    /// too much.
    pub async fn history(
        &self,
        user: Address,
        kind: HistoryKind,
        window: Window,
    ) -> Result<Sourced<History>, Error> {
        let end = window.end;
        let ago = self.source.now().duration_since(end);
        let past = Duration::try_from(ago).is_ok_and(|ago| ago > FLOOR);
        // The start of a span that ends now moves with the present.
        let start = whole_minute(window.start);
        let key = (user, kind, start, past.then_some(end));
        let this = self.clone();
        let fetch = move || async move {
            let window = Window { start, end };
            this.read_history(user, kind, window).await
        };
        let told = self.histories.get(key, None, fetch).await?;
        Ok(told.map(|told| told.within(window)))
    }

    async fn read_history(
        &self,
        user: Address,
        kind: HistoryKind,
        window: Window,
    ) -> Result<Sourced<History>, Error> {
        let budget = self.source.budget();
        let limit = budget
            .first()
            .map_or(RATE.weight, |budget| match Meter::caller() {
                Caller::Newcomer => budget.common,
                Caller::Credited => budget.limit,
            });
        let mut purse = Purse::of(kind, limit);
        let dropped_before = match kind {
            HistoryKind::Fill => self.dropped_before(user, window, &mut purse).await?,
            HistoryKind::Funding | HistoryKind::Ledger => None,
        };
        let mut sources = Vec::new();
        let mut covered = window;
        loop {
            let span = self.span(user, kind, covered, &mut purse, &mut sources);
            match span.await? {
                Span::Whole(items) => {
                    sources.truncate(1);
                    let value = History {
                        items,
                        covered,
                        dropped_before: dropped_before.filter(|from| *from >= covered.start),
                    };
                    return Ok(Sourced { value, sources });
                }
                Span::TooMuch { newest } if purse.pages() > 0 => covered.start = newest,
                Span::TooMuch { .. } => break,
            }
        }
        let kind = SourceErrorKind::TooLarge {
            limit: self.source.spec().limits.max_body_bytes,
        };
        Err(self.source.reject_response(HISTORY, kind).into())
    }

    /// Every item within `window`, as far as the purse allows.
    async fn span(
        &self,
        user: Address,
        kind: HistoryKind,
        window: Window,
        purse: &mut Purse,
        sources: &mut Vec<Provenance>,
    ) -> Result<Span, Error> {
        let mut items = Vec::new();
        let mut start = window.start;
        let mut read = 0;
        loop {
            let page = self.page(user, kind, start, window.end).await?;
            purse.spend(page.value.len());
            read += 1;
            sources.extend(page.sources);
            let full = page.value.len() >= most(kind);
            let last = page.value.iter().map(HistoryItem::time).max();
            items.extend(page.value);
            let Some(last) = last.filter(|_| full) else {
                return Ok(Span::Whole(items));
            };
            // The next page begins with the moment that ends this page.
            if last <= start || !purse.suffices(window, last, read) {
                let newest = purse.newest(window, last, read);
                return Ok(Span::TooMuch { newest });
            }
            start = last;
        }
    }

    pub(super) async fn page(
        &self,
        user: Address,
        kind: HistoryKind,
        start: Timestamp,
        end: Timestamp,
    ) -> Result<Sourced<Vec<HistoryItem>>, Error> {
        match kind {
            HistoryKind::Fill => {
                self.listed::<RawFill>("userFillsByTime", kind, user, start, end)
                    .await
            }
            HistoryKind::Funding => {
                self.listed::<RawFunding>("userFunding", kind, user, start, end)
                    .await
            }
            HistoryKind::Ledger => {
                self.listed::<RawUpdate>("userNonFundingLedgerUpdates", kind, user, start, end)
                    .await
            }
        }
    }

    async fn listed<R: Raw>(
        &self,
        request: &str,
        kind: HistoryKind,
        user: Address,
        start: Timestamp,
        end: Timestamp,
    ) -> Result<Sourced<Vec<HistoryItem>>, Error> {
        let body = json!({
            "type": request,
            "user": format!("{user:#x}"),
            "startTime": start.as_millisecond(),
            "endTime": end.as_millisecond(),
        });
        let weight = Weight {
            most: weight(most(kind)),
            of: Some(|reply| {
                let rows: Vec<IgnoredAny> = serde_json::from_slice(&reply.body).ok()?;
                Some(self::weight(rows.len()))
            }),
        };
        let list = self.present::<Vec<R>>(HISTORY, &body, weight).await?;
        let now = self.source.now();
        let read: Result<Vec<_>, _> = list.value.into_iter().map(|raw| raw.read(now)).collect();
        let items = read.map_err(|kind| self.source.reject_response(HISTORY, kind))?;
        let sources = list.sources;
        Ok(Sourced {
            value: items,
            sources,
        })
    }
}

/// The start of the minute around `time`.
fn whole_minute(time: Timestamp) -> Timestamp {
    let second = time.as_second();
    Timestamp::from_second(second.saturating_sub(second.rem_euclid(60))).unwrap_or(time)
}

/// The result of reading a span.
enum Span {
    /// All items.
    Whole(Vec<HistoryItem>),
    /// More items than the budget allows. The part from `newest` on may be small enough.
    TooMuch { newest: Timestamp },
}

trait Raw: DeserializeOwned + Send {
    fn read(self, now: Timestamp) -> Result<HistoryItem, SourceErrorKind>;
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawFill {
    coin: String,
    px: Figure,
    sz: Figure,
    side: String,
    time: Millis,
    #[serde(default, deserialize_with = "Figure::lenient")]
    start_position: Option<Figure>,
    #[serde(default)]
    dir: String,
    #[serde(default, deserialize_with = "Figure::lenient")]
    closed_pnl: Option<Figure>,
    hash: String,
    oid: u64,
    crossed: bool,
    fee: Figure,
    #[serde(default)]
    fee_token: Option<String>,
    #[serde(default)]
    tid: Option<u64>,
}

impl Raw for RawFill {
    fn read(self, now: Timestamp) -> Result<HistoryItem, SourceErrorKind> {
        let hash = clean(&self.hash, TEXT_CHARS);
        Ok(HistoryItem::Fill(Fill {
            id: self.tid.map_or_else(|| hash.clone(), |tid| tid.to_string()),
            time: self.time.past(now, "$[].time")?,
            coin: coin(&self.coin),
            side: side(&self.side)?,
            direction: clean(&self.dir, TEXT_CHARS),
            px: self.px,
            size: self.sz,
            position_before: self.start_position,
            closed_pnl_usd: self.closed_pnl,
            fee: self.fee,
            fee_token: self.fee_token.map(|token| clean(&token, TEXT_CHARS)),
            taker: self.crossed,
            order_id: self.oid,
            hash,
        }))
    }
}

#[derive(Deserialize)]
struct RawFunding {
    time: Millis,
    hash: String,
    delta: Payment,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payment {
    #[serde(rename = "type")]
    kind: String,
    coin: String,
    usdc: Figure,
    szi: Figure,
    funding_rate: Figure,
}

impl Raw for RawFunding {
    fn read(self, now: Timestamp) -> Result<HistoryItem, SourceErrorKind> {
        if self.delta.kind != "funding" {
            return Err(malformed("$[].delta.type", "funding", self.delta.kind));
        }
        Ok(HistoryItem::Funding(FundingPayment {
            id: clean(&self.hash, TEXT_CHARS),
            time: self.time.past(now, "$[].time")?,
            coin: coin(&self.delta.coin),
            amount_usd: self.delta.usdc,
            position: self.delta.szi,
            rate: self.delta.funding_rate,
        }))
    }
}

#[derive(Deserialize)]
struct RawUpdate {
    time: Millis,
    hash: String,
    delta: BTreeMap<String, Box<RawValue>>,
}

impl Raw for RawUpdate {
    fn read(mut self, now: Timestamp) -> Result<HistoryItem, SourceErrorKind> {
        let what = self.delta.remove("type").and_then(|raw| text_of(&raw));
        let what = what.ok_or_else(|| malformed("$[].delta.type", "a text", "nothing"))?;
        let detail =
            |(name, raw): (String, Box<RawValue>)| Some((clean(&name, 40), text_of(&raw)?));
        Ok(HistoryItem::Ledger(LedgerUpdate {
            id: clean(&self.hash, TEXT_CHARS),
            time: self.time.past(now, "$[].time")?,
            what,
            details: self
                .delta
                .into_iter()
                .filter_map(detail)
                .take(DETAILS)
                .collect(),
        }))
    }
}

/// A member of a kind that is not known in advance, as text. Numbers keep their digits, and `null`
/// is `None`.
fn text_of(raw: &RawValue) -> Option<String> {
    let json = raw.get();
    if json == "null" {
        return None;
    }
    let text = serde_json::from_str::<String>(json);
    Some(clean(text.as_deref().unwrap_or(json), TEXT_CHARS))
}
