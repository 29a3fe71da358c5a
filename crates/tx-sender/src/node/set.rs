//! Several nodes of one chain: asked in a fixed order with health, compared with each other where it matters.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Head, Node, NodeFault, NodeFuture, Receipt, Refusal};
use crate::{Hold, Inclusion, Market};

/// How many blocks a node may be behind the newest head that any node shows, and still be asked first.
const MAX_LAG: u64 = 8;

/// How long a node that did not answer is asked last.
const REST: Duration = Duration::from_secs(10);

/// How many blocks back the user of a nonce is searched for.
const MAX_SEARCH: u64 = 1 << 16;

/// The nodes of one chain, in the operator's order.
#[derive(Clone)]
pub(crate) struct Nodes {
    chain_id: u64,
    members: Vec<Arc<Member>>,
}

struct Member {
    node: Arc<dyn Node>,
    confirmed: AtomicBool,
    rests_until: Mutex<Option<Instant>>,
}

/// What a lane looks like from one node, as of one block.
#[derive(Clone)]
pub(crate) struct View {
    member: Arc<Member>,
    pub(crate) head: Head,
    /// How many of the account's transactions stand in canonical blocks.
    pub(crate) count: u64,
}

/// What the nodes say of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Canonical {
    Yes,
    No,
    /// No node has a block of this number.
    Missing,
    /// One has this block and another one has another.
    Contradicted,
}

/// What became of signed bytes that were handed to the nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Delivery {
    /// A node has them.
    pub(crate) accepted: bool,
    /// A node may have them.
    pub(crate) shown: bool,
    /// What every node that answered said, in one kind of words.
    pub(crate) refusal: Option<(Refusal, String)>,
}

impl Member {
    fn rests(&self) -> bool {
        let until = self.rests_until.lock();
        until
            .unwrap_or_else(PoisonError::into_inner)
            .is_some_and(|until| Instant::now() < until)
    }

    /// Notes a failure that is the node's own, and no answer.
    fn note<T>(&self, answer: Result<T, NodeFault>) -> Result<T, NodeFault> {
        let until = match &answer {
            Err(NodeFault::Refused { .. }) => return answer,
            Err(_) => Some(Instant::now() + REST),
            Ok(_) => None,
        };
        *self
            .rests_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = until;
        answer
    }

    async fn head(&self, chain_id: u64) -> Result<Head, NodeFault> {
        if !self.confirmed.load(Ordering::Relaxed) {
            let observed = self.node.chain_id().await?;
            if observed != chain_id {
                return Err(NodeFault::OtherChain {
                    expected: chain_id,
                    observed,
                });
            }
            self.confirmed.store(true, Ordering::Relaxed);
        }
        self.node.head().await
    }
}

impl Nodes {
    pub(crate) fn new(chain_id: u64, nodes: Vec<Arc<dyn Node>>) -> Self {
        let members = nodes.into_iter().map(|node| {
            Arc::new(Member {
                node,
                confirmed: AtomicBool::new(false),
                rests_until: Mutex::new(None),
            })
        });
        Self {
            chain_id,
            members: members.collect(),
        }
    }

    /// The members in their order, those that rest behind the others.
    fn in_order(&self) -> Vec<Arc<Member>> {
        let mut members = self.members.clone();
        members.sort_by_key(|member| member.rests());
        members
    }

    /// Those that do not rest; all, when all do.
    fn awake(&self) -> Vec<Arc<Member>> {
        let awake = self.members.iter().filter(|member| !member.rests());
        let awake: Vec<_> = awake.cloned().collect();
        if awake.is_empty() {
            self.members.clone()
        } else {
            awake
        }
    }

