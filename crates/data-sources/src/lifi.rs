//! LI.FI, the aggregator of the swap rail: `GET /quote` for a swap on one chain.
//!
//! A quote carries a transaction, so none is ever kept. This module checks the form only. The
//! checks of the plan compare the quote with the request.

mod failure;
mod quote;

use std::{collections::BTreeMap, sync::Arc};

use calldata_checks::{BasisPoints, Decimal};
use plan_builder::ports::{PortError, SwapAsk, SwapQuote, SwapQuotes};
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use url::form_urlencoded;

use crate::{
    budget::{Families, Rate},
    json::Json,
    provenance::Clock,
    rail::VenueConfig,
    source::{Conduct, KeyRule, Source, SourceConfig, UpstreamSpec},
    transport::{Limits, Transport, TransportError},
};

/// LI.FI's public interface, with its version.
pub const DEFAULT_BASE_URL: &str = "https://li.quest/v1";

/// Ids of the sources that this adapter provides, as they appear in `/status`.
pub const SOURCES: [&str; 1] = [SOURCE];

const NAME: &str = "lifi";
const SOURCE: &str = "lifi.quote";
/// The budget of quotes without a key. LI.FI allows one address 75 in any two hours, and then
/// refuses every request of it.
const KEYLESS: Rate = Rate::per(70, 7_200);
/// The budget of quotes with a key. LI.FI allows 100 in a minute.
const WITH_KEY: Rate = Rate::per_minute(90);
const API_KEY: &str = "x-lifi-api-key";
/// Time and tries of a call: 10 s, because a quote asks several exchanges; and two tries, because
/// each counts against a limit of 75 in two hours.
const LIMITS: Limits = Limits {
    attempts: 2,
    ..Limits::USUAL.within_seconds(10)
};

/// How LI.FI is reached.
#[derive(Clone, Debug)]
pub struct LifiConfig {
    /// Its base URL; a path is a prefix of every request.
    pub base_url: String,
    /// A key raises the rate limit; without one the interface is open.
    pub api_key: Option<SecretString>,
    /// Settings that every venue has.
    pub common: VenueConfig,
}

impl Default for LifiConfig {
    fn default() -> Self {
        Self {
            base_url: DEFAULT_BASE_URL.to_owned(),
            api_key: None,
            common: VenueConfig {
                limits: LIMITS,
                ..VenueConfig::default()
            },
        }
    }
}

impl From<SourceConfig> for LifiConfig {
    fn from(said: SourceConfig) -> Self {
        let mut config = Self::default();
        config.common.take(&said);
        if let Some(url) = said.urls.get("base_url") {
            config.base_url.clone_from(url);
        }
        config.api_key = said.api_key;
        config
    }
}

/// LI.FI as a provider of [`SwapQuotes`].
#[derive(Debug)]
pub struct Lifi {
    source: Source,
}

impl Lifi {
    /// The addresses of LI.FI, and its limits without a key.
    pub const SPEC: &'static UpstreamSpec = &spec(KEYLESS);
    /// The addresses of LI.FI, and its limits with a key.
    pub const SPEC_WITH_KEY: &'static UpstreamSpec = &spec(WITH_KEY);

    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when the base URL cannot be used, [`TransportError::Key`] when
    /// the key cannot be sent.
    pub fn new(
        transport: &Transport,
        config: LifiConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let sendable = |key: &SecretString| HeaderValue::from_str(key.expose_secret()).is_ok();
        if !config.api_key.as_ref().is_none_or(sendable) {
            return Err(TransportError::Key);
        }
        let spec = match config.api_key {
            Some(_) => Self::SPEC_WITH_KEY,
            None => Self::SPEC,
        };
        let said = SourceConfig {
            urls: BTreeMap::from([("base_url".to_owned(), config.base_url)]),
            api_key: config.api_key,
            ..config.common.source()
        };
        let source = Source::limited(transport, spec, said, config.common.limits, clock)?;
        Ok(Self { source })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }
}

impl SwapQuotes for Lifi {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        let path = format!("/quote?{}", query(ask));
        let ask = self
            .source
            .get(SOURCE, &path)
            .secret_header(API_KEY, "", self.source.api_key());
        let read_at = self.source.now_utc();
        self.source
            .ask_port(ask.accepts_any(), |reply| {
                if let Some(fault) = failure::of(reply) {
                    return Err(fault);
                }
                Ok(quote::read(&Json::document(&reply.body)?, NAME, read_at)?)
            })
            .await
    }
}

