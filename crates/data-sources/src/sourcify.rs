//! Sourcify: interfaces of verified contracts, and a signature database. A signature of the
//! database is a guess; a verified interface is not.

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, Selector};
use readings::chain::{ContractFacts, knowledge::Candidate};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    budget::{Families, Rate},
    cached::{Ages, Cached},
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::{Clock, Sourced},
    source::{Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    text::clean,
    transport::{Limits, QUOTED_CHARS, Transport, TransportError},
};

/// Source id of the interfaces.
pub const ABI: &str = "sourcify.abi";
/// Source id of the signatures.
pub const SIGNATURES: &str = "sourcify.signatures";
const SIGNATURES_URL: &str = "signatures_url";

/// How old the facts about a contract may be. Verified code does not change, but unverified code
/// may become verified any day.
const AGES: Ages = Ages::seconds(6 * 3_600, 7 * 86_400).with_floor(300);
/// How old the signatures of a selector may be. Its meaning does not change, but further signatures
/// of it may be listed any day.
pub(crate) const SIGNATURE_AGES: Ages = Ages::seconds(86_400, 30 * 86_400).with_floor(300);
/// How many contracts, and how many questions about selectors, are kept.
const KEPT: usize = 1_024;
/// Most implementations of a proxy that are read.
const MAX_IMPLEMENTATIONS: usize = 4;
/// Most signatures of a selector.
const MAX_CANDIDATES: usize = 32;

/// Sourcify: interfaces of verified contracts, and a signature database. Clones share everything.
#[derive(Clone, Debug)]
pub struct Sourcify {
    source: Source,
    contracts: Cached<(u64, Address), Arc<Published>>,
    signatures: Cached<Vec<Selector>, Arc<Signatures>>,
}

/// Signatures by selector.
type Signatures = BTreeMap<Selector, Vec<Candidate>>;

/// The published facts about a contract.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published {
    /// Its interface when its code is verified; otherwise empty.
    pub facts: ContractFacts,
    /// The contracts that it delegates to, when it is a proxy.
    pub implementations: Vec<Address>,
}

