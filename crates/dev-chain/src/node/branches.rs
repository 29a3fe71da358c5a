//! Blocks that are proposed and never made, and blocks that are removed.

use super::{Head, Node};

/// The fate of the transactions of removed blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// They wait for another block.
    Waiting,
    /// They are dropped.
    Dropped,
}

impl Node {
    /// From now on blocks have other hashes than those of a copy.
    pub(crate) fn leave_branch(&mut self) {
        self.branch = self.branch.saturating_add(1 << 32);
    }

    /// Shows the receipts of a block with all ready transactions, without making it. The next real
    /// block has another hash.
    pub(crate) fn preconfirm(&mut self) {
        let mut proposed = self.clone();
        self.branch = self.branch.saturating_add(1);
        proposed.branch = self.branch;
        proposed.mine(usize::MAX);
        self.preconfirmed = proposed.blocks.pop();
        self.branch = self.branch.saturating_add(1);
    }

    /// Removes the preconfirmed block; its transactions get this fate.
    pub(crate) fn drop_preconfirmed(&mut self, fate: Fate) {
        let Some(block) = self.preconfirmed.take() else {
            return;
        };
        if fate == Fate::Dropped {
            for mined in &block.transactions {
                self.pool.evict(*mined.transaction.tx_hash());
            }
        }
    }

    /// Removes the newest blocks and makes as many others and one more, all empty.
    pub(crate) fn reorganise(&mut self, depth: u64, fate: Fate) {
        let depth = depth.min(self.head.number);
        let mut gone = Vec::new();
        for _ in 0..depth {
            let Some(block) = self.blocks.pop() else {
                break;
            };
            self.numbers.remove(&block.hash());
            self.state.revert_block();
            for mined in &block.transactions {
                self.places.remove(mined.transaction.tx_hash());
            }
            gone.push(block);
        }
        if let Some(block) = self.blocks.last() {
            self.head = Head {
                number: block.number(),
                timestamp: block.timestamp(),
                hash: block.hash(),
            };
        }
        self.branch = self.branch.saturating_add(1);
        for _ in 0..=depth {
            self.mine(0);
        }
        if fate == Fate::Waiting {
            for block in gone.into_iter().rev() {
                for mined in block.transactions {
                    self.pool.put_back(mined.transaction);
                }
            }
        }
    }
}
