//! One venue's reading of one perpetual, in common units.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

use super::{Contract, Funding};
use crate::{Decimal, Figure, share_pct};

/// The decimal places of dollars.
const USD_PLACES: u32 = 2;
/// The decimal places of a ratio or a percentage.
const RATIO_PLACES: u32 = 6;

/// A venue of perpetual futures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Venue {
    /// Hyperliquid.
    Hyperliquid,
    /// Binance, margined in USDT.
    Binance,
    /// OKX, margined in USDT.
    Okx,
    /// Bybit, linear contracts.
    Bybit,
}

impl Venue {
    /// Its name in an answer.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hyperliquid => "hyperliquid",
            Self::Binance => "binance",
            Self::Okx => "okx",
            Self::Bybit => "bybit",
        }
    }
}

impl fmt::Display for Venue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One venue's perpetual of a coin. Amounts and prices are for one coin, whatever the contract's
/// size is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VenueReading {
    /// The venue.
    pub venue: Venue,
    /// The venue's name of the contract.
    pub contract: String,
    /// The funding rate.
    pub funding: Option<Funding>,
    /// Open positions.
    pub open_interest: Option<OpenInterest>,
    /// Long accounts compared with short ones, as this venue counts them.
    pub long_short: Option<LongShort>,
    /// Mark price of one coin, in dollars.
    pub mark_px: Option<Figure>,
    /// The parts that the venue did not provide.
    #[serde(skip)]
    pub missing: Vec<Missing>,
}

/// A coin, and one venue's reading of its perpetual.
pub type CoinReading = (String, VenueReading);

/// An unavailable part of a [`VenueReading`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The part.
    pub part: Part,
    /// Why it is unavailable.
    pub reason: String,
    /// The source that did not provide it.
    pub source: &'static str,
}

/// A part of a [`VenueReading`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// [`VenueReading::funding`].
    Funding,
    /// [`VenueReading::open_interest`].
    OpenInterest,
    /// [`VenueReading::long_short`].
    LongShort,
    /// [`VenueReading::mark_px`].
    MarkPx,
}

impl Part {
    /// The member's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Funding => "funding",
            Self::OpenInterest => "open_interest",
            Self::LongShort => "long_short",
            Self::MarkPx => "mark_px",
        }
    }
}

/// The open positions. Each is counted once, and not once for each side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenInterest {
    /// The open interest in coins.
    pub base: Option<Figure>,
    /// The open interest in dollars.
    pub usd: Option<Figure>,
}

/// Long accounts compared with short ones. Venues count differently, so ratios of two venues are
/// never averaged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LongShort {
    /// How many long accounts there are for each short account.
    pub accounts_ratio: Figure,
    /// The share of long accounts, from 0 to 100.
    pub long_pct: Figure,
    /// The share of short accounts, from 0 to 100.
    pub short_pct: Figure,
    /// The period that was counted, in the venue's words.
    pub period: &'static str,
    /// When that period ended.
    pub as_of: Timestamp,
}

impl VenueReading {
    /// Makes a reading of `contract` that has no part yet.
    #[must_use]
    pub fn empty(venue: Venue, contract: &str) -> Self {
        Self {
            venue,
            contract: contract.to_owned(),
            funding: None,
            open_interest: None,
            long_short: None,
            mark_px: None,
            missing: Vec::new(),
        }
    }

    /// Converts a reading for one unit of `contract` into one for one coin.
    #[must_use]
    pub fn per_coin(mut self, contract: &Contract) -> Self {
        if contract.coins == Decimal::ONE {
            return self;
        }
        self.mark_px = self
            .mark_px
            .and_then(|mark| mark.0.checked_div(contract.coins))
            .map(Figure);
        if let Some(interest) = &mut self.open_interest {
            interest.base = interest
                .base
                .and_then(|base| base.0.checked_mul(contract.coins))
                .map(Figure);
        }
        self
    }

    /// Adds a part that is unavailable.
    pub fn lacks(&mut self, part: Part, reason: impl Into<String>, source: &'static str) {
        self.missing.push(Missing {
            part,
            reason: reason.into(),
            source,
        });
    }

    /// Open interest in dollars, if it is known.
    #[must_use]
    pub fn open_interest_usd(&self) -> Option<Decimal> {
        Some(self.open_interest.as_ref()?.usd?.0)
    }
}

impl OpenInterest {
    /// Makes an open interest from coins, valued at `mark`. `None` when it is negative.
    #[must_use]
    pub fn from_base(base: Decimal, mark: Option<Decimal>) -> Option<Self> {
        let usd = mark.and_then(|mark| base.checked_mul(mark));
        Self::stated(Some(base), usd)
    }

