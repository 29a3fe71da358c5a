//! The state of a lane as one node shows it.

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use tokio::sync::{Mutex, OnceCell};

use super::member::Member;
use super::{Head, NodeFault};
use crate::record::NOOP_GAS;
use crate::{Hold, Inclusion, Market};

/// How many blocks back the search for the transaction that used a nonce goes.
const MAX_SEARCH: u64 = 1 << 16;

/// The state of a lane at one node, as of one block. Each fact is asked for once.
#[derive(Clone)]
pub(crate) struct View {
    pub(super) member: Arc<Member>,
    pub(super) account: Address,
    pub(crate) head: Head,
    /// Whether every node that answered has this head.
    pub(super) agreed: bool,
    /// Heads of other nodes that are known to be on the same chain as this one.
    pub(super) linked: Vec<B256>,
    /// The number of a block about which another node differs. The content of blocks is then not
    /// used.
    pub(crate) contradiction: Option<u64>,
    /// How many transactions the account has in canonical blocks.
    pub(crate) count: u64,
    pub(super) balance: Arc<OnceCell<U256>>,
    /// The tip, or the gas price of a chain without a base fee.
    pub(super) price: Arc<OnceCell<u128>>,
    /// The gas of an empty transfer to the account itself.
    pub(super) noop_gas: Arc<OnceCell<u64>>,
    /// The calldata and the gas of the transaction whose added fees were last asked for, and these
    /// fees.
    pub(super) added_fees: Arc<Mutex<Option<(usize, u64, U256)>>>,
}

impl View {
    /// Returns the account's balance as of the head.
    pub(crate) async fn balance(&self) -> Result<U256, Hold> {
        let balance = self.balance.get_or_try_init(|| {
            let ask = || self.member.node.balance(self.account, self.head.hash);
            self.member.wait(ask)
        });
        balance.await.copied().map_err(Hold::Nodes)
    }

    /// Returns the gas price as of the head.
    pub(crate) async fn market(&self) -> Result<Market, Hold> {
        let node = &self.member.node;
        let asked = self.price.get_or_try_init(|| {
            let ask = || async {
                let Some(base) = self.head.base_fee else {
                    return node.gas_price().await;
                };
                match node.priority_fee().await {
                    // Not every node has this method. The gas price of such a node is base fee plus
                    // tip.
                    Err(NodeFault::Refused { .. }) => {
                        Ok(node.gas_price().await?.saturating_sub(base))
                    }
                    tip => tip,
                }
            };
            self.member.wait(ask)
        });
        let price = *asked.await.map_err(Hold::Nodes)?;
        Ok(match self.head.base_fee {
            Some(base) => Market::Dynamic { base, tip: price },
            None => Market::Legacy { price },
        })
    }

    /// Returns the most that the chain adds to the gas of a transaction with at most this much
    /// calldata and gas, as of the head. Zero when the node refuses to say it.
    pub(crate) async fn added_fees(&self, bytes: usize, gas: u64) -> Result<U256, Hold> {
        let mut last = self.added_fees.lock().await;
        match *last {
            Some((most_bytes, most_gas, fees)) if most_bytes >= bytes && most_gas >= gas => {
                return Ok(fees);
            }
            _ => {}
        }
        let node = &self.member.node;
        let ask = || async {
            match node.added_fees((bytes, gas), self.head.hash).await {
                Err(NodeFault::Refused { .. }) => Ok(U256::ZERO),
                fees => fees,
            }
        };
        let fees = self.member.wait(ask).await.map_err(Hold::Nodes)?;
        *last = Some((bytes, gas, fees));
        Ok(fees)
    }

    /// Returns the gas for an empty transfer to the account itself. It is a quarter more than the
    /// node's estimate, because on some chains gas also pays for another chain's. When the node
    /// does not estimate, it is the minimum that every chain has.
    pub(crate) async fn noop_gas(&self) -> Result<u64, Hold> {
        let gas = self.noop_gas.get_or_try_init(|| {
            let ask = || async {
                match self.member.node.noop_gas(self.account).await {
                    Err(NodeFault::Refused { .. }) => Ok(NOOP_GAS),
                    Ok(gas) if gas <= NOOP_GAS => Ok(NOOP_GAS),
                    Ok(gas) => Ok(gas.saturating_add(gas / 4)),
                    Err(fault) => Err(fault),
                }
            };
            self.member.wait(ask)
        });
        gas.await.copied().map_err(Hold::Nodes)
    }

    /// Finds the account's transaction that used a nonce below [`count`](Self::count) in the
    /// blocks. `None` when the blocks cannot be read so far back.
    pub(crate) async fn user_of(
        &self,
        account: Address,
        nonce: u64,
    ) -> Result<Option<Inclusion>, NodeFault> {
        let node = &self.member.node;
        let is_used =
            async |number: u64| Ok::<_, NodeFault>(node.count_at(account, number).await? > nonce);
        let (mut used, mut step) = (self.head.number, 1);
        // Goes back in doubling steps to a block before the transaction, then bisects.
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
            // The outcome of a transaction of another sender does not matter.
            succeeded: true,
        }))
    }
}
