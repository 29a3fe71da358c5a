//! Polymarket, the venue of the prediction-market rail. It reads the current market of a token from
//! the order book's server and from the market list, and both must agree.

mod market;
mod readings;

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{B256, U256};
use plan_builder::ports::{PmBuilderFee, PmMarket, PmVenue, PortError, PortErrorReason};
use serde_json::Value;

use crate::{
    budget::{Families, Family, Rate},
    error::SourceErrorKind,
    json::Json,
    provenance::Clock,
    rail::{Fault, VenueConfig},
    source::{Conduct, KeyRule, Source, SourceConfig, UpstreamSpec},
    text::clean,
    transport::{Reply, Transport, TransportError},
};

/// Public host of the order book.
pub const DEFAULT_CLOB_URL: &str = "https://clob.polymarket.com";
/// Public host of the market list.
pub const DEFAULT_GAMMA_URL: &str = "https://gamma-api.polymarket.com";

/// Ids of the sources that this adapter provides, as they appear in `/status`.
pub const SOURCES: [&str; 7] = [
    VERSION,
    TOKEN,
    MARKET,
    TICK_SIZE,
    NEG_RISK,
    BUILDER_FEES,
    GAMMA,
];

const NAME: &str = "polymarket";
const VERSION: &str = "polymarket.version";
const TOKEN: &str = "polymarket.markets-by-token";
const MARKET: &str = "polymarket.clob-markets";
const TICK_SIZE: &str = "polymarket.tick-size";
const NEG_RISK: &str = "polymarket.neg-risk";
const BUILDER_FEES: &str = "polymarket.builder-fees";
const GAMMA: &str = "polymarket.gamma";
/// The request to the list of markets for one active market.
const TRADED: &str = "/markets?limit=1&active=true&closed=false";

/// The hosts, by their keys in a configuration.
const CLOB_URL: &str = "clob_url";
const GAMMA_URL: &str = "gamma_url";

/// The budget of one address at one host. The venue's strictest limit, for the lists of markets, is
/// 300 in the same time.
const RATE: Rate = Rate::per(200, 10);

/// Longest message of the venue that is passed on.
const MAX_MESSAGE_CHARS: usize = 160;

/// How Polymarket is reached. Reading takes no key.
#[derive(Clone, Debug)]
pub struct PolymarketConfig {
    /// Base URL of the order book; a path is a prefix of every request.
    pub clob_url: String,
    /// Base URL of the market list; a path is a prefix of every request.
    pub gamma_url: String,
    /// Settings that every venue has.
    pub common: VenueConfig,
}

impl Default for PolymarketConfig {
    fn default() -> Self {
        Self {
            clob_url: DEFAULT_CLOB_URL.to_owned(),
            gamma_url: DEFAULT_GAMMA_URL.to_owned(),
            common: VenueConfig::default(),
        }
    }
}

/// Polymarket as a [`PmVenue`].
#[derive(Debug)]
pub struct Polymarket {
    source: Source,
}

