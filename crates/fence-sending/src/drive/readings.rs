//! Reads the received amount and the remaining allowance of a plan from sealed blocks.

use delegation_fence::{Event, State};

use super::{Driver, Snapshot, Turn};
use crate::{SealedBlock, SendingFault};

impl Driver {
    /// Records the amount that the call has brought, once a node has its receipt.
    pub(super) async fn read_landing(&self, snapshot: &Snapshot) -> Result<Turn, SendingFault> {
        let admitted = &snapshot.kept.admitted;
        let landing = admitted.landing;
        let [_, _, Some((hash, block, _))] = snapshot.report().steps else {
            return Ok(Turn::Waits);
        };
        let received = self
            .shared
            .chain
            .received(landing.token, landing.account, hash, block);
        match received.await? {
            Some(amount) => self.append(snapshot, Event::Landed(amount)).await,
            None => Ok(Turn::Waits),
        }
    }

    /// Reads the allowance at a sealed block.
    pub(super) async fn read_allowance(
        &self,
        snapshot: &Snapshot,
        sealed: SealedBlock,
    ) -> Result<Event, SendingFault> {
        let admitted = &snapshot.kept.admitted;
        let (owner, block) = (admitted.account, sealed.block);
        let allowance = self
            .shared
            .chain
            .allowance(admitted.token, owner, admitted.spender, block);
        Ok(Event::ReadBack {
            allowance: allowance.await?,
            block,
        })
    }

    /// Reads again an allowance that the service cannot clear, because its owner may have cleared
    /// it.
    pub(super) async fn look_again(
        &self,
        snapshot: &Snapshot,
        sealed: SealedBlock,
    ) -> Result<Turn, SendingFault> {
        let event = self.read_allowance(snapshot, sealed).await?;
        match event {
            Event::ReadBack { allowance, .. } if snapshot.read_back() != Some(allowance) => {
                self.append(snapshot, event).await
            }
            _ => Ok(Turn::Rests(State::HaltedDirty)),
        }
    }
}
