//! CoinGecko: coins by symbol with their markets and contracts, trending searches, token lists.
//!
//! Peculiarities: an unknown coin is an empty list with a success. A market cap of zero means that
//! the supply is unknown. Amounts in the trending list are text with `$` and commas. A key of the
//! free plan goes into another header and to another host than a key of a paid plan.

mod coins;
mod list;
mod trending;

use std::sync::Arc;

use readings::token::{
    coin::{Coin, Contract},
    trending::SearchedCoin,
};

use crate::{
    budget::{Families, QuotaSpec, Rate},
    cached::{Ages, Cached},
    provenance::Clock,
    source::{Ask, KeyRule, Source, SourceConfig, UpstreamSpec},
    tokens::TokenSnapshot,
    transport::{Limits, Transport, TransportError},
};

/// The host for keys of paid plans.
const PRO_URL: &str = "https://pro-api.coingecko.com";

/// CoinGecko. Clones share everything.
#[derive(Clone, Debug)]
pub struct Coingecko {
    source: Source,
    paid: bool,
    coins: Cached<String, Arc<Vec<Coin>>>,
    contracts: Cached<String, Arc<Vec<Contract>>>,
    trending: Cached<(), Arc<Vec<SearchedCoin>>>,
    list: Cached<(), TokenSnapshot>,
}

impl Coingecko {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "coingecko",
        urls: &[("base_url", "https://api.coingecko.com")],
        key: KeyRule::Optional,
        sources: &[
            coins::MARKETS,
            coins::CONTRACTS,
            trending::SOURCE,
            list::SOURCE,
        ],
        families: Families::One(Rate::per_minute(25)),
        quota: QuotaSpec::monthly(10_000),
        limits: Limits::USUAL.up_to_bytes(8 * 1024 * 1024),
        ..UpstreamSpec::DATA
    };

    /// Builds the adapter. It makes no connection yet. The option `plan = "pro"` says that the key
    /// belongs to a paid plan, which uses another host.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] when the address cannot be used.
    pub fn new(
        transport: &Transport,
        config: SourceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let paid = config.options.get("plan").is_some_and(|plan| plan == "pro");
        let config = if paid { of_paid_plan(config) } else { config };
        Ok(Self {
            source: Source::new(transport, Self::SPEC, config, clock.clone())?,
            paid,
            coins: Cached::new(2_000, Ages::seconds(60, 600).with_floor(15), clock.clone()),
            contracts: Cached::new(
                2_000,
                Ages::seconds(24 * 3600, 7 * 24 * 3600).with_floor(300),
                clock.clone(),
            ),
            trending: Cached::new(1, Ages::seconds(600, 3 * 3600), clock.clone()),
            list: Cached::new(1, Ages::seconds(6 * 3600, 24 * 3600).with_floor(300), clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    fn ask<'a>(&self, source: &'static str, path_and_query: &'a str) -> Ask<'a> {
        let header = if self.paid {
            "x-cg-pro-api-key"
        } else {
            "x-cg-demo-api-key"
        };
        self.source
            .get(source, path_and_query)
            .secret_header(header, "", self.source.api_key())
    }
}

/// Adapts the configuration to a key of a paid plan, unless an operator set the values: such a key
/// uses another host, and the default quota is that of the free plan.
fn of_paid_plan(mut config: SourceConfig) -> SourceConfig {
    config.monthly_quota = config.monthly_quota.or(Some(0));
    let url = config.urls.entry("base_url".to_owned());
    url.or_insert_with(|| PRO_URL.to_owned());
    config
}

/// Whether a path can contain the id of a coin.
fn is_slug(id: &str) -> bool {
    (1..=100).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && id.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paid_plan_has_its_host_and_no_usual_quota() {
        let usual = of_paid_plan(SourceConfig::default());
        assert_eq!(usual.urls["base_url"], PRO_URL);
        assert_eq!(usual.monthly_quota, Some(0));
        let said = SourceConfig {
            urls: [("base_url".to_owned(), "https://a.test".to_owned())].into(),
            monthly_quota: Some(500_000),
            ..SourceConfig::default()
        };
        let said = of_paid_plan(said);
        assert_eq!(said.urls["base_url"], "https://a.test");
        assert_eq!(said.monthly_quota, Some(500_000));
    }

    #[test]
    fn only_names_become_part_of_a_path() {
        for name in ["bitcoin", "usdt0", "0x", "curve-dao-token", "bridged_x.1"] {
            assert!(is_slug(name), "{name}");
        }
        for other in [
            "",
            "..",
            ".",
            "-",
            "a/b",
            "a?b",
            "a b",
            "ä",
            "%2e",
            &"a".repeat(101),
        ] {
            assert!(!is_slug(other), "{other}");
        }
    }
}
