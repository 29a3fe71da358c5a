//! `POST /info`: the one endpoint for plans and readings, under one budget.

use crate::{
    budget::{Families, Rate},
    source::{Ask, Conduct, KeyRule, Source, UpstreamSpec},
    transport::{Limits, Weigh},
};

/// Hyperliquid's public host.
pub const DEFAULT_BASE_URL: &str = "https://api.hyperliquid.xyz";

/// Weight that we use in a minute from one address; the venue allows 1,200.
pub(crate) const RATE: Rate = Rate::per_minute(1_100);

/// The weight that the venue counts for a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    /// The call's greatest possible weight, charged before the call.
    pub(crate) most: u32,
    /// Computes the real weight from the answer.
    pub(crate) of: Option<Weigh>,
}

impl Weight {
    const fn fixed(weight: u32) -> Self {
        Self {
            most: weight,
            of: None,
        }
    }
}

/// Weight of books, accounts and mids.
pub(crate) const LIGHT: Weight = Weight::fixed(2);
/// Weight of most calls.
pub(crate) const USUAL: Weight = Weight::fixed(20);
/// Weight of a role request.
pub(crate) const HEAVY: Weight = Weight::fixed(60);
/// Weight of a request for candles: 20, and 1 for every 60 candles.
pub(crate) const CANDLES: Weight = Weight::fixed(22);

/// The description of the venue for a server that reads `sources`.
pub(crate) const fn spec(
    sources: &'static [&'static str],
    limits: Limits,
    conduct: Conduct,
) -> UpstreamSpec {
    UpstreamSpec {
        name: "hyperliquid",
        urls: &[("base_url", DEFAULT_BASE_URL)],
        key: KeyRule::Keyless,
        sources,
        families: Families::One(RATE),
        limits,
        conduct,
        ..UpstreamSpec::DATA
    }
}

/// Starts a call.
pub(crate) fn ask<'a>(
    venue: &Source,
    source: &'static str,
    body: &'a str,
    weight: Weight,
) -> Ask<'a> {
    venue
        .post(source, "/info", body)
        .weighing(weight.most)
        .weighed_by(weight.of)
}
