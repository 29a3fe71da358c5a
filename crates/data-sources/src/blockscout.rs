//! Blockscout: token balances, one explorer for each chain that has one.
//!
//! An explorer lags behind its chain and lists no native coin. A caller that needs the present
//! balance asks a node.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use alloy_primitives::Address;
use readings::{
    Figure,
    portfolio::{Asset, Holding, Risk},
};
use serde::Deserialize;

use crate::{
    budget::{Families, Rate},
    cached::{Ages, Cached},
    error::{Error, SourceError, SourceErrorKind},
    json::read_json,
    provenance::{Clock, Sourced},
    source::{Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    text::clean,
    transport::{Limits, Transport, TransportError},
};

const TOKEN_BALANCES: &str = "blockscout.token-balances";
/// Most rows that are read.
const MAX_ROWS: usize = 2_000;
const MAX_SYMBOL_CHARS: usize = 32;
/// The most decimals that are believed: more than any token has.
const MAX_DECIMALS: u8 = 36;

/// The same account is not asked for again within this time.
const FLOOR: Duration = Duration::from_secs(5);
/// How many accounts are kept, each of one chain: as many as an explorer's budget allows at once.
const KEPT: usize = 128;

/// Blockscout: token balances, from one explorer for each chain that has one. Clones share
/// everything.
#[derive(Clone, Debug)]
pub struct Blockscout {
    source: Source,
    tokens: Cached<(u64, Address), Vec<Holding>>,
}

impl Blockscout {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "blockscout",
        urls: &[
            ("base_url", "https://base.blockscout.com"),
            ("ethereum_url", "https://eth.blockscout.com"),
            ("optimism_url", "https://explorer.optimism.io"),
            ("polygon_url", "https://polygon.blockscout.com"),
            ("arbitrum_url", "https://arbitrum.blockscout.com"),
            ("zksync_url", "https://zksync.blockscout.com"),
            ("linea_url", "https://api-explorer.linea.build"),
            ("scroll_url", "https://scroll.blockscout.com"),
        ],
        key: KeyRule::Keyless,
        sources: &[TOKEN_BALANCES],
        families: Families::EachAddress(Rate::per_minute(120)),
        limits: Limits::USUAL.up_to_bytes(8 * 1024 * 1024),
        ..UpstreamSpec::DATA
    };

    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] when an address cannot be used.
    pub fn new(
        transport: &Transport,
        config: SourceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        Ok(Self {
            source: Source::new(transport, Self::SPEC, config, clock.clone())?,
            tokens: Cached::new(KEPT, Ages::floor(FLOOR), clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether there is an explorer for a chain.
    #[must_use]
    pub fn covers(chain_id: u64) -> bool {
        url(chain_id).is_some()
    }

    /// The fungible tokens that an account has, as the explorer of a chain has indexed them; the
    /// native coin is not among them. An account that the explorer never saw has none. A repeated
    /// request within five seconds gets the same answer, with its age.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when the explorer cannot answer, or the chain has none.
    pub async fn tokens(
        &self,
        chain_id: u64,
        account: Address,
    ) -> Result<Sourced<Vec<Holding>>, Error> {
        let Some(url) = url(chain_id) else {
            let kind = SourceErrorKind::Disabled {
                reason: "no explorer of this chain",
            };
            let source = TOKEN_BALANCES;
            return Err(SourceError { source, kind }.into());
        };
        let this = self.clone();
        let fetch = move || async move { this.read_tokens(url, account).await };
        self.tokens.get((chain_id, account), None, fetch).await
    }

    async fn read_tokens(
        &self,
        url: &'static str,
        account: Address,
    ) -> Result<Sourced<Vec<Holding>>, Error> {
        let path = format!(
            "/api/v2/addresses/{}/token-balances",
            account.to_checksum(None)
        );
        let ask = self
            .source
            .get(TOKEN_BALANCES, &path)
            .at(url)
            .accepts(&[404]);
        self.source
            .ask(ask, |reply| {
                if reply.status.as_u16() == 404 {
                    let unknown: NotFound = read_json(&reply.body)?;
                    return match unknown.message.as_str() {
                        "Not found" => Ok(Vec::new()),
                        _ => Err(Fault::<Error>::Upstream(SourceErrorKind::HttpStatus {
                            status: 404,
                            code: None,
                        })),
                    };
                }
                let rows: Vec<Row> = read_json(&reply.body)?;
                Ok(holdings(rows)?)
            })
            .await
    }
}

/// The address of a chain's explorer, by its key.
fn url(chain_id: u64) -> Option<&'static str> {
    Some(match chain_id {
        1 => "ethereum_url",
        10 => "optimism_url",
        137 => "polygon_url",
        324 => "zksync_url",
        8453 => "base_url",
        42_161 => "arbitrum_url",
        59_144 => "linea_url",
        534_352 => "scroll_url",
        _ => return None,
    })
}

/// The fungible tokens, each once. Rows that disagree about a token make its amount unknown.
fn holdings(rows: Vec<Row>) -> Result<Vec<Holding>, SourceErrorKind> {
    if rows.len() > MAX_ROWS {
        return Err(SourceErrorKind::Malformed {
            path: "$".to_owned(),
            expected: "at most 2000 rows",
            observed: rows.len().to_string(),
        });
    }
    let mut found: BTreeMap<Address, Holding> = BTreeMap::new();
    let mut order = Vec::new();
    for row in rows.into_iter().filter(|row| row.token.kind == "ERC-20") {
        let holding = row.holding()?;
        let Asset::Token(token) = holding.asset else {
            continue;
        };
        match found.get_mut(&token) {
            // Nothing shows which of the two rows is right.
            Some(known) if known.raw != holding.raw => known.raw = None,
            Some(_) => {}
            None => {
                order.push(token);
                found.insert(token, holding);
            }
        }
    }
    Ok(order
        .into_iter()
        .filter_map(|token| found.remove(&token))
        .collect())
}

#[derive(Deserialize)]
struct NotFound {
    message: String,
}

#[derive(Deserialize)]
struct Row {
    token: Token,
    value: String,
}

#[derive(Deserialize)]
struct Token {
    #[serde(alias = "address")]
    address_hash: Address,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    symbol: Option<String>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    decimals: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    exchange_rate: Option<Figure>,
    #[serde(default)]
    reputation: Option<String>,
}

impl Row {
    fn holding(self) -> Result<Holding, SourceErrorKind> {
        let raw = exact::parse_digits(&self.value).ok_or_else(|| SourceErrorKind::Malformed {
            path: "$[].value".to_owned(),
            expected: "a string of decimal digits",
            observed: clean(&self.value, 40),
        })?;
        let decimals = self
            .token
            .decimals
            .and_then(|figure| u8::try_from(figure.get()).ok());
        let symbol = self
            .token
            .symbol
            .map(|symbol| clean(&symbol, MAX_SYMBOL_CHARS));
        Ok(Holding {
            asset: Asset::Token(self.token.address_hash),
            symbol: symbol.filter(|symbol| !symbol.is_empty()),
            decimals: decimals.filter(|decimals| *decimals <= MAX_DECIMALS),
            raw: Some(raw),
            amount: None,
            price_usd: self
                .token
                .exchange_rate
                .filter(|rate| rate.get() > readings::Decimal::ZERO),
            risk: match self.token.reputation.as_deref() {
                Some("ok") => Risk::Low,
                Some("scam" | "spam") => Risk::High,
                _ => Risk::Unknown,
            },
        })
    }
}