const fn spec(rate: Rate) -> UpstreamSpec {
    UpstreamSpec {
        name: NAME,
        urls: &[("base_url", DEFAULT_BASE_URL)],
        key: KeyRule::Optional,
        sources: &SOURCES,
        families: Families::One(rate),
        limits: LIMITS,
        conduct: Conduct::PLANS,
        ..UpstreamSpec::DATA
    }
}

/// The parameters of a swap that stays on one chain.
fn query(ask: &SwapAsk) -> String {
    let chain = ask.chain_id.to_string();
    let mut query = form_urlencoded::Serializer::new(String::new());
    query
        .append_pair("fromChain", &chain)
        .append_pair("toChain", &chain)
        .append_pair("fromToken", &format!("{:#x}", ask.from_token))
        .append_pair("toToken", &format!("{:#x}", ask.to_token))
        .append_pair("fromAddress", &format!("{:#x}", ask.account))
        .append_pair("toAddress", &format!("{:#x}", ask.account))
        .append_pair("fromAmount", &ask.from_amount.to_string())
        .append_pair("slippage", &fraction(ask.max_slippage))
        .append_pair("integrator", &ask.integrator)
        .append_pair("allowBridges", "none")
        .append_pair("allowDestinationCall", "false");
    for (name, tools) in [
        ("allowExchanges", &ask.allow_tools),
        ("denyExchanges", &ask.deny_tools),
    ] {
        for tool in tools {
            query.append_pair(name, tool);
        }
    }
    if let Some(most) = ask.max_price_impact {
        query.append_pair("maxPriceImpact", &fraction(most));
    }
    if ask.fee.get() != 0 {
        query.append_pair("fee", &fraction(ask.fee));
    }
    query.finish()
}

/// Basis points as the exact fraction of one that LI.FI expects: 50 is `0.005`.
fn fraction(bps: BasisPoints) -> String {
    // Four digits always fit.
    Decimal::new(u128::from(bps.get()), 4).map_or_else(|_| String::new(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, U256};

    use super::*;

    #[test]
    fn fractions_are_exact() {
        for (bps, text) in [
            (0, "0"),
            (1, "0.0001"),
            (30, "0.003"),
            (50, "0.005"),
            (100, "0.01"),
            (1234, "0.1234"),
            (10_000, "1"),
        ] {
            assert_eq!(fraction(BasisPoints::new(bps).unwrap()), text);
        }
    }

    #[test]
    fn a_query_says_everything_and_escapes_it() {
        let mut ask = SwapAsk {
            chain_id: 8453,
            from_token: Address::repeat_byte(0xaa),
            to_token: Address::repeat_byte(0xbb),
            from_amount: U256::MAX,
            account: Address::repeat_byte(0xcc),
            max_slippage: BasisPoints::new(50).unwrap(),
            integrator: "svc&fee=0.1 #ü".to_owned(),
            fee: BasisPoints::new(30).unwrap(),
            allow_tools: Vec::new(),
            deny_tools: Vec::new(),
            max_price_impact: None,
        };
        let account = format!("0x{}", "cc".repeat(20));
        assert_eq!(
            query(&ask),
            format!(
                "fromChain=8453&toChain=8453&fromToken=0x{}&toToken=0x{}&fromAddress={account}&toAddress={account}\
                 &fromAmount={}&slippage=0.005&integrator=svc%26fee%3D0.1+%23%C3%BC&allowBridges=none\
                 &allowDestinationCall=false&fee=0.003",
                "aa".repeat(20),
                "bb".repeat(20),
                U256::MAX,
            )
        );
        ask.fee = BasisPoints::new(0).unwrap();
        assert!(!query(&ask).contains("&fee="));

        // Lists are repeated members, as LI.FI's OpenAPI document has them.
        ask.allow_tools = vec!["0x".to_owned(), "kyberswap".to_owned()];
        ask.deny_tools = vec!["bebop".to_owned()];
        ask.max_price_impact = BasisPoints::new(300);
        assert!(query(&ask).ends_with(
            "&allowDestinationCall=false&allowExchanges=0x&allowExchanges=kyberswap&denyExchanges=bebop&maxPriceImpact=0.03"
        ));
    }
}
