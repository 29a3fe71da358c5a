//! Finds the outcome of an ordered transaction.
//!
//! The sender's record decides. A transaction without a record is forbidden there first, so that
//! nobody can sign it later. Nothing new is signed here.

use alloy_primitives::Address;
use delegation_fence::onchain::ChainGrant;
use delegation_fence::{Block, Event, Transaction};
use fence_server::KeptSubmission;
use gas_funding::{Workload, demanded};
use tx_sender::{Inclusion, Lane, Record, SenderError, State};

use super::{Driver, Snapshot, Turn};
use crate::key::Purpose;
use crate::{SealedBlock, SendingFault};

impl Driver {
    /// Reads the sender's record and writes the outcome, when there is one. While there is none,
    /// the payer gets the coins that it lacks as of this sealed block. With `cancel`, it first asks
    /// the sender to cancel the transaction. It hands nothing over for signing.
    pub(super) async fn resolve(
        &mut self,
        snapshot: &Snapshot,
        transaction: Transaction,
        sealed: SealedBlock,
        cancel: bool,
    ) -> Result<Turn, SendingFault> {
        let key = snapshot.key(transaction);
        let lane = self.lane(snapshot).await?;
        let sender = &self.shared.sender;
        let record = match sender.find(&key).await? {
            Some(record) => record,
            // The process that wrote the order has not handed it over. If that process continues
            // later, it finds this closed record and signs nothing.
            None => sender.forbid(&key, lane).await?,
        };
        if !self.woken {
            // After a restart the sender works a lane only when it is woken.
            sender.wake(lane)?;
            self.woken = true;
        }
        let record = match cancel && is_open(&record) && record.closing.is_none() {
            true => match sender.cancel(&key).await {
                Ok(record) => record,
                // A block contains the transaction.
                Err(SenderError::TooLate(_)) => return Ok(Turn::Waits),
                Err(error) => return Err(error.into()),
            },
            false => record,
        };
        let event = match record.state {
            State::Sealed(inclusion) => self.sealed(snapshot, transaction, inclusion, true).await?,
            State::Failed(inclusion) => {
                self.sealed(snapshot, transaction, inclusion, false).await?
            }
            State::Replaced(_) | State::Abandoned(Some(_)) => Event::Void(transaction),
            State::Abandoned(None) => Event::Unsent(transaction),
            State::Prepared
            | State::Claimed
            | State::Signed
            | State::Broadcast
            | State::Mined(_) => {
                if is_open(&record) {
                    // Coins for a step are useless after the plan's time, and those for the
                    // transaction that closes its nonce are not.
                    let purpose = match record.closing {
                        None => Purpose::of(transaction),
                        Some(_) => Purpose::Clearing,
                    };
                    self.repair(snapshot, purpose, lane, sealed).await?;
                }
                self.changed(&key).await?;
                return Ok(Turn::Progressed);
            }
        };
        self.append(snapshot, event).await
    }

    /// Sends the coins that an ordered transaction lacks, within the budgets. Without them, it
    /// waits.
    async fn repair(
        &self,
        snapshot: &Snapshot,
        purpose: Purpose,
        lane: Lane,
        sealed: SealedBlock,
    ) -> Result<(), SendingFault> {
        let hold = self.shared.sender.status(lane).hold;
        let least = hold.as_ref().and_then(demanded);
        let (Some(least), Some(route)) = (least, self.route(snapshot)) else {
            return Ok(());
        };
        let (admitted, payer) = (&snapshot.kept.admitted, lane.account);
        let need = (purpose, Workload::NONE, least);
        let funds = self
            .shared
            .fund(admitted, route, payer, need, sealed.block, self.turn);
        funds.await.map(drop)
    }

    /// The event of a sealed transaction, with the allowance at its block.
    async fn sealed(
        &self,
        snapshot: &Snapshot,
        transaction: Transaction,
        inclusion: Inclusion,
        effective: bool,
    ) -> Result<Event, SendingFault> {
        let admitted = &snapshot.kept.admitted;
        let block = Block {
            number: inclusion.number,
            hash: inclusion.block,
        };
        let (owner, spender) = (admitted.account, admitted.spender);
        let chain = &self.shared.chain;
        let allowance = chain.allowance(admitted.token, owner, spender, block);
        Ok(Event::Sealed {
            transaction,
            hash: inclusion.hash,
            block,
            effective,
            allowance: allowance.await?,
        })
    }

    /// Waits until the record changes, at most for the pause between two turns.
    async fn changed(&self, key: &str) -> Result<(), SendingFault> {
        let mut watch = self.shared.sender.watch(key).await?;
        let changed = tokio::time::timeout(self.shared.pace.look, watch.changed());
        match changed.await {
            Ok(changed) => changed.map(drop).map_err(SendingFault::from),
            Err(_) => Ok(()),
        }
    }

    /// The lane of the plan's transactions. While the account has no signer, the lane is that of
    /// the former signer: signed transactions are followed to their end, and nothing new is signed.
    pub(super) async fn lane(&self, snapshot: &Snapshot) -> Result<Lane, SendingFault> {
        let admitted = &snapshot.kept.admitted;
        let signer = match self.route(snapshot) {
            Some(route) => route.signer(admitted.account).await?,
            None => None,
        };
        let sender = &self.shared.sender;
        let account = match signer {
            Some(signer) => {
                let account = signer.account();
                sender.add_signer(signer);
                account
            }
            None => {
                let account = sent_by(&snapshot.kept);
                sender.add_account(account);
                account
            }
        };
        Ok(Lane {
            chain_id: admitted.chain_id,
            account,
        })
    }
}

/// The account that sends the plan's transactions: the account itself, or the redeemer of its
/// delegations.
fn sent_by(kept: &KeptSubmission) -> Address {
    let grant = kept.view.grant.as_ref();
    let delegated = grant.and_then(|grant| {
        let typed_data = grant.signed.typed_data();
        ChainGrant::restore(typed_data, &grant.delegations).ok()
    });
    delegated.map_or(kept.admitted.account, |grant| grant.redeemer())
}

/// Whether a request can still be cancelled.
fn is_open(record: &Record) -> bool {
    matches!(
        record.state,
        State::Prepared | State::Claimed | State::Signed | State::Broadcast
    )
}
