//! What the nodes of a chain tell of one transaction, asked at the same time and held against each
//! other.

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
    rpc::endpoint::{Endpoint, Outcome},
};

/// Nodes that are asked at once. A further one is asked when these do not settle it.
const AT_ONCE: usize = 2;
/// What is known waits no longer for who confirms it.
const PATIENCE: Duration = Duration::from_millis(700);
/// Nobody else could be asked.
pub(super) const ONLY_NODE: &str = "only_one_node_configured";
/// Others were asked, and none said the same or something else.
const SILENT: &str = "other_nodes_do_not_answer";
/// There is nothing to agree about yet.
const PENDING: &str = "pending";

/// What a node tells of a transaction.
enum Told {
    /// It does not know it.
    Unknown(Vec<Provenance>),
    /// It knows it, and no block has it.
    Pending(Box<Transaction>, Vec<Provenance>),
    /// It knows it in a block.
    Included(Box<Witness>),
}

/// A transaction in a block, and what the same node tells of its outcome.
struct Witness {
    transaction: Transaction,
    receipt: Result<Receipt, SourceErrorKind>,
    sources: Vec<Provenance>,
}

/// What is known of a transaction, and on whose word; the receipt is `None` while no block has it.
pub(super) type Known = (Transaction, Option<Receipt>, Testimony);

type Answers = JoinSet<(usize, Result<Told, SourceErrorKind>)>;

/// What was told so far.
#[derive(Default)]
struct Heard {
    witnesses: Vec<Witness>,
    pending: Option<(Transaction, Vec<Provenance>)>,
    unknown: Option<Vec<Provenance>>,
    failure: Option<SourceErrorKind>,
}

