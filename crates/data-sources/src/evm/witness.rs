//! Asks several nodes of a chain for one transaction at the same time, and compares their reports.
//!
//! Two nodes that agree outvote a third. When only one node reports, its report counts and is
//! marked as unconfirmed.

use std::{sync::atomic::Ordering, time::Duration};

use alloy_primitives::B256;
use readings::chain::{Receipt, Transaction, record::Testimony};
use serde_json::json;
use tokio::{
    task::{JoinError, JoinSet},
    time::{Instant, timeout_at},
};

use super::{
    EvmReader, RECEIPT, TRANSACTION, endpoints, kind, no_method, of_chain, read, required,
};
use crate::{
    error::{SourceError, SourceErrorKind},
    json::Json,
    meter::Meter,
    provenance::{Provenance, Sourced},
    rpc::endpoint::{Endpoint, RpcReply},
};

/// Nodes that are asked at once. Another node is asked when these do not settle the answer.
const AT_ONCE: usize = 2;
/// How long a known transaction waits for a second node to confirm it.
const PATIENCE: Duration = Duration::from_millis(700);
/// The reason why a report is unconfirmed: no other node is configured.
pub(super) const ONLY_NODE: &str = "only_one_node_configured";
/// The reason why a report is unconfirmed: other nodes were asked, and none confirmed or
/// contradicted it.
const SILENT: &str = "other_nodes_do_not_answer";
/// The reason why a report is unconfirmed: no block holds the transaction, so there is no outcome
/// to agree about.
const PENDING: &str = "pending";

/// A node's report about a transaction.
enum NodeReport {
    /// The node does not know it.
    Unknown(Vec<Provenance>),
    /// The node knows it, and no block holds it.
    Pending(Box<Transaction>, Vec<Provenance>),
    /// The node knows it in a block.
    Included(Box<Witness>),
}

/// A transaction in a block, with the receipt of the same node.
struct Witness {
    transaction: Transaction,
    receipt: Result<Receipt, SourceErrorKind>,
    sources: Vec<Provenance>,
}

/// A transaction, its receipt, and how many nodes confirm them; the receipt is `None` while no
/// block holds the transaction.
pub(super) type Known = (Transaction, Option<Receipt>, Testimony);

type Answers = JoinSet<(usize, Result<NodeReport, SourceErrorKind>)>;

/// The reports so far.
#[derive(Default)]
struct Reports {
    witnesses: Vec<Witness>,
    pending: Option<(Transaction, Vec<Provenance>)>,
    unknown: Option<Vec<Provenance>>,
    failure: Option<SourceErrorKind>,
}

impl EvmReader {
    /// Returns a transaction that two nodes report alike, or else the report of a single node. The
    /// transaction is unknown when a node says so and no node knows it.
    pub(super) async fn witnessed(
        &self,
        chain_id: u64,
        hash: B256,
    ) -> Result<Sourced<Option<Known>>, SourceError> {
        let chain = self.chain(chain_id)?;
        let places: Vec<usize> = chain.in_order().map(|(place, _)| place).collect();
        let mut waiting = places.into_iter();
        let mut asked = Answers::new();
        let ask = |place: usize, asked: &mut Answers| {
            let reader = self.clone();
            asked.spawn(Meter::carry(async move {
                (place, reader.ask_node(place, chain_id, hash).await)
            }));
        };
        for place in waiting.by_ref().take(AT_ONCE) {
            ask(place, &mut asked);
        }
        let mut reports = Reports::default();
        let mut until = None;
        loop {
            match next(&mut asked, until).await {
                Next::Answer(Ok((place, report))) => {
                    if let Some(agreed) = reports.add(report) {
                        let (known, sources) = agreed;
                        return Ok(of_chain(chain_id, Some(known), sources));
                    }
                    if until.is_none() && reports.knows() {
                        until = Some(Instant::now() + PATIENCE);
                        chain.last_good.store(place, Ordering::Relaxed);
                    }
                    // A single report waits for the nodes that were asked already.
                    if reports.wants_another() {
                        waiting
                            .next()
                            .into_iter()
                            .for_each(|place| ask(place, &mut asked));
                    }
                }
                Next::Answer(Err(_)) => {}
                Next::Late => match waiting.next() {
                    Some(place) => {
                        ask(place, &mut asked);
                        until = Some(Instant::now() + PATIENCE);
                    }
                    None => break,
                },
                Next::Nothing => match waiting.next() {
                    Some(place) => ask(place, &mut asked),
                    None => break,
                },
            }
        }
        let result = reports.sum_up(chain.endpoints.len());
        let (known, sources) = result.map_err(|kind| SourceError {
            source: endpoints::source(chain_id),
            kind,
        })?;
        Ok(of_chain(chain_id, known, sources))
    }

    async fn ask_node(
        &self,
        place: usize,
        chain_id: u64,
        hash: B256,
    ) -> Result<NodeReport, SourceErrorKind> {
        let chain = self.chain(chain_id).map_err(|error| error.kind)?;
        let endpoint = chain.endpoints.get(place);
        let endpoint = endpoint.ok_or(SourceErrorKind::Unreachable)?;
        ask_endpoint(endpoint, chain_id, hash).await
    }
}

enum Next {
    Answer(Result<(usize, Result<NodeReport, SourceErrorKind>), JoinError>),
    Late,
    Nothing,
}

async fn next(asked: &mut Answers, until: Option<Instant>) -> Next {
    let answer = match until {
        None => asked.join_next().await,
        Some(until) => match timeout_at(until, asked.join_next()).await {
            Ok(answer) => answer,
            Err(_) => return Next::Late,
        },
    };
    answer.map_or(Next::Nothing, Next::Answer)
}

