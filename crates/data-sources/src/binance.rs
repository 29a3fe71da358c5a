//! Binance futures: funding, open interest, long/short ratios.
//!
//! Where Binance may not serve, it answers 451. That is an outage of this venue only. The list of
//! funding intervals holds exceptions only: a contract that is not in it pays every 8 hours.

mod answers;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use readings::{
    Figure,
    derivatives::{
        CoinReading, FundingInterval, LongShort, OpenInterest, Part, Venue, VenueReading,
        coin_of_contract, contract_for,
    },
};
use serde_json::value::RawValue;

use self::answers::{Exception, Interest, Premium, Ratio, Refusal};
use crate::{
    budget::{Families, Family, Rate},
    cached::{Ages, Cached},
    error::{Error, SourceErrorKind},
    json::read_json,
    perpetuals::{AGES, Assembly, Exchange, Perpetuals, not_listed},
    provenance::{Clock, Sourced},
    source::{Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    text::clean,
    transport::{QUOTED_CHARS, Reply, Transport, TransportError},
    wire::{malformed, rows},
};

const FUNDING: &str = "binance.funding";
const INTERVALS: &str = "binance.funding-intervals";
const INTEREST: &str = "binance.open-interest";
const RATIO: &str = "binance.long-short";

/// The code of a symbol that does not exist.
const INVALID_SYMBOL: i64 = -1121;
/// How far a row of the list may be behind the others.
const STANDSTILL: SignedDuration = SignedDuration::from_mins(10);
const PERIOD: &str = "5m";

/// Binance futures. Clones share everything.
#[derive(Clone, Debug)]
pub struct Binance {
    source: Source,
    intervals: Cached<(), Intervals>,
    kept: Perpetuals,
    interests: Cached<String, Option<Figure>>,
}

/// Contracts that do not pay every eight hours.
type Intervals = Arc<BTreeMap<String, FundingInterval>>;

impl Binance {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "binance",
        urls: &[("base_url", "https://fapi.binance.com")],
        key: KeyRule::Keyless,
        sources: &[FUNDING, INTERVALS, INTEREST, RATIO],
        families: Families::Groups(&[
            Family {
                name: "market",
                sources: &[FUNDING, INTERVALS, INTEREST],
                rate: Rate::per_minute(400),
            },
            // For its statistics the exchange allows 1,000 requests in five minutes.
            Family {
                name: "statistics",
                sources: &[RATIO],
                rate: Rate::per(800, 300),
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
            intervals: Cached::new(1, Ages::seconds(3600, 86_400), clock.clone()),
            kept: Perpetuals::new(clock.clone()),
            interests: Cached::new(500, AGES, clock),
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
    /// funding rate and the mark price could not be read. The reading names other parts that are
    /// missing.
    pub async fn reading(
        &self,
        coin: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<VenueReading>, Error> {
        self.kept.reading(self, coin, max_age).await
    }

    /// Every perpetual against USDT with its coin: funding and mark price, without open interest,
    /// which Binance states contract by contract only.
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

    /// Open interest of the contract of `coin`, in coins.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError), or [`Error::NotFound`].
    pub async fn open_interest(
        &self,
        coin: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Option<Figure>>, Error> {
        let contract = contract_for(Venue::Binance, coin);
        let (this, name) = (self.clone(), contract.name);
        let asked = self
            .interests
            .get(coin.to_owned(), max_age, move || async move {
                this.interest(&name).await
            })
            .await?;
        let per_coin = |units: Figure| units.0.checked_mul(contract.coins).map(Figure);
        Ok(asked.map(|units| units.and_then(per_coin)))
    }
}

impl Exchange for Binance {
    async fn fetch(&self, coin: &str) -> Result<Sourced<VenueReading>, Error> {
        let contract = contract_for(Venue::Binance, coin);
        let name = contract.name.as_str();
        let funding = async {
            let (premium, intervals) = tokio::join!(self.premium(name), self.intervals(None));
            let premium = premium?;
            let intervals = self
                .fitting(intervals, std::slice::from_ref(&premium.value))
                .await;
            Ok::<_, Error>((premium, intervals))
        };
        let (funding, interest, ratio) =
            tokio::join!(funding, self.interest(name), self.ratio(name),);
        let now = self.source.now();
        let reading = VenueReading::empty(Venue::Binance, name);
        let mut assembly = Assembly::new(reading, self.source.mode(), now);
        let (premium, intervals) = funding?;
        let premium = assembly.core(premium);
        let intervals = assembly.part(Part::Funding, intervals);
        premium.fill(&mut assembly.reading, intervals.as_deref());
        if let Some(base) = assembly.part(Part::OpenInterest, interest) {
            let mark = premium.mark_price.0;
            assembly.reading.open_interest =
                base.and_then(|base| OpenInterest::from_base(base.0, Some(mark)));
        }
        assembly.reading.long_short = assembly.part(Part::LongShort, ratio).flatten();
        let mut done = assembly.done();
        done.value = done.value.per_coin(&contract);
        Ok(done)
    }

    async fn fetch_all(&self) -> Result<Sourced<Arc<Vec<CoinReading>>>, Error> {
        let ask = self.source.get(FUNDING, "/fapi/v1/premiumIndex");
        let (list, intervals) = tokio::join!(
            self.source.json::<Vec<Box<RawValue>>, Error>(ask),
            self.intervals(None),
        );
        let list = list?;
        let now = self.source.now();
        let reject_response = |kind| self.source.reject_response(FUNDING, kind);
        let read = || rows(&list.value, "$");
        let premiums: Vec<Premium> = self
            .source
            .counting(FUNDING, read)
            .map_err(reject_response)?;
        let intervals = self.fitting(intervals, &premiums).await?;
        let timed = |premium: Premium| Some((premium.time.past(now, "$[].time").ok()?, premium));
        let premiums: Vec<_> = premiums.into_iter().filter_map(timed).collect();
        let newest = premiums.iter().map(|(time, _)| *time).max();
        let stands_still =
            |time: Timestamp| newest.is_some_and(|newest| newest.duration_since(time) > STANDSTILL);
        let mut times = Vec::new();
        let mut readings = BTreeMap::new();
        for (time, premium) in premiums {
            let Some((coin, contract)) = coin_of_contract(Venue::Binance, &premium.symbol) else {
                continue;
            };
            let mut reading = VenueReading::empty(Venue::Binance, &contract.name);
            // A row that stood still while the others moved on belongs to a suspended contract: it
            // says nothing about now, and does not make the others older.
            if stands_still(time) {
                for part in [Part::Funding, Part::MarkPx] {
                    reading.lacks(part, "contract_suspended", FUNDING);
                }
                readings.insert(coin, reading);
                continue;
            }
            times.push(time);
            premium.fill(&mut reading, Some(&intervals.value));
            readings.insert(coin, reading.per_coin(&contract));
        }
        let mut sourced = Sourced {
            value: Arc::new(readings.into_iter().collect()),
            sources: list.sources,
        }
        .as_of(times.into_iter().min());
        sourced.sources.extend(intervals.sources);
        Ok(sourced)
    }
}

impl Binance {
    async fn premium(&self, name: &str) -> Result<Sourced<Premium>, Error> {
        let path = format!("/fapi/v1/premiumIndex?symbol={name}");
        let now = self.source.now();
        let ask = self.source.get(FUNDING, &path).accepts(&[400]);
        let premium: Sourced<(Premium, Timestamp)> = self
            .source
            .ask(ask, |reply| {
                listed(reply, name)?;
                let premium: Premium = read_json(&reply.body)?;
                same(&premium.symbol, name)?;
                let time = premium.time.past(now, "$.time")?;
                if premium.mark_price.0 <= readings::Decimal::ZERO {
                    let observed = premium.mark_price;
                    return Err(malformed("$.markPrice", "a price", observed).into());
                }
                Ok((premium, time))
            })
            .await?;
        let time = premium.value.1;
        Ok(premium.map(|(premium, _)| premium).as_of(Some(time)))
    }

    /// The list of funding intervals, read again when a contract's next payment contradicts it: the
    /// exchange changes intervals, and the kept list may be an hour old.
    async fn fitting(
        &self,
        kept: Result<Sourced<Intervals>, Error>,
        premiums: &[Premium],
    ) -> Result<Sourced<Intervals>, Error> {
        let kept = kept?;
        let contradicts = |premium: &Premium| premium.contradicts(&kept.value);
        match premiums.iter().any(contradicts) {
            true => self.intervals(Some(Duration::ZERO)).await,
            false => Ok(kept),
        }
    }

    /// The list of funding intervals. It only names units: rates are read with it, and its age does
    /// not count.
    async fn intervals(&self, max_age: Option<Duration>) -> Result<Sourced<Intervals>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let ask = this.source.get(INTERVALS, "/fapi/v1/fundingInfo");
            let list = this.source.json::<Vec<Exception>, Error>(ask).await?;
            // If an unreadable exception were left out, its contract would wrongly get the usual
            // interval.
            let interval = |row: Exception| {
                let interval = FundingInterval::hours(row.funding_interval_hours);
                let odd = || {
                    malformed(
                        "$[].fundingIntervalHours",
                        "1 to 24",
                        row.funding_interval_hours,
                    )
                };
                Ok((row.symbol, interval.ok_or_else(odd)?))
            };
            let read: Result<BTreeMap<_, _>, SourceErrorKind> =
                list.value.into_iter().map(interval).collect();
            let read = read.map_err(|kind| this.source.reject_response(INTERVALS, kind))?;
            Ok(Sourced {
                value: Arc::new(read),
                sources: list.sources,
            })
        };
        let intervals = self.intervals.get((), max_age, fetch).await?;
        Ok(intervals.as_reference())
    }

    async fn interest(&self, name: &str) -> Result<Sourced<Option<Figure>>, Error> {
        let path = format!("/fapi/v1/openInterest?symbol={name}");
        let now = self.source.now();
        let ask = self.source.get(INTEREST, &path).accepts(&[400]);
        let interest: Sourced<(Option<Figure>, Timestamp)> = self
            .source
            .ask(ask, |reply| {
                listed(reply, name)?;
                let interest: Interest = read_json(&reply.body)?;
                same(&interest.symbol, name)?;
                Ok((interest.open_interest, interest.time.past(now, "$.time")?))
            })
            .await?;
        let time = interest.value.1;
        Ok(interest.map(|(interest, _)| interest).as_of(Some(time)))
    }

    async fn ratio(&self, name: &str) -> Result<Sourced<Option<LongShort>>, Error> {
        let path = format!(
            "/futures/data/globalLongShortAccountRatio?symbol={name}&period={PERIOD}&limit=1"
        );
        let now = self.source.now();
        let ask = self.source.get(RATIO, &path).accepts(&[400]);
        // The reading carries the time of its period, so the period does not age the answer.
        self.source
            .ask(ask, |reply| -> Result<_, Fault<Error>> {
                listed(reply, name)?;
                let rows: Vec<Ratio> = read_json(&reply.body)?;
                let Some(row) = rows.last() else {
                    return Ok(None);
                };
                same(&row.symbol, name)?;
                let time = row.timestamp.past(now, "$[].timestamp")?;
                let (long, short) = (row.long_account.0, row.short_account.0);
                LongShort::from_shares(long, short, PERIOD, time)
                    .map(Some)
                    .ok_or_else(|| malformed("$[].longAccount", "shares of a whole", long).into())
            })
            .await
    }
}

/// Distinguishes an unknown symbol from every other refusal.
fn listed(reply: &Reply, name: &str) -> Result<(), Fault<Error>> {
    if reply.status.is_success() {
        return Ok(());
    }
    let refusal: Refusal = read_json(&reply.body)?;
    if refusal.code == INVALID_SYMBOL {
        return Err(Fault::Answer(not_listed("binance", name)));
    }
    Err(Fault::Upstream(SourceErrorKind::Business {
        code: refusal.code.to_string(),
        message: clean(&refusal.msg, QUOTED_CHARS),
    }))
}

/// Refuses an answer about another contract.
fn same(observed: &str, asked: &str) -> Result<(), SourceErrorKind> {
    if observed == asked {
        return Ok(());
    }
    Err(malformed(
        "$.symbol",
        "the contract that was asked for",
        observed,
    ))
}