impl EvmReader {
    /// A transaction as two nodes tell it, otherwise as the one that tells it does. It is unknown
    /// when one of them says so and none knows it.
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
        let mut heard = Heard::default();
        let mut until = None;
        loop {
            match next(&mut asked, until).await {
                Next::Answer(Ok((place, told))) => {
                    if let Some(agreed) = heard.hear(told) {
                        let (known, sources) = agreed;
                        return Ok(of_chain(chain_id, Some(known), sources));
                    }
                    if until.is_none() && heard.knows() {
                        until = Some(Instant::now() + PATIENCE);
                        chain.last_good.store(place, Ordering::Relaxed);
                    }
                    // One word waits for those that were asked already.
                    if heard.wants_another() {
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
        let (known, sources) = heard
            .sum_up(chain.endpoints.len())
            .map_err(|kind| SourceError {
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
    ) -> Result<Told, SourceErrorKind> {
        let chain = self.chain(chain_id).map_err(|error| error.kind)?;
        let endpoint = chain.endpoints.get(place);
        let endpoint = endpoint.ok_or(SourceErrorKind::Unreachable)?;
        told(endpoint, chain_id, hash).await
    }
}

enum Next {
    Answer(Result<(usize, Result<Told, SourceErrorKind>), JoinError>),
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
async fn told(endpoint: &Endpoint, chain_id: u64, hash: B256) -> Result<Told, SourceErrorKind> {
    let read = |result: Option<&Json<'_>>| match result {
        Some(result) => read::transaction(result, chain_id, hash).map(Some),
        None => Ok(None),
    };
    let method = "eth_getTransactionByHash";
    let params = json!([hash]);
    let answer = endpoint.ask(TRANSACTION, method, &params, read).await;
    let Sourced { value, sources } = answer.map_err(kind)?;
    let transaction = match value {
        Outcome::Value(Some(transaction)) => transaction,
        Outcome::Value(None) => return Ok(Told::Unknown(sources)),
        Outcome::Reverted(_) | Outcome::NoMethod => return Err(no_method(method)),
    };
    let Some(block) = transaction.block else {
        return Ok(Told::Pending(Box::new(transaction), sources));
    };
    let read = |result: Option<&Json<'_>>| read::receipt(required(result)?, &transaction, block);
    let method = "eth_getTransactionReceipt";
    let answer = endpoint.ask(RECEIPT, method, &params, read).await;
    let (receipt, sources) = match answer {
        Ok(Sourced {
            value,
            sources: more,
        }) => match value {
            Outcome::Value(receipt) => (Ok(receipt), sources.into_iter().chain(more).collect()),
            Outcome::Reverted(_) | Outcome::NoMethod => (Err(no_method(method)), sources),
        },
        Err(error) => (Err(kind(error)), sources),
    };
    Ok(Told::Included(Box::new(Witness {
        transaction,
        receipt,
        sources,
    })))
}

impl Heard {
    /// Takes in what a node told; what two agree on is known.
    fn hear(&mut self, told: Result<Told, SourceErrorKind>) -> Option<(Known, Vec<Provenance>)> {
        match told {
            Ok(Told::Included(witness)) => {
                if let Ok(receipt) = &witness.receipt
                    && self.witnesses.iter().any(|known| known.agrees(&witness))
                {
                    let receipt = Some(receipt.clone());
                    let known = (witness.transaction, receipt, Testimony::TwoNodes);
                    return Some((known, witness.sources));
                }
                self.witnesses.push(*witness);
            }
            Ok(Told::Pending(transaction, sources)) => {
                self.pending.get_or_insert((*transaction, sources));
            }
            Ok(Told::Unknown(sources)) => {
                self.unknown.get_or_insert(sources);
            }
            Err(kind) => self.failure = Some(kind),
        }
        None
    }

    /// Whether there is something to tell.
    fn knows(&self) -> bool {
        self.pending.is_some() || self.witnesses.iter().any(|told| told.receipt.is_ok())
    }

    /// Whether more nodes are needed than those that were asked at once: nobody has told it yet, or
    /// not all say the same.
    fn wants_another(&self) -> bool {
        !matches!(self.witnesses.as_slice(), [one] if one.receipt.is_ok()
            && self.pending.is_none() && self.unknown.is_none() && self.failure.is_none())
    }

    /// What is known when no two agree.
    fn sum_up(self, nodes: usize) -> Result<(Option<Known>, Vec<Provenance>), SourceErrorKind> {
        let told = self.witnesses.iter().position(|told| told.receipt.is_ok());
        let mut witnesses = self.witnesses;
        let Some(told) = told.map(|place| witnesses.swap_remove(place)) else {
            // A node that knows the transaction and not its outcome is no reason to call it
            // unknown.
            if let Some(Err(kind)) = witnesses.pop().map(|told| told.receipt) {
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
        if witnesses.iter().any(|other| told.contradicts(other)) {
            return Err(SourceErrorKind::Business {
                code: "nodes_disagree".to_owned(),
                message: "nodes tell different things of the transaction, and no two agree"
                    .to_owned(),
            });
        }
        let why = if nodes == 1 { ONLY_NODE } else { SILENT };
        let known = (told.transaction, told.receipt.ok(), Testimony::OneNode(why));
        Ok((Some(known), told.sources))
    }
}

impl Witness {
    fn agrees(&self, other: &Self) -> bool {
        let receipts = self.receipt.as_ref().ok().zip(other.receipt.as_ref().ok());
        same(&self.transaction, &other.transaction)
            && receipts.is_some_and(|(one, other)| one.tells_the_same(other))
    }

    /// Whether both cannot be true. A node that has no receipt says nothing of the outcome.
    fn contradicts(&self, other: &Self) -> bool {
        let receipts = self.receipt.as_ref().ok().zip(other.receipt.as_ref().ok());
        !same(&self.transaction, &other.transaction)
            || receipts.is_some_and(|(one, other)| !one.tells_the_same(other))
    }
}

/// Whether two nodes tell the same of what was sent. Members that some nodes leave out do not
/// count.
fn same(one: &Transaction, other: &Transaction) -> bool {
    let told = |sent: &Transaction| (sent.from, sent.to, sent.value, sent.block);
    told(one) == told(other) && one.input == other.input
}