    /// Makes an open interest from a venue's figures in both units. `None` when it states neither,
    /// or one below zero.
    #[must_use]
    pub fn stated(base: Option<Decimal>, usd: Option<Decimal>) -> Option<Self> {
        let negative =
            |amount: &Option<Decimal>| amount.is_some_and(|a| a.is_sign_negative() && !a.is_zero());
        if (base.is_none() && usd.is_none()) || negative(&base) || negative(&usd) {
            return None;
        }
        Some(Self {
            base: base.map(Figure),
            usd: usd.map(|usd| Figure(usd.round_dp(USD_PLACES))),
        })
    }
}

impl LongShort {
    /// Makes a reading from the number of long accounts for each short account. `None` below zero.
    #[must_use]
    pub fn from_ratio(ratio: Decimal, period: &'static str, as_of: Timestamp) -> Option<Self> {
        if ratio.is_sign_negative() && !ratio.is_zero() {
            return None;
        }
        let long = share_pct(ratio, ratio.checked_add(Decimal::ONE)?)?;
        Self::new(ratio, long, period, as_of)
    }

    /// Makes a reading from the shares of long and short accounts, from 0 to 1. `None` when their
    /// sum is not 1.
    #[must_use]
    pub fn from_shares(
        long: Decimal,
        short: Decimal,
        period: &'static str,
        as_of: Timestamp,
    ) -> Option<Self> {
        let slack = Decimal::new(1, 2);
        let whole = long.checked_add(short)?;
        let off = whole.checked_sub(Decimal::ONE)?.abs();
        if long.is_sign_negative() || short.is_sign_negative() || off > slack {
            return None;
        }
        Self::new(
            long.checked_div(short)?,
            share_pct(long, whole)?,
            period,
            as_of,
        )
    }

    fn new(ratio: Decimal, long: Decimal, period: &'static str, as_of: Timestamp) -> Option<Self> {
        let long = long.round_dp(RATIO_PLACES);
        Some(Self {
            accounts_ratio: Figure(ratio.round_dp(RATIO_PLACES)),
            long_pct: Figure(long),
            short_pct: Figure(Decimal::ONE_HUNDRED.checked_sub(long)?),
            period,
            as_of,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derivatives::contract_for;

    fn of(text: &str) -> Decimal {
        text.parse::<Figure>().unwrap().0
    }

    #[test]
    fn open_interest_is_read_in_either_unit() {
        let base = OpenInterest::from_base(of("27533.12"), Some(of("97221"))).unwrap();
        assert_eq!(base.usd.unwrap().to_string(), "2676797459.52");
        let unpriced = OpenInterest::from_base(of("5"), None).unwrap();
        assert_eq!(
            (unpriced.base.unwrap().to_string().as_str(), unpriced.usd),
            ("5", None)
        );
        assert_eq!(OpenInterest::from_base(of("-1"), None), None);
        assert_eq!(OpenInterest::stated(None, None), None);
        assert_eq!(OpenInterest::stated(Some(of("1")), Some(of("-1"))), None);
        assert!(OpenInterest::stated(Some(of("0")), None).is_some());
        // The amount is too large to be valued, but is known in coins.
        let huge = OpenInterest::from_base(Decimal::MAX, Some(of("2"))).unwrap();
        assert_eq!(huge.usd, None);
    }

    #[test]
    fn ratios_and_shares_agree() {
        let now = Timestamp::UNIX_EPOCH;
        let ratio = LongShort::from_ratio(of("0.25"), "5m", now).unwrap();
        let shares = LongShort::from_shares(of("0.2"), of("0.8"), "5m", now).unwrap();
        assert_eq!(ratio, shares);
        assert_eq!(
            (
                ratio.long_pct.to_string().as_str(),
                ratio.short_pct.to_string().as_str()
            ),
            ("20", "80")
        );
        // The shares are percentages, do not add up, or have no short account.
        for (long, short) in [
            ("45.58", "54.42"),
            ("0.3", "0.3"),
            ("1", "0"),
            ("-0.1", "1.1"),
        ] {
            assert_eq!(
                LongShort::from_shares(of(long), of(short), "1h", now),
                None,
                "{long} {short}"
            );
        }
        assert_eq!(LongShort::from_ratio(of("-0.5"), "5m", now), None);
    }

    #[test]
    fn a_price_of_a_thousand_coins_becomes_one_of_a_coin() {
        let contract = contract_for(Venue::Hyperliquid, "PEPE");
        let mut reading = VenueReading::empty(Venue::Hyperliquid, "kPEPE");
        reading.mark_px = Some(Figure(of("0.0052")));
        reading.open_interest = OpenInterest::from_base(of("1000000"), Some(of("0.0052")));
        let reading = reading.per_coin(&contract);
        assert_eq!(reading.mark_px.unwrap().to_string(), "0.0000052");
        let interest = reading.open_interest.unwrap();
        assert_eq!(interest.base.unwrap().to_string(), "1000000000");
        assert_eq!(interest.usd.unwrap().to_string(), "5200");
    }
}
