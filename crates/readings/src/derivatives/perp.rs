//! Markets of Hyperliquid's perpetuals dexes, as the venue states them and as an answer shows them.

use serde::Serialize;

use super::{Funding, FundingInterval, OpenInterest};
use crate::{Decimal, Figure, percent_change};

/// The decimal places of a change in percent.
const PCT_PLACES: u32 = 4;

/// The venue's data about one market. Funding is for an hour, and open interest is in coins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerpContext {
    /// The coin. For dexes of other deployers, the dex is a prefix: `xyz:TSLA`.
    pub coin: String,
    /// The dex. Empty for the venue's own.
    pub dex: String,
    /// Highest leverage.
    pub max_leverage: u32,
    /// Whether it is no longer traded.
    pub delisted: bool,
    /// Mark price in dollars.
    pub mark: Option<Decimal>,
    /// The middle of the book. Absent when one side is empty.
    pub mid: Option<Decimal>,
    /// Price of the oracle.
    pub oracle: Option<Decimal>,
    /// Mark price a day ago.
    pub previous_day: Option<Decimal>,
    /// The funding rate for an hour, as a fraction.
    pub funding: Option<Decimal>,
    /// Open interest in coins.
    pub open_interest: Option<Decimal>,
    /// The turnover of 24 hours, in dollars.
    pub volume_24h: Option<Decimal>,
}

/// A market in the form of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PerpMarket {
    /// The coin, with its dex as a prefix.
    pub coin: String,
    /// The dex. Empty for the venue's own.
    pub dex: String,
    /// Mark price in dollars.
    pub mark: Option<Figure>,
    /// The middle of the book. `null` when one side is empty.
    pub mid: Option<Figure>,
    /// Price of the oracle.
    pub oracle: Option<Figure>,
    /// The funding for an hour, as a fraction.
    pub funding_rate_1h: Option<Figure>,
    /// The funding for a year without compounding, in percent.
    pub funding_apr_pct: Option<Figure>,
    /// Open interest in coins.
    pub open_interest_base: Option<Figure>,
    /// Open interest at the mark price.
    pub open_interest_usd: Option<Figure>,
    /// The turnover of 24 hours, in dollars.
    pub volume_24h_usd: Option<Figure>,
    /// Change of the mark price in 24 hours.
    pub change_24h_pct: Option<Figure>,
    /// Highest leverage.
    pub max_leverage: u32,
    /// Whether it is no longer traded. Its prices are then the last ones, and not those of today.
    pub delisted: bool,
}

impl PerpContext {
    /// Returns the funding rate. `None` when it is missing or not credible.
    #[must_use]
    pub fn hourly_funding(&self, source: &'static str) -> Option<Funding> {
        Funding::new(self.funding?, FundingInterval::HOUR, None, source).ok()
    }

    /// Change of the mark price in a day, in percent.
    #[must_use]
    pub fn change_24h_pct(&self) -> Option<Decimal> {
        Some(percent_change(self.previous_day?, self.mark?)?.round_dp(PCT_PLACES))
    }

    /// Open interest in coins and at the mark price.
    #[must_use]
    pub fn interest(&self) -> Option<OpenInterest> {
        OpenInterest::from_base(self.open_interest?, self.mark)
    }
}

impl From<&PerpContext> for PerpMarket {
    fn from(context: &PerpContext) -> Self {
        let funding = context.hourly_funding("");
        let interest = context.interest();
        Self {
            coin: context.coin.clone(),
            dex: context.dex.clone(),
            mark: context.mark.map(Figure),
            mid: context.mid.map(Figure),
            oracle: context.oracle.map(Figure),
            funding_rate_1h: funding.as_ref().map(|funding| funding.rate),
            funding_apr_pct: funding.map(|funding| funding.apr_pct),
            open_interest_base: interest.as_ref().and_then(|interest| interest.base),
            open_interest_usd: interest.and_then(|interest| interest.usd),
            volume_24h_usd: context.volume_24h.map(Figure),
            change_24h_pct: context.change_24h_pct().map(Figure),
            max_leverage: context.max_leverage,
            delisted: context.delisted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_the_answer() {
        let of = |text: &str| text.parse::<Figure>().ok().map(Figure::get);
        let context = PerpContext {
            coin: "BTC".to_owned(),
            mark: of("97221"),
            previous_day: of("96012"),
            funding: of("0.0000125"),
            open_interest: of("27533.12"),
            max_leverage: 40,
            ..PerpContext::default()
        };
        let market = serde_json::to_value(PerpMarket::from(&context)).unwrap();
        let expected = serde_json::json!({
            "coin": "BTC", "dex": "", "mark": "97221", "mid": null, "oracle": null,
            "funding_rate_1h": "0.0000125", "funding_apr_pct": "10.95",
            "open_interest_base": "27533.12", "open_interest_usd": "2676797459.52",
            "volume_24h_usd": null, "change_24h_pct": "1.2592", "max_leverage": 40, "delisted": false,
        });
        assert_eq!(market, expected);
    }

    #[test]
    fn an_absent_value_is_unknown() {
        let market = PerpMarket::from(&PerpContext::default());
        let known = [
            market.mark,
            market.funding_rate_1h,
            market.funding_apr_pct,
            market.open_interest_base,
            market.open_interest_usd,
            market.volume_24h_usd,
            market.change_24h_pct,
        ];
        assert_eq!(known, [None; 7]);
        let wild = PerpContext {
            funding: Some(Decimal::ONE_HUNDRED),
            previous_day: Some(Decimal::ZERO),
            mark: Some(Decimal::ONE),
            ..PerpContext::default()
        };
        let market = PerpMarket::from(&wild);
        assert_eq!(
            (market.funding_rate_1h, market.change_24h_pct),
            (None, None)
        );
    }
}