impl Polymarket {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: NAME,
        urls: &[(CLOB_URL, DEFAULT_CLOB_URL), (GAMMA_URL, DEFAULT_GAMMA_URL)],
        key: KeyRule::Keyless,
        sources: &SOURCES,
        families: Families::Groups(&[
            Family {
                name: CLOB_URL,
                sources: &[VERSION, TOKEN, MARKET, TICK_SIZE, NEG_RISK, BUILDER_FEES],
                rate: RATE,
            },
            Family {
                name: GAMMA_URL,
                sources: &[GAMMA],
                rate: RATE,
            },
        ]),
        conduct: Conduct::PLANS,
        ..UpstreamSpec::DATA
    };

    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when a URL cannot be used.
    pub fn new(
        transport: &Transport,
        config: PolymarketConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let said = SourceConfig {
            urls: BTreeMap::from([
                (CLOB_URL.to_owned(), config.clob_url),
                (GAMMA_URL.to_owned(), config.gamma_url),
            ]),
            ..config.common.source()
        };
        let source = Source::limited(transport, Self::SPEC, said, config.common.limits, clock)?;
        Ok(Self { source })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// A token of any market that trades now.
    ///
    /// # Errors
    ///
    /// A [`PortError`] when the list of markets cannot be read, or is empty.
    pub async fn traded_token(&self) -> Result<U256, PortError> {
        let none = || PortErrorReason::Unknown {
            subject: "any open market".to_owned(),
        };
        self.ask_about(GAMMA, TRADED, &none, |body| {
            readings::first_token(body)?.ok_or_else(|| Fault::Answer(none()))
        })
        .await
    }

    async fn ask<T>(
        &self,
        source: &'static str,
        path: &str,
        token_id: U256,
        read: impl FnOnce(&Json<'_>) -> Result<T, Fault> + Send,
    ) -> Result<T, PortError> {
        self.ask_about(source, path, &|| unknown(token_id), read)
            .await
    }

    /// Asks, and treats a 404 of the venue itself as `not_found`.
    async fn ask_about<T>(
        &self,
        source: &'static str,
        path: &str,
        not_found: &(dyn Fn() -> PortErrorReason + Sync),
        read: impl FnOnce(&Json<'_>) -> Result<T, Fault> + Send,
    ) -> Result<T, PortError> {
        let host = match source {
            GAMMA => GAMMA_URL,
            _ => CLOB_URL,
        };
        let ask = self.source.get(source, path).at(host).accepts_any();
        self.source
            .ask_port(ask, |reply| {
                refused(reply, not_found).map_or(Ok(()), Err)?;
                read(&Json::document(&reply.body)?)
            })
            .await
    }
}

impl PmVenue for Polymarket {
    async fn market(&self, token_id: U256) -> Result<PmMarket, PortError> {
        // Taken before the first request: no part of the answer is older.
        let read_at = self.source.now_utc();
        let token_path = format!("/markets-by-token/{token_id}");
        let tick_path = format!("/tick-size?token_id={token_id}");
        let neg_risk_path = format!("/neg-risk?token_id={token_id}");
        let gamma_path = format!("/markets?clob_token_ids={token_id}");
        let (version, pair, tick_size, neg_risk, listed) = tokio::join!(
            self.ask(VERSION, "/version", token_id, |body| Ok(readings::version(
                body
            )?)),
            self.ask(TOKEN, &token_path, token_id, |body| Ok(readings::pair(
                body
            )?)),
            self.ask(TICK_SIZE, &tick_path, token_id, |body| Ok(
                readings::tick_size(body)?
            )),
            self.ask(NEG_RISK, &neg_risk_path, token_id, |body| Ok(
                readings::neg_risk(body)?
            )),
            self.ask(GAMMA, &gamma_path, token_id, |body| {
                readings::listed(body, token_id)?.ok_or_else(|| Fault::Answer(unlisted(token_id)))
            }),
        );
        // The existence of the token is judged before everything that follows from it.
        let (pair, version) = (pair?, version?);
        let (tick_size, neg_risk, listed) = (tick_size?, neg_risk?, listed?);
        let market_path = format!("/clob-markets/{:#x}", pair.condition_id);
        let book = self
            .ask(MARKET, &market_path, token_id, |body| {
                Ok(readings::book(body)?)
            })
            .await?;
        market::agreed(token_id, &pair, tick_size, neg_risk, &book, &listed).map_err(
            |dispute| {
                let reject_response = self.source.reject_response(dispute.source, dispute.kind);
                self.source.port_error(reject_response)
            },
        )?;
        Ok(PmMarket {
            version,
            condition_id: book.condition_id,
            tokens: book.tokens,
            tick_size,
            min_order_size: book.min_order_size,
            neg_risk,
            accepting_orders: book.accepting_orders && listed.accepting_orders,
            order_book: listed.order_book,
            active: listed.active,
            closed: listed.closed,
            fee_rate: book.fee_rate,
            read_at,
        })
    }

    async fn builder_fee(&self, code: B256) -> Result<PmBuilderFee, PortError> {
        let path = format!("/fees/builder-fees/{code:#x}");
        // The operator chose the code: an unknown code says nothing about the caller.
        let unknown_code = || PortErrorReason::Refused {
            detail: "the venue does not know the configured builder code".to_owned(),
        };
        self.ask_about(BUILDER_FEES, &path, &unknown_code, |body| {
            Ok(readings::builder_fee(body)?)
        })
        .await
    }
}

fn unknown(token_id: U256) -> PortErrorReason {
    PortErrorReason::Unknown {
        subject: format!("token {token_id}"),
    }
}

/// The list shows open markets only, unless the request asks for more.
fn unlisted(token_id: U256) -> PortErrorReason {
    PortErrorReason::Unknown {
        subject: format!("token {token_id} in the list of open markets"),
    }
}

/// The meaning of a status other than 2xx for the request or the venue: `{"error": "…"}`.
fn refused(reply: &Reply, not_found: &(dyn Fn() -> PortErrorReason + Sync)) -> Option<Fault> {
    let kind = reply.failure()?;
    let body: Option<Value> = serde_json::from_slice(&reply.body).ok();
    let message = body
        .as_ref()
        .and_then(|body| body.get("error")?.as_str())
        .map(|message| clean(message, MAX_MESSAGE_CHARS));
    Some(match (reply.status.as_u16(), message) {
        (404, Some(_)) => Fault::Answer(not_found()),
        (400 | 422, message) => Fault::Answer(PortErrorReason::Refused {
            detail: message.unwrap_or_else(|| kind.to_string()),
        }),
        // The venue states why it is closed.
        (503, Some(message)) => Fault::Upstream(SourceErrorKind::Business {
            code: "503".to_owned(),
            message,
        }),
        _ => Fault::Upstream(kind),
    })
}
