//! What a job gathers.

use std::future::Future;

use data_sources::{Error, Provenance, Sourced};
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use super::Pace;

/// A dataset that is gathered on a schedule.
pub(crate) trait Dataset: Send + Sync + 'static {
    /// Its name: in the store, in `/freshness`, at the beginning of a snapshot's id.
    const NAME: &'static str;
    /// How often it is gathered, and how old it may become.
    const PACE: Pace;
    /// The value that routes read.
    type Value: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Ids that may stand in [`Gathered::sources`]; an edition that names others was made by
    /// another program.
    fn source_ids(&self) -> Vec<&'static str>;

    /// Asks the upstreams at `now`. An error keeps the edition that is there.
    fn gather(
        &self,
        now: Timestamp,
    ) -> impl Future<Output = Result<Gathered<Self::Value>, Error>> + Send;
}

/// A value with what it was made from.
#[derive(Debug, Clone)]
pub(crate) struct Gathered<T> {
    pub(crate) value: T,
    /// Every source that was asked, those that failed too.
    pub(crate) sources: Vec<Provenance>,
    /// SHA-256 over what the value was computed from.
    pub(crate) inputs_sha256: [u8; 32],
}

impl<T: Serialize> Gathered<T> {
    /// With the digest of `inputs`, what the value was computed from.
    pub(crate) fn of(sourced: Sourced<T>, inputs: &impl Serialize) -> Self {
        let inputs = serde_json::to_vec(inputs).unwrap_or_default();
        Self {
            value: sourced.value,
            sources: sourced.sources,
            inputs_sha256: Sha256::digest(inputs).into(),
        }
    }
}

/// For a dataset that is what its source gave: the input is the value.
impl<T: Serialize> From<Sourced<T>> for Gathered<T> {
    fn from(sourced: Sourced<T>) -> Self {
        let inputs = serde_json::to_vec(&sourced.value).unwrap_or_default();
        Self {
            value: sourced.value,
            sources: sourced.sources,
            inputs_sha256: Sha256::digest(inputs).into(),
        }
    }
}
