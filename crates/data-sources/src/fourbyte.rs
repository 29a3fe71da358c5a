//! The 4byte directory: a signature database that anybody may write to.

use alloy_primitives::Selector;
use readings::chain::knowledge::Candidate;
use serde::Deserialize;

use crate::{
    budget::{Families, QuotaSpec, Rate},
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::Sourced,
    source::{Conduct, Fault, KeyRule, UpstreamSpec, upstream},
    text::clean,
    transport::{Limits, QUOTED_CHARS},
};

/// The source of signatures.
pub const SIGNATURES: &str = "fourbyte.signatures";
/// Most signatures of a selector.
const MAX_CANDIDATES: usize = 32;

upstream!(
    /// The 4byte directory: a signature database that anybody may write to.
    Fourbyte,
    UpstreamSpec {
        name: "fourbyte",
        urls: &[("base_url", "https://www.4byte.directory")],
        key: KeyRule::Keyless,
        sources: &[SIGNATURES],
        families: Families::One(Rate::per_minute(60)),
        quota: QuotaSpec::NONE,
        models: false,
        limits: Limits::USUAL,
        conduct: Conduct::DATA,
    }
);

impl Fourbyte {
    /// The signatures that are listed for a selector, the oldest first: later ones are often made to collide.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when the directory cannot answer, or answers about another selector.
    pub async fn signatures(&self, selector: Selector) -> Result<Sourced<Vec<Candidate>>, Error> {
        let asked = selector.to_string();
        let path = format!("/api/v1/signatures/?hex_signature={asked}");
        let ask = self.source.get(SIGNATURES, &path);
        let found = self
            .source
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
                Ok(candidates.collect())
            })
            .await;
        found.map(Sourced::as_reference)
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
