//! The interface between a job and its dataset.

use std::future::Future;

use data_sources::{Error, Provenance, Sourced};
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use super::Pace;

/// A dataset that is refreshed on a schedule.
pub(crate) trait Dataset: Send + Sync + 'static {
    /// The name in the store, in `/freshness`, and at the beginning of a snapshot's id.
    const NAME: &'static str;
    /// Its schedule, and its greatest age.
    const PACE: Pace;
    /// The value that routes read.
    type Value: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// The ids that may appear in [`Gathered::sources`]. An edition with other ids was made by
    /// another version of the program.
    fn source_ids(&self) -> Vec<&'static str>;

    /// Asks the upstreams at `now`. After an error the present edition stays.
    fn gather(
        &self,
        now: Timestamp,
    ) -> impl Future<Output = Result<Gathered<Self::Value>, Error>> + Send;
}

/// A value and its inputs.
#[derive(Debug, Clone)]
pub(crate) struct Gathered<T> {
    pub(crate) value: T,
    /// Every source that was asked, including those that failed.
    pub(crate) sources: Vec<Provenance>,
    /// SHA-256 over the inputs of the value.
    pub(crate) inputs_sha256: [u8; 32],
}

impl<T: Serialize> Gathered<T> {
    /// Adds the digest of `inputs`, from which the value was computed.
    pub(crate) fn of(sourced: Sourced<T>, inputs: &impl Serialize) -> Self {
        let inputs = serde_json::to_vec(inputs).unwrap_or_default();
        Self {
            value: sourced.value,
            sources: sourced.sources,
            inputs_sha256: Sha256::digest(inputs).into(),
        }
    }
}

/// For a dataset that is its source's answer: the input is the value.
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
