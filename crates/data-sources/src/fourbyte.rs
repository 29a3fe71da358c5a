//! The 4byte directory: a signature database that anybody can write to.

use std::sync::Arc;

use alloy_primitives::Selector;
use readings::chain::knowledge::Candidate;
use serde::Deserialize;

use crate::{
    budget::{Families, Rate},
    cached::Cached,
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::{Clock, Sourced},
    source::{Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    sourcify::SIGNATURE_AGES,
    text::clean,
    transport::{QUOTED_CHARS, Transport, TransportError},
};

/// Source id of the signatures.
pub const SIGNATURES: &str = "fourbyte.signatures";
/// Most signatures of a selector.
const MAX_CANDIDATES: usize = 32;

/// Selectors that are kept.
const KEPT: usize = 1_024;

/// The 4byte directory: a signature database that anybody can write to. Clones share everything.
#[derive(Clone, Debug)]
pub struct Fourbyte {
    source: Source,
    signatures: Cached<Selector, Arc<Vec<Candidate>>>,
}

impl Fourbyte {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "fourbyte",
        urls: &[("base_url", "https://www.4byte.directory")],
        key: KeyRule::Keyless,
        sources: &[SIGNATURES],
        families: Families::One(Rate::per_minute(60)),
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
            signatures: Cached::new(KEPT, SIGNATURE_AGES, clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The signatures that are listed for a selector, the oldest first: later ones are often
    /// deliberate collisions. A selector is asked for at most once a day.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when the directory cannot answer, or answers about another selector.
    pub async fn signatures(
        &self,
        selector: Selector,
    ) -> Result<Sourced<Arc<Vec<Candidate>>>, Error> {
        let fourbyte = self.clone();
        let fetch = || async move { fourbyte.look_up(selector).await };
        let found = self.signatures.get(selector, None, fetch).await?;
        Ok(found.as_reference())
    }

    async fn look_up(&self, selector: Selector) -> Result<Sourced<Arc<Vec<Candidate>>>, Error> {
        let asked = selector.to_string();
        let path = format!("/api/v1/signatures/?hex_signature={asked}");
        let ask = self.source.get(SIGNATURES, &path);
        self.source
            .ask(ask, |reply| {
                let mut page: Page = read_json(&reply.body)?;
                if let Some(other) = page.results.iter().find(|row| row.hex_signature != asked) {
                    return Err(Fault::<Error>::Upstream(SourceErrorKind::Malformed {
                        path: "$.results[].hex_signature".to_owned(),
                        expected: "the selector that was asked for",
                        observed: clean(&other.hex_signature, QUOTED_CHARS),
                    }));
                }
                page.results.sort_by_key(|row| row.id);
                let candidates =
                    page.results
                        .into_iter()
                        .take(MAX_CANDIDATES)
                        .map(|row| Candidate {
                            text: row.text_signature,
                            verified: false,
                        });
                Ok(Arc::new(candidates.collect()))
            })
            .await
    }
}

#[derive(Deserialize)]
struct Page {
    results: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    id: u64,
    text_signature: String,
    hex_signature: String,
}
