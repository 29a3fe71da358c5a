//! Several nodes of one chain. They are asked in a fixed order, with unhealthy nodes last. Where it
//! matters, their answers are compared.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::member::Member;
use super::view::View;
use super::{Head, Node, NodeFault, NodeFuture, Receipt, Refusal};
use crate::Hold;

/// How many blocks a node may be behind the newest known block and still be used first.
const MAX_LAG: u64 = 8;

/// How long the others are waited for after one node has answered.
const GRACE: Duration = Duration::from_millis(500);

/// The nodes of one chain, in the operator's order.
#[derive(Clone)]
pub(crate) struct Nodes {
    chain_id: u64,
    members: Vec<Arc<Member>>,
}

/// The nodes' answer to the question whether a block is canonical.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Canonical {
    Yes,
    No,
    /// No node has a block of this number.
    Missing,
    /// One node has this block, and another one has a different block of this number.
    Contradicted,
}

/// The result of sending signed bytes to the nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Delivery {
    /// Whether a node has the bytes.
    pub(crate) accepted: bool,
    /// Whether a node may have the bytes.
    pub(crate) shown: bool,
    /// The refusal, if every node that answered has refused for the same reason.
    pub(crate) refusal: Option<(Refusal, String)>,
    /// The balance that the refusal demands, in wei: the lowest one that a node has stated.
    pub(crate) needed: Option<U256>,
    /// The tip that the refusal demands, in wei per gas: the lowest one that a node has stated.
    pub(crate) least_tip: Option<u128>,
    /// Whether every node of the chain has answered. Until then the refusal is not final.
    pub(crate) by_all: bool,
    /// The first failure. It matters when no node has accepted the bytes.
    pub(crate) fault: Option<NodeFault>,
}

impl Nodes {
    pub(crate) fn new(chain_id: u64, nodes: Vec<Arc<dyn Node>>) -> Self {
        let members = nodes.into_iter().map(|node| Arc::new(Member::new(node)));
        Self {
            chain_id,
            members: members.collect(),
        }
    }

    /// Returns the members that serve the chain, in their order, with resting ones last.
    fn in_order(&self) -> Vec<Arc<Member>> {
        let confirmed = self.members.iter().filter(|member| member.is_confirmed());
        let mut members: Vec<_> = confirmed.cloned().collect();
        members.sort_by_key(|member| member.rests());
        members
    }

    /// Returns the members that do not rest. When all rest, returns all.
    fn awake(&self) -> Vec<Arc<Member>> {
        awake(&self.members)
    }

    /// Returns the members that have reported that they serve the chain. Leaves out resting ones,
    /// unless all rest.
    fn confirmed(&self) -> Vec<Arc<Member>> {
        let confirmed = self.members.iter().filter(|member| member.is_confirmed());
        awake(&confirmed.cloned().collect::<Vec<_>>())
    }