    /// Asks each of them the same at once; the answers in their order.
    async fn ask_all<T: Send + 'static>(
        members: Vec<Arc<Member>>,
        question: impl for<'a> Fn(&'a Member) -> NodeFuture<'a, T> + Send + Clone + 'static,
    ) -> Vec<(Arc<Member>, Result<T, NodeFault>)> {
        let mut asked = JoinSet::new();
        for (at, member) in members.into_iter().enumerate() {
            let question = question.clone();
            asked.spawn(async move {
                let answer = question(&member).await;
                let answer = member.note(answer);
                (at, member, answer)
            });
        }
        let mut answers = asked.join_all().await;
        answers.sort_by_key(|(at, ..)| *at);
        answers
            .into_iter()
            .map(|(_, member, answer)| (member, answer))
            .collect()
    }

    /// The lane from the first node in order that is not behind the others.
    pub(crate) async fn view(&self, account: Address) -> Result<View, Hold> {
        let chain_id = self.chain_id;
        let heads =
            Self::ask_all(self.awake(), move |member| Box::pin(member.head(chain_id))).await;
        let best = heads
            .iter()
            .filter_map(|(_, head)| Some(head.as_ref().ok()?.number))
            .max()
            .unwrap_or_default();
        let mut fault = NodeFault::Unreachable;
        for (member, head) in heads {
            match head {
                Ok(head) if head.number.saturating_add(MAX_LAG) < best => {}
                Ok(head) => match member.note(member.node.count(account, head.hash).await) {
                    Ok(count) => {
                        return Ok(View {
                            member,
                            head,
                            count,
                        });
                    }
                    Err(other) => fault = other,
                },
                Err(other) => fault = other,
            }
        }
        Err(Hold::Nodes(fault))
    }

    /// Whether the block with this number is the one with this hash, by every node that has one of the number.
    pub(crate) async fn canonical(&self, number: u64, hash: B256) -> Result<Canonical, Hold> {
        let blocks = Self::ask_all(self.awake(), move |member| member.node.block(number)).await;
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

    /// The transaction's receipt, of the first node that has one.
    pub(crate) async fn receipt(&self, hash: B256) -> Option<Receipt> {
        for member in self.in_order() {
            if let Ok(Some(receipt)) = member.note(member.node.receipt(hash).await) {
                return Some(receipt);
            }
        }
        None
    }

    /// Hands signed bytes to the first node that takes them, or to all. The node of the view comes first: the others may be behind.
    pub(crate) async fn deliver(&self, view: &View, raw: &Bytes, to_all: bool) -> Delivery {
        let mut delivery = Delivery::default();
        let mut kinds: Vec<(Refusal, String)> = Vec::new();
        let mut members = self.in_order();
        members.sort_by_key(|member| !Arc::ptr_eq(member, &view.member));
        for member in members {
            match member.note(member.node.send(raw.clone()).await) {
                Ok(()) => delivery.accepted = true,
                Err(NodeFault::Unreachable | NodeFault::OtherChain { .. }) => continue,
                Err(NodeFault::Lost { .. }) => {}
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
        }
        delivery
    }
}

impl View {
    /// The account's coins as of the head.
    pub(crate) async fn balance(&self, account: Address) -> Result<U256, Hold> {
        let balance = self.member.node.balance(account, self.head.hash).await;
        self.member.note(balance).map_err(Hold::Nodes)
    }

    /// What gas costs as of the head.
    pub(crate) async fn market(&self) -> Result<Market, Hold> {
        let node = &self.member.node;
        let market = async {
            let Some(base) = self.head.base_fee else {
                let price = node.gas_price().await?;
                return Ok(Market::Legacy { price });
            };
            let tip = match node.priority_fee().await {
                Ok(tip) => tip,
                // Not every node has the method; its gas price is base fee and tip.
                Err(NodeFault::Refused { .. }) => node.gas_price().await?.saturating_sub(base),
                Err(fault) => return Err(fault),
            };
            Ok(Market::Dynamic { base, tip })
        };
        self.member.note(market.await).map_err(Hold::Nodes)
    }

    /// The transaction of the account that has used a nonce below [`count`](Self::count), as the blocks show it. `None` when
    /// they cannot be read so far back.
    pub(crate) async fn user_of(
        &self,
        account: Address,
        nonce: u64,
    ) -> Result<Option<Inclusion>, NodeFault> {
        let node = &self.member.node;
        let is_used =
            async |number: u64| Ok::<_, NodeFault>(node.count_at(account, number).await? > nonce);
        let (mut used, mut step) = (self.head.number, 1);
        // Back in steps that double to a block before it, then the middle between the two.
        let mut unused = loop {
            if step > MAX_SEARCH {
                return Ok(None);
            }
            let number = self.head.number.saturating_sub(step);
            if number == 0 || !is_used(number).await? {
                break number;
            }
            (used, step) = (number, step.saturating_mul(2));
        };
        while used.saturating_sub(unused) > 1 {
            let middle = unused.midpoint(used);
            if is_used(middle).await? {
                used = middle;
            } else {
                unused = middle;
            }
        }
        let Some((block, mined)) = node.transactions(used).await? else {
            return Ok(None);
        };
        let user = mined
            .into_iter()
            .find(|mined| mined.from == account && mined.nonce == nonce);
        Ok(user.map(|mined| Inclusion {
            hash: mined.hash,
            number: used,
            block,
            // Of a transaction that is not ours nobody asks.
            succeeded: true,
        }))
    }
}
