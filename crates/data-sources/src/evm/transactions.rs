//! Transactions: what was sent, what came of it, when; and why it reverted.

use std::{sync::atomic::Ordering, time::Duration};

use alloy_primitives::B256;
use jiff::Timestamp;
use readings::chain::{
    BlockRef, Receipt, Record, Transaction, knowledge::Replay, record::Testimony,
};
use serde_json::{Map, Value, json};

use super::{
    BLOCK, CallOutcome, EvmReader, RECEIPT, TRANSACTION, endpoints, kind, no_method, of_chain,
    read, required,
};
use crate::{
    error::{Error, SourceError, SourceErrorKind},
    json::Json,
    provenance::{Provenance, Sourced},
    rpc::endpoint::{Endpoint, NodeError, Outcome},
};

/// Older than this, a block of any of the chains is not replaced any more.
const SETTLED_AFTER: Duration = Duration::from_secs(3_600);

/// Time for another node to confirm what one said.
const WITNESS_PATIENCE: Duration = Duration::from_secs(2);
/// Nobody else could be asked.
const ONLY_NODE: &str = "only_one_node_configured";
/// Others were asked, and none said the same or something else.
const SILENT: &str = "other_nodes_do_not_answer";
/// There is nothing to agree about yet.
const PENDING: &str = "pending";

impl EvmReader {
    /// A transaction with its receipt and the time of its block, asked for at most `max_age` ago when that is given; `None`
    /// when no node of the chain knows it. Kept for long once its block is an hour old and two nodes told the same of it, for
    /// a moment before.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when no node answers, when what one says contradicts itself, or when nodes contradict each other and
    /// no two agree.
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

    /// Whether the block of a transaction is so old that no chain replaces it any more.
    #[must_use]
    pub fn is_settled(&self, record: &Record) -> bool {
        let age = |time: Timestamp| Duration::try_from(self.now().duration_since(time)).ok();
        record
            .time
            .and_then(age)
            .is_some_and(|age| age >= SETTLED_AFTER)
    }

    /// Whether asking again cannot add another node's word.
    fn will_not_be_confirmed(&self, record: &Record) -> bool {
        matches!(
            record.testimony,
            Testimony::TwoNodes | Testimony::OneNode(ONLY_NODE)
        )
    }

    /// Runs a reverted transaction again on the state before its block, for its reason. Nodes that keep no old states cannot.
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
        // What came before it in its block may have made it fail: the state after the block shows that.
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
        let Sourced { value, mut sources } = self.find(chain_id, hash).await?;
        let Some((place, transaction)) = value else {
            return Ok(Sourced {
                value: None,
                sources,
            });
        };
        let (mut receipt, mut time) = (None, None);
        let mut testimony = Testimony::OneNode(PENDING);
        if let Some(block) = transaction.block {
            let found = self.receipt(chain_id, &transaction, place, block).await?;
            sources.extend(found.sources);
            let told;
            (told, testimony) = found.value;
            receipt = Some(told);
            // Without the time the rest is still true.
            if let Ok(found) = self.block_time(chain_id, block).await {
                sources.extend(found.sources);
                time = Some(found.value);
            }
        }
        // One source, as old as its slowest part.
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

    /// Asks every node until one knows the transaction, and gives that node's place. It is unknown when one of them says so
    /// and none knows it.
    async fn find(
        &self,
        chain_id: u64,
        hash: B256,
    ) -> Result<Sourced<Option<(usize, Transaction)>>, SourceError> {
        let chain = self.chain(chain_id)?;
        let (mut unknown, mut failure) = (None, SourceErrorKind::Unreachable);
        for (place, endpoint) in chain.in_order() {
            match transaction(endpoint, chain_id, hash).await {
                Ok(told) => match told.value {
                    Outcome::Value(Some(found)) => {
                        chain.last_good.store(place, Ordering::Relaxed);
                        return Ok(of_chain(chain_id, Some((place, found)), told.sources));
                    }
                    Outcome::Value(None) => unknown = Some(told.sources),
                    Outcome::Reverted(_) | Outcome::NoMethod => {
                        failure = no_method("eth_getTransactionByHash");
                    }
                },
                Err(error) => failure = kind(error),
            }
        }
        match unknown {
            Some(sources) => Ok(of_chain(chain_id, None, sources)),
            None => Err(SourceError {
                source: endpoints::source(chain_id),
                kind: failure,
            }),
        }
    }

