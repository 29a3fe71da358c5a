//! LI.FI, the aggregator of the swap rail: `GET /quote` for a swap on one chain.
//!
//! A quote carries a transaction, so none is ever kept. Nothing is judged here but form: what the
//! quote says is compared with the request by the checks of the plan.

mod failure;
mod quote;

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use plan_builder::ports::{PortError, SwapAsk, SwapQuote, SwapQuotes};
use plan_checks::{BasisPoints, Decimal};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use url::form_urlencoded;

use crate::{
    adapter::{Adapter, Setting, USUAL_HOLD},
    budget::{BudgetState, Rate},
    json::Json,
    provenance::{Clock, Mode},
    transport::{Call, Limits, SourceHealth, Transport, TransportError},
};

/// LI.FI's public interface, with its version.
pub const DEFAULT_BASE_URL: &str = "https://li.quest/v1";

/// Ids of the sources this adapter provides, as they appear in `/status`.
pub const SOURCES: [&str; 1] = [SOURCE];

const NAME: &str = "lifi";
const SOURCE: &str = "lifi.quote";
/// Quotes of one address: LI.FI allows 75 in any two hours, and beyond them answers nobody there.
const KEYLESS: Rate = Rate::per(70, 7_200);
/// Quotes with a key: LI.FI allows 100 in a minute.
const WITH_KEY: Rate = Rate::per_minute(90);
const API_KEY: HeaderName = HeaderName::from_static("x-lifi-api-key");

/// How LI.FI is reached.
#[derive(Clone, Debug)]
pub struct LifiConfig {
    /// Where it is; a path is a prefix of every request.
    pub base_url: String,
    /// A key raises the rate limit; without one the interface is open.
    pub api_key: Option<SecretString>,
    /// Whether it may be asked at all.
    pub enabled: bool,
    /// Whether `base_url` is the upstream or a recording of it.
    pub mode: Mode,
    /// Time, size and tries of a call. A rate limit is never waited for.
    pub limits: Limits,
    /// How many servers ask from the same address: each takes its share of the budget.
    pub servers: NonZeroU32,
}

impl Default for LifiConfig {
    /// 10 s and two tries: a quote asks several exchanges, and each one counts against a limit of
    /// 75 in two hours.
    fn default() -> Self {
        Self {
            base_url: DEFAULT_BASE_URL.to_owned(),
            api_key: None,
            enabled: true,
            mode: Mode::Live,
            limits: Limits {
                timeout: Duration::from_secs(10),
                attempts: 2,
                ..Limits::default()
            },
            servers: NonZeroU32::MIN,
        }
    }
}

/// LI.FI as a provider of [`SwapQuotes`].
#[derive(Debug)]
pub struct Lifi {
    adapter: Adapter,
    headers: HeaderMap,
}

impl Lifi {
    /// Connects nothing yet: reads the configuration and keeps the client.
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
        let mut headers = HeaderMap::new();
        if let Some(key) = &config.api_key {
            let mut value =
                HeaderValue::from_str(key.expose_secret()).map_err(|_| TransportError::Key)?;
            value.set_sensitive(true);
            headers.insert(API_KEY, value);
        }
        let rate = match config.api_key {
            Some(_) => WITH_KEY,
            None => KEYLESS,
        };
        let setting = Setting {
            name: NAME,
            enabled: config.enabled,
            budget: Some((rate, config.servers)),
            lockout: Duration::ZERO,
            usual_hold: USUAL_HOLD,
            clock,
        };
        let upstream = transport.upstream(&config.base_url, config.limits, config.mode)?;
        Ok(Self {
            adapter: Adapter::new(upstream, NAME, setting),
            headers,
        })
    }

    /// Whether calls are made to the upstream or to a recording.
    pub fn mode(&self) -> Mode {
        self.adapter.mode()
    }

    /// How each of [`SOURCES`] has been doing.
    pub fn health(&self) -> Vec<SourceHealth> {
        self.adapter.health(&SOURCES)
    }

    /// What is left of what we may ask it: quotes in two hours, or in a minute with a key. Nothing for a recording.
    pub fn budget(&self) -> Vec<BudgetState> {
        self.adapter.budget().into_iter().collect()
    }
}

impl SwapQuotes for Lifi {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        let path = format!("/quote?{}", query(ask));
        let call = Call::get(SOURCE, &path);
        let read_at = self.adapter.now_utc();
        self.adapter
            .ask(&call, &self.headers, |reply| {
                if let Some(fault) = failure::of(reply) {
                    return Err(fault);
                }
                Ok(quote::read(&Json::document(&reply.body)?, NAME, read_at)?)
            })
            .await
    }
}

/// The parameters of a swap on one chain that goes nowhere else on its way.
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
    if ask.fee.get() != 0 {
        query.append_pair("fee", &fraction(ask.fee));
    }
    query.finish()
}

/// Basis points as the exact fraction of one that LI.FI takes: 50 is `0.005`.
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
    }
}
