//! OKX futures: funding, open interest, long/short ratios.
//!
//! Open interest is stated in contracts, coins and dollars. Contracts are never read, because their
//! size differs from coin to coin. The funding interval is the time between the next two payments.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use readings::{
    Figure,
    derivatives::{
        CoinReading, Funding, FundingInterval, LongShort, OpenInterest, Part, Venue, VenueReading,
        coin_of_contract, contract_for,
    },
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{
    budget::{Families, Family, Rate},
    error::{Error, SourceErrorKind},
    json::read_json,
    perpetuals::{Assembly, Exchange, Perpetuals, not_listed},
    provenance::{Clock, Sourced},
    source::{Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    text::clean,
    transport::{QUOTED_CHARS, Transport, TransportError},
    wire::{Millis, malformed, rows},
};

const FUNDING: &str = "okx-futures.funding";
const INTEREST: &str = "okx-futures.open-interest";
const MARK: &str = "okx-futures.mark-price";
const RATIO: &str = "okx-futures.long-short";

/// Codes of an unknown instrument.
const UNKNOWN_INSTRUMENT: [&str; 2] = ["51001", "51000"];
/// The code of too many requests.
const TOO_MANY: &str = "50011";
/// The period of the long/short ratio.
const PERIOD: &str = "5m";
/// How far behind the others a row of a list may be.
const STANDSTILL: SignedDuration = SignedDuration::from_mins(10);

/// OKX futures. Clones share everything.
#[derive(Clone, Debug)]
pub struct OkxFutures {
    source: Source,
    kept: Perpetuals,
}

impl OkxFutures {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "okx_futures",
        urls: &[("base_url", "https://www.okx.com")],
        key: KeyRule::Keyless,
        sources: &[FUNDING, INTEREST, MARK, RATIO],
        families: Families::Groups(&[
            Family {
                name: "public",
                sources: &[FUNDING, INTEREST, MARK],
                rate: Rate::per_minute(200),
            },
            Family {
                name: "statistics",
                sources: &[RATIO],
                rate: Rate::per_minute(100),
            },
        ]),
        ..UpstreamSpec::DATA
    };

    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] when an address cannot be used.
    pub fn new(
        transport: &Transport,
        config: SourceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        Ok(Self {
            source: Source::new(transport, Self::SPEC, config, clock.clone())?,
            kept: Perpetuals::new(clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The perpetual of `coin` against USDT.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when it is not listed; a [`SourceError`](crate::SourceError) when the
    /// funding rate could not be read. The reading names other parts that are missing.
    pub async fn reading(
        &self,
        coin: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<VenueReading>, Error> {
        self.kept.reading(self, coin, max_age).await
    }

    /// Every perpetual against USDT with its coin, without long/short ratios.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn all(
        &self,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<CoinReading>>>, Error> {
        self.kept.all(self, max_age).await
    }
}

impl Exchange for OkxFutures {
    async fn fetch(&self, coin: &str) -> Result<Sourced<VenueReading>, Error> {
        let contract = contract_for(Venue::Okx, coin);
        let name = contract.name.as_str();
        let funding = format!("/api/v5/public/funding-rate?instId={name}");
        let interest = format!("/api/v5/public/open-interest?instType=SWAP&instId={name}");
        let mark = format!("/api/v5/public/mark-price?instType=SWAP&instId={name}");
        let (funding, interest, mark, ratio) = tokio::join!(
            self.one::<FundingRow>(FUNDING, &funding, name),
            self.one::<InterestRow>(INTEREST, &interest, name),
            self.one::<MarkRow>(MARK, &mark, name),
            self.ratio(coin),
        );
        let now = self.source.now();
        let reading = VenueReading::empty(Venue::Okx, name);
        let mut assembly = Assembly::new(reading, self.source.mode(), now);
        assembly.core(funding?).fill(&mut assembly.reading);
        if let Some(row) = assembly.part(Part::OpenInterest, interest) {
            row.fill(&mut assembly.reading);
        }
        let mark = assembly.part(Part::MarkPx, mark);
        assembly.reading.mark_px = mark.map(|row| row.mark_px);
        assembly.reading.long_short = assembly.part(Part::LongShort, ratio).flatten();
        Ok(assembly.done())
    }

    async fn fetch_all(&self) -> Result<Sourced<Arc<Vec<CoinReading>>>, Error> {
        let (fundings, interests, marks) = tokio::join!(
            self.list::<FundingRow>(FUNDING, "/api/v5/public/funding-rate?instId=ANY"),
            self.list::<InterestRow>(INTEREST, "/api/v5/public/open-interest?instType=SWAP"),
            self.list::<MarkRow>(MARK, "/api/v5/public/mark-price?instType=SWAP"),
        );
        let (fundings, interests, marks) = (fundings?, interests?, marks?);
        let mut readings = BTreeMap::new();
        for row in &interests.value {
            let Some((coin, contract)) = coin_of_contract(Venue::Okx, &row.inst_id) else {
                continue;
            };
            let mut reading = VenueReading::empty(Venue::Okx, &contract.name);
            row.fill(&mut reading);
            match fundings
                .value
                .iter()
                .find(|funding| funding.inst_id == row.inst_id)
            {
                Some(funding) => funding.fill(&mut reading),
                None => reading.lacks(Part::Funding, "not_named_by_source", FUNDING),
            }
            let mark = marks.value.iter().find(|mark| mark.inst_id == row.inst_id);
            reading.mark_px = mark.map(|mark| mark.mark_px);
            readings.insert(coin, reading);
        }
        let mut sources = interests.sources;
        sources.extend(fundings.sources);
        sources.extend(marks.sources);
        Ok(Sourced {
            value: Arc::new(readings.into_iter().collect()),
            sources,
        })
    }
}

impl OkxFutures {
    /// The only row of an answer about `name`.
    async fn one<R: Row>(
        &self,
        source: &'static str,
        path: &str,
        name: &str,
    ) -> Result<Sourced<R>, Error> {
        let list = self.open::<Vec<R>>(source, path, name).await?;
        let reject_response = |kind| self.source.reject_response(source, kind);
        let sources = list.sources;
        let Some(row) = list.value.into_iter().next() else {
            return Err(not_listed("okx", name));
        };
        if row.instrument() != name {
            let kind = malformed(
                "$.data[0].instId",
                "the contract that was asked for",
                row.instrument(),
            );
            return Err(reject_response(kind).into());
        }
        let time = row
            .time()
            .past(self.source.now(), "$.data[0].ts")
            .map_err(reject_response)?;
        Ok(Sourced {
            value: row,
            sources,
        }
        .as_of(Some(time)))
    }

    /// Every row that can be read, as old as the oldest of them.
    async fn list<R: Row>(
        &self,
        source: &'static str,
        path: &str,
    ) -> Result<Sourced<Vec<R>>, Error> {
        let list = self.open::<Vec<Box<RawValue>>>(source, path, "").await?;
        let now = self.source.now();
        let rows = || rows(&list.value, "$.data");
        let read: Vec<R> = self
            .source
            .counting(source, rows)
            .map_err(|kind| self.source.reject_response(source, kind))?;
        let timed = |row: R| Some((row.time().past(now, "$.data[].ts").ok()?, row));
        let mut read: Vec<_> = read.into_iter().filter_map(timed).collect();
        // A row that stood still while the others moved on belongs to a suspended contract.
        if let Some(newest) = read.iter().map(|(time, _)| *time).max() {
            read.retain(|(time, _)| newest.duration_since(*time) <= STANDSTILL);
        }
        let (times, read): (Vec<_>, Vec<_>) = read.into_iter().unzip();
        let sources = list.sources;
        Ok(Sourced {
            value: read,
            sources,
        }
        .as_of(times.into_iter().min()))
    }

    async fn ratio(&self, coin: &str) -> Result<Sourced<Option<LongShort>>, Error> {
        let path = format!(
            "/api/v5/rubik/stat/contracts/long-short-account-ratio?ccy={coin}&period={PERIOD}"
        );
        let list = self
            .open::<Vec<(Millis, Figure)>>(RATIO, &path, coin)
            .await?;
        let now = self.source.now();
        let reject_response = |kind| self.source.reject_response(RATIO, kind);
        // Newest first, as documented; the newest by its own time in any case.
        let newest = list.value.iter().max_by_key(|(time, _)| time.0);
        let ratio = newest
            .map(|(time, ratio)| -> Result<_, SourceErrorKind> {
                let time: Timestamp = time.past(now, "$.data[0][0]")?;
                LongShort::from_ratio(ratio.0, PERIOD, time)
                    .ok_or_else(|| malformed("$.data[0][1]", "a ratio", ratio))
            })
            .transpose()
            .map_err(reject_response)?;
        // The reading carries the time of its period, so the period does not age the answer.
        let sources = list.sources;
        Ok(Sourced {
            value: ratio,
            sources,
        })
    }

    /// `{"code": "0", "data": …, "msg": ""}`: any code but 0 is a failure.
    async fn open<T: DeserializeOwned>(
        &self,
        source: &'static str,
        path: &str,
        asked: &str,
    ) -> Result<Sourced<T>, Error> {
        let ask = self.source.get(source, path).accepts(&[400]);
        self.source
            .ask(ask, |reply| -> Result<T, Fault<Error>> {
                let envelope: Envelope<'_> = serde_json::from_slice(&reply.body)
                    .map_err(|error| malformed("$", "an envelope with a code", error))?;
                if envelope.code == "0" {
                    let data = envelope.data.map_or("null", RawValue::get);
                    return Ok(read_json(data.as_bytes())?);
                }
                if UNKNOWN_INSTRUMENT.contains(&envelope.code.as_ref()) {
                    return Err(Fault::Answer(not_listed("okx", asked)));
                }
                Err(Fault::Upstream(match envelope.code.as_ref() {
                    TOO_MANY => SourceErrorKind::RateLimited { retry_after: None },
                    code => SourceErrorKind::Business {
                        code: clean(code, 16),
                        message: clean(&envelope.msg, QUOTED_CHARS),
                    },
                }))
            })
            .await
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    code: std::borrow::Cow<'a, str>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(default)]
    msg: std::borrow::Cow<'a, str>,
}

/// A row about one instrument at one time.
trait Row: DeserializeOwned + Send {
    fn instrument(&self) -> &str;
    fn time(&self) -> Millis;
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FundingRow {
    inst_id: String,
    #[serde(default, deserialize_with = "Figure::or_none")]
    funding_rate: Option<Figure>,
    funding_time: Millis,
    next_funding_time: Millis,
    ts: Millis,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InterestRow {
    inst_id: String,
    #[serde(default, deserialize_with = "Figure::or_none")]
    oi_ccy: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    oi_usd: Option<Figure>,
    ts: Millis,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MarkRow {
    inst_id: String,
    mark_px: Figure,
    ts: Millis,
}

macro_rules! row {
    ($($row:ty),*) => {
        $(impl Row for $row {
            fn instrument(&self) -> &str {
                &self.inst_id
            }
            fn time(&self) -> Millis {
                self.ts
            }
        })*
    };
}
row!(FundingRow, InterestRow, MarkRow);

impl FundingRow {
    fn fill(&self, reading: &mut VenueReading) {
        let Some(rate) = self.funding_rate else {
            return reading.lacks(Part::Funding, "not_named_by_source", FUNDING);
        };
        let times = self.funding_time.0.zip(self.next_funding_time.0);
        let Some(interval) = times.and_then(|(one, next)| FundingInterval::between(one, next))
        else {
            return reading.lacks(Part::Funding, "funding_interval_unknown", FUNDING);
        };
        match Funding::new(rate.0, interval, self.funding_time.0, FUNDING) {
            Ok(funding) => reading.funding = Some(funding),
            Err(_) => reading.lacks(Part::Funding, "upstream_implausible", FUNDING),
        }
    }
}

impl InterestRow {
    fn fill(&self, reading: &mut VenueReading) {
        let (base, usd) = (self.oi_ccy.map(Figure::get), self.oi_usd.map(Figure::get));
        reading.open_interest = OpenInterest::stated(base, usd);
        if reading.open_interest.is_none() {
            reading.lacks(Part::OpenInterest, "not_named_by_source", INTEREST);
        }
    }
}
