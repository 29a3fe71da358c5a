//! Transactions: their content, their outcome and time, and the reason of a revert. What a
//! transaction means is for `readings`.

use std::time::Duration;

use alloy_primitives::B256;
use jiff::Timestamp;
use readings::chain::{BlockRef, Record, knowledge::Replay, record::Testimony};
use serde_json::{Map, Value, json};

use super::{
    BLOCK, CallOutcome, EvmReader, endpoints, no_method, read, required, witness::ONLY_NODE,
};
use crate::{
    error::{Error, SourceError, SourceErrorKind},
    json::Json,
    provenance::Sourced,
};

/// A block older than this is not replaced any more on any of the chains.
const SETTLED_AFTER: Duration = Duration::from_secs(3_600);

impl EvmReader {
    /// A transaction with its receipt and the time of its block, asked for at most `max_age` ago
    /// when that is given; `None` when no node of the chain knows it. Kept for long once its block
    /// is an hour old and two nodes agree about it; before that, for a moment.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when no node answers, when a node's answer contradicts itself, or when
    /// nodes contradict each other and no two agree.
    pub async fn transaction(
        &self,
        chain_id: u64,
        hash: B256,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Option<Record>>, Error> {
        let key = (chain_id, hash);
        if let Some((at, kept)) = self.settled.peek(&key) {
            let age = Duration::try_from(self.now().duration_since(at)).unwrap_or_default();
            if max_age.is_none_or(|limit| age <= limit) {
                return Ok(kept);
            }
        }
        let reader = self.clone();
        let fetch = || async move { Ok(reader.fetch(chain_id, hash).await?) };
        let found = self.recent.get(key, max_age, fetch).await?;
        if found
            .value
            .as_ref()
            .is_some_and(|record| self.is_settled(record) && self.will_not_be_confirmed(record))
        {
            let same = found.clone();
            let anew = Some(Duration::ZERO);
            drop(
                self.settled
                    .get(key, anew, || async move { Ok(same) })
                    .await,
            );
        }
        Ok(found)
    }

    /// Whether the block of a transaction is so old that the chain does not replace it any more.
    #[must_use]
    pub fn is_settled(&self, record: &Record) -> bool {
        let age = |time: Timestamp| Duration::try_from(self.now().duration_since(time)).ok();
        record
            .time
            .and_then(age)
            .is_some_and(|age| age >= SETTLED_AFTER)
    }

    /// Whether another request cannot add a second node's report.
    fn will_not_be_confirmed(&self, record: &Record) -> bool {
        matches!(
            record.testimony,
            Testimony::TwoNodes | Testimony::OneNode(ONLY_NODE)
        )
    }

    /// Runs a reverted transaction again on the state before its block, for its reason. Nodes
    /// without old states cannot do that.
    pub async fn replay(&self, record: &Record) -> Replay {
        let Some(block) = record.transaction.block else {
            return Replay::Unavailable("pending".to_owned());
        };
        let chain_id = record.network.id;
        let mut call = Map::new();
        let sent = &record.transaction;
        call.insert("from".to_owned(), json!(format!("{:#x}", sent.from)));
        if let Some(to) = sent.to {
            call.insert("to".to_owned(), json!(format!("{to:#x}")));
        }
        call.insert("data".to_owned(), json!(sent.input));
        call.insert("value".to_owned(), json!(format!("{:#x}", sent.value)));
        if let Some(gas) = sent.gas_limit {
            call.insert("gas".to_owned(), json!(format!("{gas:#x}")));
        }
        let call = Value::Object(call);
        let before = block.number.saturating_sub(1);
        // Earlier transactions of the block may have made it fail: the state after the block shows
        // that.
        for number in [before, block.number] {
            match self
                .eth_call(chain_id, &json!([call, format!("{number:#x}")]))
                .await
            {
                Ok(Sourced {
                    value: CallOutcome::Reverted { data, message },
                    ..
                }) => return Replay::Reverted { data, message },
                Ok(_) => {}
                Err(error) => return Replay::Unavailable(forgotten(&error.kind)),
            }
        }
        Replay::Succeeded
    }

    async fn fetch(
        &self,
        chain_id: u64,
        hash: B256,
    ) -> Result<Sourced<Option<Record>>, SourceError> {
        let network = self.chain(chain_id)?.network;
        let Sourced { value, mut sources } = self.witnessed(chain_id, hash).await?;
        let Some((transaction, receipt, testimony)) = value else {
            return Ok(Sourced {
                value: None,
                sources,
            });
        };
        let mut time = None;
        // Without the time, the rest is still true.
        if let Some(block) = transaction.block
            && let Ok(found) = self.block_time(chain_id, block).await
        {
            sources.extend(found.sources);
            time = Some(found.value);
        }
        // All parts count as one source, as old as its oldest part.
        let latency = sources.iter().map(|source| source.latency_ms).sum();
        sources.truncate(1);
        if let Some(source) = sources.first_mut() {
            source.latency_ms = latency;
        }
        let record = Record {
            network,
            transaction,
            receipt,
            time,
            testimony,
        };
        Ok(Sourced {
            value: Some(record),
            sources,
        })
    }

    async fn block_time(
        &self,
        chain_id: u64,
        block: BlockRef,
    ) -> Result<Sourced<Timestamp>, SourceError> {
        let params = json!([block.hash, false]);
        let read = |result: Option<&Json<'_>>| read::block_time(required(result)?, block);
        let found = self.ask(chain_id, BLOCK, "eth_getBlockByHash", &params, read);
        returned(chain_id, found.await?, "eth_getBlockByHash")
    }
}

/// Refuses a revert of a method that only reads: such a node does not work.
fn returned<T, R>(
    chain_id: u64,
    answer: Sourced<Result<T, R>>,
    method: &'static str,
) -> Result<Sourced<T>, SourceError> {
    let Sourced { value, sources } = answer;
    match value {
        Ok(value) => Ok(Sourced { value, sources }),
        Err(_) => Err(SourceError {
            source: endpoints::source(chain_id),
            kind: no_method(method),
        }),
    }
}

/// Recognises the messages by which nodes say that they no longer keep a state.
fn forgotten(kind: &SourceErrorKind) -> String {
    let SourceErrorKind::Business { message, .. } = kind else {
        return kind.reason();
    };
    let lower = message.to_ascii_lowercase();
    let words = [
        "missing trie node",
        "header not found",
        "pruned",
        "not available",
        "archive",
        "historical state",
        "unknown block",
        "no state",
    ];
    if words.iter().any(|word| lower.contains(word)) {
        "state_pruned".to_owned()
    } else {
        kind.reason()
    }
}