    /// Asks each member the same question at the same time. Returns the answers in the order of the
    /// members. After the first answer the others get only a little more time, and silent ones then
    /// rest.
    async fn ask_all<T: Send + 'static>(
        members: Vec<Arc<Member>>,
        question: impl for<'a> Fn(&'a Member) -> NodeFuture<'a, T> + Send + Sync + Clone + 'static,
    ) -> Vec<(Arc<Member>, Result<T, NodeFault>)> {
        let mut asked = JoinSet::new();
        let mut silent = members.clone();
        for (at, member) in members.into_iter().enumerate() {
            let question = question.clone();
            asked.spawn(async move {
                let answer = member.wait(|| question(&member)).await;
                (at, member, answer)
            });
        }
        let (mut answers, mut until) = (Vec::new(), None);
        loop {
            let next = match until {
                None => Ok(asked.join_next().await),
                Some(until) => tokio::time::timeout_at(until, asked.join_next()).await,
            };
            let Ok(next) = next else {
                silent.iter().for_each(|member| member.rest());
                break;
            };
            match next {
                Some(Ok((at, member, answer))) => {
                    silent.retain(|other| !Arc::ptr_eq(other, &member));
                    if answer.is_ok() {
                        until.get_or_insert_with(|| Instant::now() + GRACE);
                    }
                    answers.push((at, member, answer));
                }
                Some(Err(_)) => {}
                None => break,
            }
        }
        answers.sort_by_key(|(at, ..)| *at);
        answers
            .into_iter()
            .map(|(_, member, answer)| (member, answer))
            .collect()
    }

    /// Returns the lane's state from the first node in order that is not behind the others. If the
    /// node's head is the head of the `last` view, nothing more is asked.
    pub(crate) async fn view(&self, account: Address, last: Option<View>) -> Result<View, Hold> {
        let chain_id = self.chain_id;
        let heads = Self::ask_all(self.awake(), move |member| Box::pin(member.head(chain_id)));
        let heads = heads.await;
        let known = || {
            heads
                .iter()
                .filter_map(|(_, head)| head.as_ref().ok().copied())
        };
        let best = known().map(|head| head.number).max().unwrap_or_default();
        let mut fault = NodeFault::Unreachable;
        for (member, head) in &heads {
            let head = match head {
                Ok(head) if head.number.saturating_add(MAX_LAG) < best => continue,
                Ok(head) => *head,
                Err(other) => {
                    fault = other.clone();
                    continue;
                }
            };
            let agreed = known().all(|other| other.hash == head.hash);
            let last = last.as_ref().filter(|last| {
                Arc::ptr_eq(&last.member, member)
                    && last.head.hash == head.hash
                    && last.account == account
            });
            let linked = last.map(|last| last.linked.clone()).unwrap_or_default();
            let (linked, contradiction) = match Self::link(member, head, &heads, linked).await {
                Ok(linked) => linked,
                Err(other) => {
                    fault = other;
                    continue;
                }
            };
            if let Some(last) = last {
                return Ok(View {
                    head,
                    agreed,
                    linked,
                    contradiction,
                    ..last.clone()
                });
            }
            match member.wait(|| member.node.count(account, head.hash)).await {
                Ok(count) => {
                    return Ok(View {
                        member: Arc::clone(member),
                        account,
                        head,
                        agreed,
                        linked,
                        contradiction,
                        count,
                        balance: Arc::default(),
                        price: Arc::default(),
                        noop_gas: Arc::default(),
                        added_fees: Arc::default(),
                    });
                }
                Err(other) => fault = other,
            }
        }
        Err(Hold::Nodes(fault))
    }

    /// Compares a member's head with the heads of the others. The block of the lower one must be on
    /// the chain of the node with the higher one. Returns the heads for which that is known, and
    /// the number of the first block about which two nodes differ.
    ///
    /// A contradiction counts even if one of the nodes is far ahead.
    async fn link(
        member: &Arc<Member>,
        head: Head,
        heads: &[(Arc<Member>, Result<Head, NodeFault>)],
        mut linked: Vec<B256>,
    ) -> Result<(Vec<B256>, Option<u64>), NodeFault> {
        for (other, other_head) in heads {
            let Ok(other_head) = other_head else { continue };
            if other_head.hash == head.hash || linked.contains(&other_head.hash) {
                continue;
            }
            // The node with the higher head is asked for the block with the number of the lower
            // one.
            let (ahead, lower) = if other_head.number > head.number {
                (other, head)
            } else {
                (member, *other_head)
            };
            let shown = ahead.wait(|| ahead.node.block(lower.number)).await;
            match shown {
                Ok(Some(block)) if block.hash == lower.hash => linked.push(other_head.hash),
                Ok(_) => return Ok((linked, Some(lower.number))),
                Err(fault) if Arc::ptr_eq(ahead, member) => return Err(fault),
                // The other node does not answer any more, which says nothing.
                Err(_) => {}
            }
        }
        Ok((linked, None))
    }

    /// Whether the block with this number has this hash. Every node that has a block of this number
    /// is asked.
    pub(crate) async fn canonical(
        &self,
        view: &View,
        number: u64,
        hash: B256,
    ) -> Result<Canonical, Hold> {
        if view.agreed && (view.head.number, view.head.hash) == (number, hash) {
            return Ok(Canonical::Yes);
        }
        self.canonical_now(number, hash).await
    }

    /// Like [`Self::canonical`], but always asks the nodes for their current blocks.
    pub(crate) async fn canonical_now(&self, number: u64, hash: B256) -> Result<Canonical, Hold> {
        let blocks = Self::ask_all(self.confirmed(), move |member| member.node.block(number));
        let blocks = blocks.await;
        let (mut same, mut other, mut missing, mut fault) = (false, false, false, None);
        for (_, block) in blocks {
            match block {
                Ok(Some(block)) if block.hash == hash => same = true,
                Ok(Some(_)) => other = true,
                Ok(None) => missing = true,
                Err(reason) => fault = Some(reason),
            }
        }
        Ok(match (same, other) {
            (true, true) => Canonical::Contradicted,
            (true, false) => Canonical::Yes,
            (false, true) => Canonical::No,
            (false, false) if missing => Canonical::Missing,
            (false, false) => {
                return Err(Hold::Nodes(fault.unwrap_or(NodeFault::Unreachable)));
            }
        })
    }

    /// Returns the receipts of the transactions, each from the first node that has it.
    pub(crate) async fn receipts(&self, mut hashes: Vec<B256>) -> Vec<Receipt> {
        let mut found = Vec::new();
        for member in self.confirmed() {
            if hashes.is_empty() {
                break;
            }
            let ask = || member.node.receipts(hashes.clone());
            if let Ok(receipts) = member.wait(ask).await {
                found.extend(receipts.into_iter().flatten());
                hashes.retain(|hash| !found.iter().any(|receipt| receipt.hash == *hash));
            }
        }
        found
    }

    /// Sends signed bytes to the first node that accepts them, or to all nodes. The node of the
    /// view comes first, because the others may be behind. A node that has not reported that it
    /// serves the chain gets nothing.
    pub(crate) async fn deliver(&self, view: &View, raw: &Bytes, to_all: bool) -> Delivery {
        let mut delivery = Delivery {
            by_all: true,
            ..Delivery::default()
        };
        let mut kinds: Vec<(Refusal, String)> = Vec::new();
        let mut members = self.in_order();
        members.sort_by_key(|member| !Arc::ptr_eq(member, &view.member));
        for member in members {
            let answer = member.note(member.node.send(raw.clone()).await);
            if let Err(fault) = &answer {
                delivery.fault.get_or_insert(fault.clone());
            }
            match answer {
                Ok(()) => delivery.accepted = true,
                Err(NodeFault::Unreachable | NodeFault::OtherChain { .. }) => {
                    delivery.by_all = false;
                    continue;
                }
                Err(NodeFault::Lost { .. }) => delivery.by_all = false,
                Err(NodeFault::Refused { message, .. }) => match Refusal::read(&message) {
                    Refusal::Known => delivery.accepted = true,
                    kind => kinds.push((kind, message)),
                },
            }
            delivery.shown = true;
            if delivery.accepted && !to_all {
                break;
            }
        }
        if !delivery.accepted {
            let first = kinds.first().cloned();
            delivery.refusal =
                first.filter(|(first, _)| kinds.iter().all(|(kind, _)| kind == first));
            let words = kinds.iter().map(|(_, message)| message.as_str());
            delivery.needed = words.clone().filter_map(Refusal::needed).min();
            delivery.least_tip = words.filter_map(Refusal::least_tip).min();
        }
        delivery
    }
}

/// Returns the members that do not rest. When all rest, returns all.
fn awake(members: &[Arc<Member>]) -> Vec<Arc<Member>> {
    let awake = members.iter().filter(|member| !member.rests());
    let awake: Vec<_> = awake.cloned().collect();
    if awake.is_empty() {
        members.to_vec()
    } else {
        awake
    }
}
