//! One market in the form that all venues share.

use jiff::{SignedDuration, Timestamp};
use readings::{
    Figure,
    derivatives::{
        Funding, FundingInterval, Part, PerpContext, Venue, VenueReading, coin_of_contract,
    },
};

use super::MARKETS;

/// The coin of `market` and the venue's reading of it; `None` for a market that is no perpetual of
/// a coin.
pub(super) fn venue_reading(
    market: &PerpContext,
    now: Timestamp,
) -> Option<(String, VenueReading)> {
    let (coin, contract) = coin_of_contract(Venue::Hyperliquid, &market.coin)?;
    let mut reading = VenueReading::empty(Venue::Hyperliquid, &market.coin);
    reading.mark_px = market.mark.map(Figure);
    reading.open_interest = market.interest();
    match market
        .funding
        .map(|rate| Funding::new(rate, FundingInterval::HOUR, next_hour(now), MARKETS))
    {
        Some(Ok(funding)) => reading.funding = Some(funding),
        Some(Err(_)) => reading.lacks(Part::Funding, "upstream_implausible", MARKETS),
        None => reading.lacks(Part::Funding, "not_named_by_source", MARKETS),
    }
    reading.lacks(Part::LongShort, "not_published_by_venue", MARKETS);
    Some((coin, reading.per_coin(&contract)))
}

/// The venue pays on every full hour.
fn next_hour(now: Timestamp) -> Option<Timestamp> {
    let hour = SignedDuration::from_hours(1).as_secs();
    let whole = now.as_second().checked_div(hour)?.checked_add(1)?;
    Timestamp::from_second(whole.checked_mul(hour)?).ok()
}
