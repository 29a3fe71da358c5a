//! One harmless question to each venue and node, for each endpoint that the tools use.

use std::time::Duration;

use data_sources::hyperliquid::Hyperliquid;
use data_sources::lifi::Lifi;
use data_sources::polymarket::Polymarket;
use data_sources::probe::{Found, Probed, Question, Rail, Terms, probe_all};
use data_sources::{Clock, Source, SystemClock};

use super::{PRICES, Upstreams};

/// A source of prices. The tools read nothing else of it.
struct Prices<'a>(&'a dyn Probed);

impl Probed for Prices<'_> {
    fn source(&self) -> Option<&Source> {
        self.0.source()
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let mut questions = self.0.questions();
        questions.retain(|asked| asked.sources.iter().any(|source| PRICES.contains(source)));
        questions
    }
}

impl Upstreams {
    /// Probes every venue and node once, with the identities of the fee configuration. Without that
    /// configuration it probes nothing.
    pub(crate) async fn probe(&self) -> Found {
        let Some(terms) = self.terms() else {
            return Found::default();
        };
        let rails = Rails::new(self, &terms);
        probe_all(&rails.adapters(self), SystemClock.now(), &serves).await
    }

    /// Probes every venue and node at this interval.
    pub(super) async fn probe_every(&self, every: Duration) {
        let Some(terms) = self.terms() else { return };
        let rails = Rails::new(self, &terms);
        let now = || SystemClock.now();
        let probed = &self.0.probed;
        probed
            .keep(&rails.adapters(self), every, now, &serves)
            .await;
    }

    fn terms(&self) -> Option<Terms> {
        let fees = self.0.fees.get()?;
        Some(Terms {
            integrator: fees.integrator.clone(),
            fee: fees.own()?.bps,
            builder_code: fees.pm_builder_code,
            builder: fees.perp_builder.as_ref().map(|builder| builder.address),
        })
    }
}

/// The adapters whose questions depend on the terms.
struct Rails<'a> {
    lifi: Rail<'a, Lifi>,
    polymarket: Rail<'a, Polymarket>,
    hyperliquid: Rail<'a, Hyperliquid>,
    prices: [Prices<'a>; 2],
}

impl<'a> Rails<'a> {
    fn new(upstreams: &'a Upstreams, terms: &'a Terms) -> Self {
        let all = upstreams.0.as_ref();
        Self {
            lifi: Rail {
                adapter: &all.lifi,
                terms,
            },
            polymarket: Rail {
                adapter: &all.polymarket,
                terms,
            },
            hyperliquid: Rail {
                adapter: &all.hyperliquid,
                terms,
            },
            prices: [Prices(&all.defillama), Prices(&all.dexscreener)],
        }
    }

    fn adapters(&'a self, upstreams: &'a Upstreams) -> Vec<&'a dyn Probed> {
        let all = upstreams.0.as_ref();
        let mut adapters: Vec<&dyn Probed> = vec![
            &self.lifi,
            &all.circle,
            &self.polymarket,
            &self.hyperliquid,
            &all.rpc,
        ];
        adapters.extend(self.prices.iter().map(|prices| -> &dyn Probed { prices }));
        adapters
    }
}

/// The tools that a source serves, without the brand.
fn serves(source: &str) -> Vec<&'static str> {
    let upstream = source.split('.').next().unwrap_or_default();
    match upstream {
        "lifi" | "defillama" | "dexscreener" => vec!["prepare_swap"],
        "circle" => vec!["prepare_bridge"],
        "polymarket" => vec!["prepare_pm_order"],
        "hyperliquid" => vec!["prepare_perp_order"],
        "rpc" => vec!["prepare_swap", "prepare_bridge"],
        _ => Vec::new(),
    }
}