    /// The receipt of `sent`, which the node at `place` told, as two nodes tell it; otherwise as the one that tells it does.
    async fn receipt(
        &self,
        chain_id: u64,
        sent: &Transaction,
        place: usize,
        block: BlockRef,
    ) -> Result<Sourced<(Receipt, Testimony)>, SourceError> {
        let chain = self.chain(chain_id)?;
        let mut told: Vec<(Receipt, Vec<Provenance>)> = Vec::new();
        let (mut contradicted, mut failure) = (false, SourceErrorKind::Unreachable);
        for (at, endpoint) in chain.in_order() {
            let testify = testify(endpoint, chain_id, sent, at == place, block);
            // What is known does not wait long for who confirms it.
            let answer = match told.is_empty() {
                true => testify.await,
                false => match tokio::time::timeout(WITNESS_PATIENCE, testify).await {
                    Ok(answer) => answer,
                    Err(_) => continue,
                },
            };
            match answer {
                Ok(Some(witness)) => {
                    let known = told
                        .iter()
                        .find(|(known, _)| known.tells_the_same(&witness.value));
                    if let Some((known, _)) = known {
                        let value = (known.clone(), Testimony::TwoNodes);
                        return Ok(of_chain(chain_id, value, witness.sources));
                    }
                    told.push((witness.value, witness.sources));
                }
                Ok(None) => contradicted = true,
                Err(kind) => failure = kind,
            }
        }
        let mut told = told.into_iter();
        let error = |kind| SourceError {
            source: endpoints::source(chain_id),
            kind,
        };
        let Some((receipt, sources)) = told.next() else {
            return Err(error(failure));
        };
        if contradicted || told.next().is_some() {
            return Err(error(SourceErrorKind::Business {
                code: "nodes_disagree".to_owned(),
                message: "nodes tell different things of the transaction, and no two agree"
                    .to_owned(),
            }));
        }
        let why = match chain.endpoints.len() {
            1 => ONLY_NODE,
            _ => SILENT,
        };
        let value = (receipt, Testimony::OneNode(why));
        Ok(of_chain(chain_id, value, sources))
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

/// What a node tells of a transaction; `null` is `None`.
async fn transaction(
    endpoint: &Endpoint,
    chain_id: u64,
    hash: B256,
) -> Result<Sourced<Outcome<Option<Transaction>>>, NodeError> {
    let read = |result: Option<&Json<'_>>| match result {
        Some(result) => read::transaction(result, chain_id, hash).map(Some),
        None => Ok(None),
    };
    let method = "eth_getTransactionByHash";
    endpoint
        .ask(TRANSACTION, method, &json!([hash]), read)
        .await
}

/// The receipt that a node tells of `sent`, if that is what it tells of the transaction; `None` when it tells something else.
async fn testify(
    endpoint: &Endpoint,
    chain_id: u64,
    sent: &Transaction,
    told_by_it: bool,
    block: BlockRef,
) -> Result<Option<Sourced<Receipt>>, SourceErrorKind> {
    if !told_by_it {
        let told = transaction(endpoint, chain_id, sent.hash).await;
        match told.map_err(kind)?.value {
            // Where it still waits for a block, the node lags behind.
            Outcome::Value(Some(other)) if other.block.is_none() => return Err(unknown()),
            Outcome::Value(Some(other)) if same(&other, sent) => {}
            Outcome::Value(Some(_)) => return Ok(None),
            Outcome::Value(None) => return Err(unknown()),
            Outcome::Reverted(_) | Outcome::NoMethod => {
                return Err(no_method("eth_getTransactionByHash"));
            }
        }
    }
    let read = |result: Option<&Json<'_>>| read::receipt(required(result)?, sent, block);
    let method = "eth_getTransactionReceipt";
    let params = json!([sent.hash]);
    let answer = endpoint.ask(RECEIPT, method, &params, read).await;
    let Sourced { value, sources } = answer.map_err(kind)?;
    match value {
        Outcome::Value(value) => Ok(Some(Sourced { value, sources })),
        Outcome::Reverted(_) | Outcome::NoMethod => Err(no_method(method)),
    }
}

/// Whether two nodes tell the same of what was sent. Members that some nodes leave out do not count.
fn same(one: &Transaction, other: &Transaction) -> bool {
    let told = |sent: &Transaction| (sent.from, sent.to, sent.value, sent.block);
    told(one) == told(other) && one.input == other.input
}

/// The node does not know the transaction (any more, or yet).
fn unknown() -> SourceErrorKind {
    SourceErrorKind::Business {
        code: "unknown_transaction".to_owned(),
        message: "the node does not know the transaction".to_owned(),
    }
}

/// A method that only reads and "reverts" does not do what it is for.
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

/// Nodes say in many words that they do not keep a state any more.
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
