//! The public record of the delegation fence, as the sending server publishes it.

use std::sync::Arc;

use serde::Deserialize;

use crate::{
    budget::Families,
    error::SourceError,
    provenance::{Clock, Mode},
    source::{Conduct, KeyRule, Source, UpstreamSpec},
    transport::{Limits, SourceHealth, Transport, TransportError},
};

/// Id of the source, as it appears in logs.
pub const SOURCES: [&str; 1] = [STATUS];

const STATUS: &str = "delegation.status";

/// The largest answer, in bytes. The record has five short members.
const MAX_BODY_BYTES: usize = 4 * 1024;

/// The limits of a call: one try of at most two seconds, because a record that cannot be read
/// counts as not present.
const LIMITS: Limits = Limits {
    attempts: 1,
    ..Limits::USUAL.within_seconds(2)
};

static SPEC: UpstreamSpec = UpstreamSpec {
    name: "delegation",
    urls: &[],
    key: KeyRule::Keyless,
    sources: &SOURCES,
    families: Families::UNLIMITED,
    limits: LIMITS,
    conduct: Conduct::PLANS,
    ..UpstreamSpec::DATA
};

/// The record. It has exactly these members.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FenceRecord {
    /// Whether the server read the policy back.
    pub present: bool,
    /// Its versioned name.
    pub policy_name: String,
    /// The cap of one swap, in US dollars.
    pub per_swap_cap_usd: u64,
    /// The project that grants are bound to.
    pub project_id: String,
    /// The digest of its rules.
    pub rules_digest: String,
}

/// Reads the record at one address.
#[derive(Clone, Debug)]
pub struct FenceReader {
    source: Source,
}

impl FenceReader {
    /// Builds the reader for `url`, the whole address. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when it cannot be used.
    pub fn new(
        transport: &Transport,
        url: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let source = Source::endpoint(transport, &SPEC, url, Mode::Live, LIMITS, clock)?;
        Ok(Self { source })
    }

    /// The current record. It is not cached.
    ///
    /// # Errors
    ///
    /// When the answer is late, is not a success, or has another form.
    pub async fn read(&self) -> Result<FenceRecord, SourceError> {
        let ask = self.source.get(STATUS, "").max_body_bytes(MAX_BODY_BYTES);
        let read = self.source.json::<FenceRecord, SourceError>(ask).await?;
        Ok(read.value)
    }

    /// The health of the reader.
    pub fn health(&self) -> Vec<SourceHealth> {
        self.source.health()
    }
}
