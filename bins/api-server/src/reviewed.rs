//! The reviewed contracts of the chain's aggregator: loads the configured set, and records refusals
//! of contracts outside the set.
//!
//! The aggregator's router changes. A quote that leads to an unreviewed contract is refused. A
//! metric, and a line of `/status` with the observed contract, inform the operator.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use data_sources::{Error, Refusal, ReviewedContracts, okx::ReviewedDocument};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::answer::seconds;
use crate::config::{Config, Problem};
use crate::observe;

/// The key of the file.
const KEY: &str = "upstreams.okx.reviewed";
/// The most observations that are kept, because a dishonest aggregator could invent any number.
const MOST: usize = 32;

/// The configured set, or the compiled-in one.
///
/// # Errors
/// A file that cannot be read or used.
pub(crate) fn contracts(config: &Config) -> Result<ReviewedContracts, Problem> {
    match config.upstreams.table("okx").reviewed {
        Some(path) => read(&path).map_err(|message| Problem::new(KEY, message)),
        None => Ok(ReviewedContracts::default()),
    }
}

fn read(path: &Path) -> Result<ReviewedContracts, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let document: ReviewedDocument = toml::from_str(&text)
        .map_err(|error| format!("{}: {}", path.display(), error.message()))?;
    document
        .review()
        .map_err(|problem| format!("{}: {problem}", path.display()))
}

/// Contracts and functions that were observed and are not in the set.
#[derive(Debug, Default)]
pub(crate) struct Unreviewed(Mutex<BTreeMap<(&'static str, String), Seen>>);

#[derive(Debug, Clone, Copy)]
struct Seen {
    first: Timestamp,
    last: Timestamp,
    count: u64,
}

impl Unreviewed {
    /// Records a refusal if it is about something outside the set.
    pub(crate) fn note(&self, error: &Error, now: Timestamp) {
        let Error::Refused(refusal) = error else {
            return;
        };
        let (kind, observed) = match refusal {
            Refusal::RouterUnreviewed { observed } => ("router", observed.to_string()),
            Refusal::SelectorUnreviewed { observed } => ("selector", observed.to_string()),
            Refusal::SpenderUnreviewed { observed, .. } => ("spender", observed.to_string()),
            _ => return,
        };
        tracing::warn!(
            kind,
            observed,
            "the aggregator named an unreviewed contract"
        );
        observe::unreviewed(kind);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(&(kind, observed.clone())) {
            return;
        }
        let seen = all.entry((kind, observed)).or_insert(Seen {
            first: now,
            last: now,
            count: 0,
        });
        seen.last = now;
        seen.count = seen.count.saturating_add(1);
    }

    /// The member of `/status`.
    pub(crate) fn status(&self, version: &str) -> Value {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = all.iter().map(|((kind, observed), seen)| {
            json!({
                "kind": kind,
                "observed": observed,
                "refused": seen.count,
                "first_seen": seconds(seen.first),
                "last_seen": seconds(seen.last),
            })
        });
        let rows: Vec<Value> = rows.collect();
        json!({
            "version": version,
            "state": if rows.is_empty() { "ok" } else { "degraded" },
            "unreviewed": rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_file_is_the_set_that_is_compiled_in() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/okx-contracts.example.toml");
        assert_eq!(read(&path), Ok(ReviewedContracts::default()));
    }

    #[test]
    fn a_set_is_whole_or_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.toml");
        let example = include_str!("../../../docs/okx-contracts.example.toml");
        for (from, to, says) in [
            ("chain_id = 196", "chain_id = 1", "chain_id: expected 196"),
            ("chain_id = 196\n", "", "missing field `chain_id`"),
            ("version =", "versoin =", "unknown field `versoin`"),
            (
                "spender = \"0x8b773D83bc66Be128c60e07E17C8901f7a64F000\"",
                "spender = \"0x7c5bEE2a8091C3ef39072f64F18Fac913060AEaF\"",
                "spender: expected a contract that is no router",
            ),
        ] {
            assert!(example.contains(from), "{from}");
            std::fs::write(&path, example.replace(from, to)).unwrap();
            let refused = read(&path).unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
        assert!(
            read(&folder.path().join("none.toml"))
                .unwrap_err()
                .contains("cannot be read")
        );
    }

    #[test]
    fn an_unreviewed_contract_is_counted_once() {
        let unreviewed = Unreviewed::default();
        let router = |byte: u8| {
            Error::from(Refusal::RouterUnreviewed {
                observed: alloy_primitives::Address::repeat_byte(byte),
            })
        };
        let now = Timestamp::from_second(1_795_222_920).unwrap();
        for byte in [1, 2, 1] {
            unreviewed.note(&router(byte), now);
        }
        unreviewed.note(&Error::from(Refusal::CalldataNotCanonical), now);
        let status = unreviewed.status("v");
        assert_eq!(
            (&status["state"], &status["version"]),
            (&json!("degraded"), &json!("v"))
        );
        assert_eq!(status["unreviewed"].as_array().unwrap().len(), 2);
        assert_eq!(status["unreviewed"][0]["refused"], 2);
        for byte in 0..=255 {
            unreviewed.note(&router(byte), now);
        }
        assert_eq!(
            unreviewed.status("v")["unreviewed"]
                .as_array()
                .unwrap()
                .len(),
            MOST
        );
    }
}