impl Sourcify {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "sourcify",
        urls: &[
            ("base_url", "https://sourcify.dev"),
            (SIGNATURES_URL, "https://api.4byte.sourcify.dev"),
        ],
        key: KeyRule::Keyless,
        sources: &[ABI, SIGNATURES],
        families: Families::EachAddress(Rate::per_minute(120)),
        limits: Limits::USUAL.up_to_bytes(4 * 1024 * 1024),
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
            contracts: Cached::new(KEPT, AGES, clock.clone()),
            signatures: Cached::new(KEPT, SIGNATURE_AGES, clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The published facts about a contract. An unpublished contract is not verified, which is an
    /// answer. The facts only describe the contract: their age does not count as the age of an
    /// answer.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when Sourcify cannot answer, or answers about another contract.
    pub async fn contract(
        &self,
        chain_id: u64,
        address: Address,
    ) -> Result<Sourced<Arc<Published>>, Error> {
        let sourcify = self.clone();
        let fetch = || async move { sourcify.fetch(chain_id, address).await };
        let found = self.contracts.get((chain_id, address), None, fetch).await?;
        Ok(found.as_reference())
    }

    async fn fetch(
        &self,
        chain_id: u64,
        address: Address,
    ) -> Result<Sourced<Arc<Published>>, Error> {
        let contract = address.to_checksum(None);
        let path = format!("/server/v2/contract/{chain_id}/{contract}?fields=abi,proxyResolution");
        let ask = self.source.get(ABI, &path).accepts(&[404]);
        self.source
            .ask(ask, |reply| {
                let answer: Answer = read_json(&reply.body)?;
                if reply.status.as_u16() == 404 {
                    return answer.is_not_found().then(Arc::default).ok_or_else(|| {
                        let code = None;
                        Fault::Upstream(SourceErrorKind::HttpStatus { status: 404, code })
                    });
                }
                Ok(Arc::new(answer.published(chain_id, address)?))
            })
            .await
    }

    /// The signatures that are listed for each selector, in the database's order. A selector
    /// without any has an empty list. The same selectors are asked for at most once a day.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when the database cannot answer.
    pub async fn signatures(
        &self,
        selectors: &[Selector],
    ) -> Result<Sourced<Arc<Signatures>>, Error> {
        let mut asked = selectors.to_vec();
        asked.sort_unstable();
        asked.dedup();
        let (sourcify, of) = (self.clone(), selectors.to_vec());
        let fetch = || async move { sourcify.look_up(&of).await };
        let found = self.signatures.get(asked, None, fetch).await?;
        Ok(found.as_reference())
    }

    async fn look_up(&self, selectors: &[Selector]) -> Result<Sourced<Arc<Signatures>>, Error> {
        let texts: Vec<String> = selectors.iter().map(ToString::to_string).collect();
        let path = format!(
            "/signature-database/v1/lookup?function={}&filter=true",
            texts.join(",")
        );
        let ask = self.source.get(SIGNATURES, &path).at(SIGNATURES_URL);
        self.source
            .ask(ask, |reply| {
                let answer: Lookup = read_json(&reply.body)?;
                if !answer.ok {
                    let (code, message) = ("not_ok".to_owned(), String::new());
                    return Err(Fault::Upstream(SourceErrorKind::Business { code, message }));
                }
                let mut listed = answer.result.function;
                let of = |selector: &Selector| {
                    let rows = listed
                        .remove(&selector.to_string())
                        .flatten()
                        .unwrap_or_default();
                    let rows = rows
                        .into_iter()
                        .filter(|row| !row.filtered)
                        .take(MAX_CANDIDATES);
                    (*selector, rows.map(Candidate::from).collect())
                };
                Ok(Arc::new(selectors.iter().map(of).collect()))
            })
            .await
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    abi: Option<Box<RawValue>>,
    #[serde(rename = "match", default)]
    matched: Option<String>,
    #[serde(default)]
    custom_code: Option<String>,
    #[serde(default)]
    chain_id: Option<String>,
    #[serde(default)]
    address: Option<String>,
    #[serde(default)]
    proxy_resolution: Option<Proxy>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Proxy {
    #[serde(default)]
    is_proxy: bool,
    #[serde(default)]
    implementations: Vec<Implementation>,
}

#[derive(Deserialize)]
struct Implementation {
    address: Address,
}

impl Answer {
    /// Whether the answer says that the contract is unpublished, and not that the path does not
    /// exist.
    fn is_not_found(&self) -> bool {
        self.custom_code.as_deref() == Some("not_found")
            || (self.matched.is_none() && self.address.is_some())
    }

    fn published(&self, chain_id: u64, address: Address) -> Result<Published, SourceErrorKind> {
        let malformed = |path: &str, expected, observed: &str| SourceErrorKind::Malformed {
            path: path.to_owned(),
            expected,
            observed: clean(observed, QUOTED_CHARS),
        };
        if let Some(told) = self
            .chain_id
            .as_deref()
            .filter(|told| *told != chain_id.to_string())
        {
            return Err(malformed("$.chainId", "the chain that was asked for", told));
        }
        let told = self.address.as_deref().unwrap_or_default();
        if told.parse::<Address>().ok() != Some(address) {
            return Err(malformed(
                "$.address",
                "the contract that was asked for",
                told,
            ));
        }
        let verified = matches!(self.matched.as_deref(), Some("match" | "exact_match"));
        if verified && self.abi.is_none() {
            return Err(malformed("$.abi", "a list", "nothing"));
        }
        let facts = match self.abi.as_ref().filter(|_| verified) {
            Some(abi) => ContractFacts::verified(abi.get())
                .ok_or_else(|| malformed("$.abi", "a list", abi.get()))?,
            None => ContractFacts::default(),
        };
        let proxy = self
            .proxy_resolution
            .as_ref()
            .filter(|proxy| proxy.is_proxy);
        let implementations = proxy
            .map(|proxy| proxy.implementations.as_slice())
            .unwrap_or_default();
        Ok(Published {
            facts,
            implementations: implementations
                .iter()
                .map(|implementation| implementation.address)
                .filter(|implementation| *implementation != address && !implementation.is_zero())
                .take(MAX_IMPLEMENTATIONS)
                .collect(),
        })
    }
}

#[derive(Deserialize)]
struct Lookup {
    ok: bool,
    result: Listed,
}

#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    function: BTreeMap<String, Option<Vec<Row>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    #[serde(default)]
    filtered: bool,
    #[serde(default)]
    has_verified_contract: bool,
}

impl From<Row> for Candidate {
    fn from(row: Row) -> Self {
        Self {
            text: row.name,
            verified: row.has_verified_contract,
        }
    }
}
