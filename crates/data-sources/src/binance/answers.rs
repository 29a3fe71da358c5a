//! The bodies of the exchange's answers.

use std::collections::BTreeMap;

use readings::{
    Figure,
    derivatives::{Funding, FundingInterval, Part, VenueReading},
};
use serde::Deserialize;

use super::{FUNDING, INTERVALS};
use crate::wire::Millis;

#[derive(Deserialize)]
pub(super) struct Refusal {
    pub(super) code: i64,
    #[serde(default)]
    pub(super) msg: String,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Premium {
    pub(super) symbol: String,
    pub(super) mark_price: Figure,
    #[serde(default, deserialize_with = "Figure::or_none")]
    pub(super) last_funding_rate: Option<Figure>,
    pub(super) next_funding_time: Millis,
    pub(super) time: Millis,
}

impl Premium {
    /// The interval of the contract, by the list of exceptions.
    fn interval(&self, exceptions: &BTreeMap<String, FundingInterval>) -> FundingInterval {
        let listed = exceptions.get(&self.symbol).copied();
        listed.unwrap_or(FundingInterval::EIGHT_HOURS)
    }

    /// Whether the list of exceptions contradicts the contract's next payment.
    pub(super) fn contradicts(&self, exceptions: &BTreeMap<String, FundingInterval>) -> bool {
        let times = self.next_funding_time.0.zip(self.time.0);
        times.is_some_and(|(next, time)| !self.interval(exceptions).fits(next, time))
    }

    pub(super) fn fill(
        &self,
        reading: &mut VenueReading,
        intervals: Option<&BTreeMap<String, FundingInterval>>,
    ) {
        reading.mark_px = Some(self.mark_price);
        // Without the list of exceptions the interval of the rate is unknown, so the rate is left
        // out. The reading already names the missing list.
        let Some(intervals) = intervals else { return };
        if self.contradicts(intervals) {
            return reading.lacks(
                Part::Funding,
                "funding_interval_contradicts_next_payment",
                INTERVALS,
            );
        }
        let interval = self.interval(intervals);
        let Some(rate) = self.last_funding_rate else {
            return reading.lacks(Part::Funding, "not_named_by_source", FUNDING);
        };
        match Funding::new(rate.0, interval, self.next_funding_time.0, FUNDING) {
            Ok(funding) => reading.funding = Some(funding),
            Err(_) => reading.lacks(Part::Funding, "upstream_implausible", FUNDING),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Exception {
    pub(super) symbol: String,
    pub(super) funding_interval_hours: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Interest {
    pub(super) symbol: String,
    #[serde(default, deserialize_with = "Figure::or_none")]
    pub(super) open_interest: Option<Figure>,
    pub(super) time: Millis,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ratio {
    pub(super) symbol: String,
    pub(super) long_account: Figure,
    pub(super) short_account: Figure,
    pub(super) timestamp: Millis,
}
