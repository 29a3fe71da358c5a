//! One edition of a dataset, in memory and in its stored form. An edition never changes; a newer
//! one replaces it.

use alloy_primitives::{B256, hex};
use bytes::Bytes;
use data_sources::{Mode, Provenance, SourceStatus};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use storage::DatasetRecord;

use super::Gathered;

/// One edition of a dataset.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot<T> {
    /// The id: the dataset, the time, and the beginning of the digest.
    pub(crate) snapshot_id: String,
    /// The time at which the gathering began. No data in the edition is newer.
    pub(crate) as_of: Timestamp,
    /// SHA-256 over the inputs, as hexadecimal digits.
    pub(crate) inputs_sha256: String,
    /// Every source that was asked.
    pub(crate) sources: Vec<Provenance>,
    /// The value.
    pub(crate) value: T,
}

/// The body of a stored record.
#[derive(Serialize, Deserialize)]
struct Body<T> {
    sources: Vec<StoredSource>,
    value: T,
}

#[derive(Serialize, Deserialize)]
struct StoredSource {
    id: String,
    status: StoredStatus,
    as_of: Option<Timestamp>,
    fetched_at: Timestamp,
    latency_ms: u64,
    replayed: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredStatus {
    Ok,
    Stale(String),
    Unavailable(String),
}

impl<T> Snapshot<T> {
    pub(super) fn new(name: &str, as_of: Timestamp, gathered: Gathered<T>) -> Self {
        let digest = hex::encode(gathered.inputs_sha256);
        let short = digest.get(..8).unwrap_or_default();
        Self {
            snapshot_id: format!("{name}-{}-{short}", as_of.as_second()),
            as_of,
            inputs_sha256: digest,
            sources: gathered.sources,
            value: gathered.value,
        }
    }

    /// The age at `now`, in seconds.
    pub(crate) fn age_seconds(&self, now: Timestamp) -> u64 {
        u64::try_from(now.duration_since(self.as_of).as_secs()).unwrap_or(0)
    }

    /// The sources as an answer from this edition shows them.
    pub(crate) fn provenance(&self) -> Vec<Provenance> {
        let served = |source: &Provenance| Provenance {
            cached: true,
            ..source.clone()
        };
        self.sources.iter().map(served).collect()
    }
}

impl<T: Serialize> Snapshot<T> {
    /// The stored form; `None` when it cannot be serialised.
    pub(super) fn to_record(&self, written_at: Timestamp) -> Option<DatasetRecord> {
        let body = Body {
            sources: self.sources.iter().map(StoredSource::of).collect(),
            value: &self.value,
        };
        Some(DatasetRecord {
            snapshot_id: self.snapshot_id.clone(),
            as_of: u64::try_from(self.as_of.as_second()).ok()?,
            inputs_sha256: self.inputs_sha256.parse().ok()?,
            written_at: u64::try_from(written_at.as_second()).ok()?,
            body: Bytes::from(serde_json::to_vec(&body).ok()?),
        })
    }
}

impl<T: DeserializeOwned> Snapshot<T> {
    /// Reads the stored form. `None` when its format differs or it names a source outside
    /// `source_ids`: then another version of this program wrote it, and gathering again is cheap.
    pub(super) fn from_record(record: &DatasetRecord, source_ids: &[&'static str]) -> Option<Self> {
        let body: Body<T> = serde_json::from_slice(&record.body).ok()?;
        let sources = body
            .sources
            .into_iter()
            .map(|source| source.read(source_ids))
            .collect::<Option<_>>()?;
        Some(Self {
            snapshot_id: record.snapshot_id.clone(),
            as_of: Timestamp::from_second(i64::try_from(record.as_of).ok()?).ok()?,
            inputs_sha256: hex::encode::<B256>(record.inputs_sha256),
            sources,
            value: body.value,
        })
    }
}

impl StoredSource {
    fn of(source: &Provenance) -> Self {
        Self {
            id: source.source.to_owned(),
            status: match &source.status {
                SourceStatus::Ok => StoredStatus::Ok,
                SourceStatus::Stale { reason } => StoredStatus::Stale(reason.clone()),
                SourceStatus::Unavailable { reason } => StoredStatus::Unavailable(reason.clone()),
            },
            as_of: source.as_of,
            fetched_at: source.fetched_at,
            latency_ms: source.latency_ms,
            replayed: source.mode == Mode::Replay,
        }
    }

    fn read(self, source_ids: &[&'static str]) -> Option<Provenance> {
        let source = source_ids.iter().find(|id| **id == self.id)?;
        Some(Provenance {
            source,
            status: match self.status {
                StoredStatus::Ok => SourceStatus::Ok,
                StoredStatus::Stale(reason) => SourceStatus::Stale { reason },
                StoredStatus::Unavailable(reason) => SourceStatus::Unavailable { reason },
            },
            as_of: self.as_of,
            fetched_at: self.fetched_at,
            latency_ms: self.latency_ms,
            mode: if self.replayed {
                Mode::Replay
            } else {
                Mode::Live
            },
            cached: true,
            reference: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot<Vec<u32>> {
        let now: Timestamp = "2026-11-21T01:02:00Z".parse().unwrap();
        let source = |source, status, mode| Provenance {
            source,
            status,
            as_of: Some(now),
            fetched_at: now,
            latency_ms: 7,
            mode,
            cached: false,
            reference: false,
        };
        let gathered = Gathered {
            value: vec![1, 2],
            sources: vec![
                source("a.one", SourceStatus::Ok, Mode::Live),
                source(
                    "b.two",
                    SourceStatus::Unavailable {
                        reason: "upstream_http_403".into(),
                    },
                    Mode::Replay,
                ),
            ],
            inputs_sha256: [0xab; 32],
        };
        Snapshot::new("numbers", now, gathered)
    }

    #[test]
    fn an_edition_survives_the_store() {
        let snapshot = snapshot();
        assert_eq!(snapshot.snapshot_id, "numbers-1795222920-abababab");
        let record = snapshot.to_record(snapshot.as_of).unwrap();
        let read = Snapshot::<Vec<u32>>::from_record(&record, &["b.two", "a.one"]).unwrap();
        assert_eq!(read.value, snapshot.value);
        assert_eq!(read.sources, snapshot.provenance());
        assert_eq!(
            (read.as_of, &read.inputs_sha256),
            (snapshot.as_of, &snapshot.inputs_sha256)
        );
        assert_eq!(read.inputs_sha256.len(), 64);
    }

    #[test]
    fn an_edition_of_another_program_is_none() {
        let record = snapshot().to_record(snapshot().as_of).unwrap();
        assert!(Snapshot::<Vec<u32>>::from_record(&record, &["a.one"]).is_none());
        assert!(Snapshot::<Vec<String>>::from_record(&record, &["a.one", "b.two"]).is_none());
        let broken = DatasetRecord {
            body: Bytes::from_static(b"{"),
            ..record
        };
        assert!(Snapshot::<Vec<u32>>::from_record(&broken, &["a.one", "b.two"]).is_none());
    }

    #[test]
    fn age_is_of_the_moment() {
        let snapshot = snapshot();
        let later = snapshot.as_of + jiff::SignedDuration::from_secs(90);
        assert_eq!(
            (
                snapshot.age_seconds(snapshot.as_of),
                snapshot.age_seconds(later)
            ),
            (0, 90)
        );
        // A clock that was set back makes no edition younger than now.
        assert_eq!(
            snapshot.age_seconds(snapshot.as_of - jiff::SignedDuration::from_secs(5)),
            0
        );
    }
}
