//! The blocks of a plan's transactions: which are gone, which are watched, which are final.

use delegation_fence::{Block, Transaction};
use fence_server::Lease;
use tx_sender::Record;

use super::{Driver, Snapshot};
use crate::SendingFault;

impl Driver {
    /// A transaction whose block is gone, according to the sender's records. The sender watches
    /// each outcome for as long as a reorganisation is expected to reach it.
    pub(super) async fn gone(
        &mut self,
        snapshot: &Snapshot,
    ) -> Result<Option<Transaction>, SendingFault> {
        for (transaction, block) in snapshot.sealed() {
            let record = self.shared.sender.find(&snapshot.key(transaction)).await?;
            let Some(record) = record else { continue };
            if !is_in(&record, block) {
                return Ok(Some(transaction));
            }
            if !record.is_final {
                self.watch(snapshot).await;
            }
        }
        Ok(None)
    }

    /// Wakes the sender to watch the blocks of the plan's transactions. After a restart the sender
    /// works a lane only when it is woken, and its records would not show a reorganisation.
    async fn watch(&mut self, snapshot: &Snapshot) {
        if self.woken {
            return;
        }
        let woken = match self.lane(snapshot).await {
            Ok(lane) => self.shared.sender.wake(lane).map_err(SendingFault::from),
            Err(fault) => Err(fault),
        };
        match woken {
            Ok(()) => self.woken = true,
            // The plan does not wait for it. The next turn tries again.
            Err(fault) => {
                tracing::warn!(plan = %self.plan, %fault, "an account's blocks are not watched");
            }
        }
    }

    /// Whether no reorganisation is expected to reach any transaction of the plan.
    pub(crate) async fn is_final(&self) -> Result<bool, SendingFault> {
        let Some(kept) = self.shared.store().submission(self.plan).await? else {
            return Ok(true);
        };
        let snapshot = Snapshot {
            sending: kept.sending()?,
            lease: Lease {
                account: kept.admitted.account,
                token: 0,
            },
            kept,
        };
        for (transaction, block) in snapshot.sealed() {
            let record = self.shared.sender.find(&snapshot.key(transaction)).await?;
            if record.is_some_and(|record| !record.is_final || !is_in(&record, block)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether the transaction is still in this block, according to the sender's record.
fn is_in(record: &Record, block: Block) -> bool {
    let outcome = match record.state {
        tx_sender::State::Sealed(inclusion) | tx_sender::State::Failed(inclusion) => inclusion,
        _ => return false,
    };
    (outcome.number, outcome.block) == (block.number, block.hash)
}