/// Asks one node for the transaction, and for its receipt once a block has it.
async fn ask_endpoint(
    endpoint: &Endpoint,
    chain_id: u64,
    hash: B256,
) -> Result<NodeReport, SourceErrorKind> {
    let read = |result: Option<&Json<'_>>| match result {
        Some(result) => read::transaction(result, chain_id, hash).map(Some),
        None => Ok(None),
    };
    let method = "eth_getTransactionByHash";
    let params = json!([hash]);
    let answer = endpoint.ask(TRANSACTION, method, &params, read).await;
    let Sourced { value, sources } = answer.map_err(kind)?;
    let transaction = match value {
        RpcReply::Value(Some(transaction)) => transaction,
        RpcReply::Value(None) => return Ok(NodeReport::Unknown(sources)),
        RpcReply::Reverted(_) | RpcReply::NoMethod => return Err(no_method(method)),
    };
    let Some(block) = transaction.block else {
        return Ok(NodeReport::Pending(Box::new(transaction), sources));
    };
    let read = |result: Option<&Json<'_>>| read::receipt(required(result)?, &transaction, block);
    let method = "eth_getTransactionReceipt";
    let answer = endpoint.ask(RECEIPT, method, &params, read).await;
    let (receipt, sources) = match answer {
        Ok(Sourced {
            value,
            sources: more,
        }) => match value {
            RpcReply::Value(receipt) => (Ok(receipt), sources.into_iter().chain(more).collect()),
            RpcReply::Reverted(_) | RpcReply::NoMethod => (Err(no_method(method)), sources),
        },
        Err(error) => (Err(kind(error)), sources),
    };
    Ok(NodeReport::Included(Box::new(Witness {
        transaction,
        receipt,
        sources,
    })))
}

impl Reports {
    /// Takes in a node's report. Returns what two nodes agree on.
    fn add(
        &mut self,
        report: Result<NodeReport, SourceErrorKind>,
    ) -> Option<(Known, Vec<Provenance>)> {
        match report {
            Ok(NodeReport::Included(witness)) => {
                if let Ok(receipt) = &witness.receipt
                    && self.witnesses.iter().any(|known| known.agrees(&witness))
                {
                    let receipt = Some(receipt.clone());
                    let known = (witness.transaction, receipt, Testimony::TwoNodes);
                    return Some((known, witness.sources));
                }
                self.witnesses.push(*witness);
            }
            Ok(NodeReport::Pending(transaction, sources)) => {
                self.pending.get_or_insert((*transaction, sources));
            }
            Ok(NodeReport::Unknown(sources)) => {
                self.unknown.get_or_insert(sources);
            }
            Err(kind) => self.failure = Some(kind),
        }
        None
    }

    /// Whether any node has reported the transaction.
    fn knows(&self) -> bool {
        self.pending.is_some() || self.witnesses.iter().any(|witness| witness.receipt.is_ok())
    }

    /// Whether more nodes are needed than those that were asked at once: no node knows the
    /// transaction, or their reports differ.
    fn wants_another(&self) -> bool {
        !matches!(self.witnesses.as_slice(), [one] if one.receipt.is_ok()
            && self.pending.is_none() && self.unknown.is_none() && self.failure.is_none())
    }

    /// The result when no two nodes agree.
    fn sum_up(self, nodes: usize) -> Result<(Option<Known>, Vec<Provenance>), SourceErrorKind> {
        let place = self
            .witnesses
            .iter()
            .position(|witness| witness.receipt.is_ok());
        let mut witnesses = self.witnesses;
        let Some(witness) = place.map(|place| witnesses.swap_remove(place)) else {
            // A node that knows the transaction without its outcome is no reason to call it
            // unknown.
            if let Some(Err(kind)) = witnesses.pop().map(|witness| witness.receipt) {
                return Err(kind);
            }
            return match (self.pending, self.unknown) {
                (Some((transaction, sources)), _) => {
                    let known = (transaction, None, Testimony::OneNode(PENDING));
                    Ok((Some(known), sources))
                }
                (None, Some(sources)) => Ok((None, sources)),
                (None, None) => Err(self.failure.unwrap_or(SourceErrorKind::Unreachable)),
            };
        };
        if witnesses.iter().any(|other| witness.contradicts(other)) {
            return Err(SourceErrorKind::Business {
                code: "nodes_disagree".to_owned(),
                message: "nodes differ about the transaction, and no two agree".to_owned(),
            });
        }
        let why = if nodes == 1 { ONLY_NODE } else { SILENT };
        let known = (
            witness.transaction,
            witness.receipt.ok(),
            Testimony::OneNode(why),
        );
        Ok((Some(known), witness.sources))
    }
}

impl Witness {
    fn agrees(&self, other: &Self) -> bool {
        let receipts = self.receipt.as_ref().ok().zip(other.receipt.as_ref().ok());
        same(&self.transaction, &other.transaction)
            && receipts.is_some_and(|(one, other)| one.agrees_with(other))
    }

    /// Whether both reports cannot be true. A node without a receipt says nothing about the
    /// outcome.
    fn contradicts(&self, other: &Self) -> bool {
        let receipts = self.receipt.as_ref().ok().zip(other.receipt.as_ref().ok());
        !same(&self.transaction, &other.transaction)
            || receipts.is_some_and(|(one, other)| !one.agrees_with(other))
    }
}

/// Whether two nodes report the same transaction. Members that some nodes leave out do not count.
fn same(one: &Transaction, other: &Transaction) -> bool {
    let compared = |sent: &Transaction| (sent.from, sent.to, sent.value, sent.block);
    compared(one) == compared(other) && one.input == other.input
}
