//! What became of a transaction that was ordered.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes};
use delegation_fence::onchain::ChainGrant;
use delegation_fence::{Block, Event, Transaction};
use fence_server::KeptSubmission;
use tx_sender::{
    Inclusion, Lane, Record, SenderError, SignError, SignFuture, State, TransactionSigner, Unsigned,
};

use super::{Driver, Standing, Turn};
use crate::Fault;

impl Driver {
    /// Asks the sender's records, and writes the answer when there is one. Nothing is handed over
    /// to be signed here.
    pub(super) async fn resolve(
        &mut self,
        standing: &Standing,
        transaction: Transaction,
        cancel: bool,
    ) -> Result<Turn, Fault> {
        let key = standing.key(transaction);
        let lane = self.lane(standing).await?;
        let sender = &self.shared.sender;
        let record = match sender.find(&key).await? {
            Some(record) => record,
            // It was ordered by a process that did not come to hand it over. Should that one wake
            // up it finds this record, and nothing is signed.
            None => sender.forbid(&key, lane).await?,
        };
        if !self.woken {
            // After a restart nobody works the lane of an account until it is asked for.
            sender.wake(lane)?;
            self.woken = true;
        }
        let record = match cancel && is_open(&record) && record.closing.is_none() {
            true => match sender.cancel(&key).await {
                Ok(record) => record,
                // A block has it.
                Err(SenderError::TooLate(_)) => return Ok(Turn::Waits),
                Err(error) => return Err(error.into()),
            },
            false => record,
        };
        let event = match record.state {
            State::Sealed(inclusion) => self.sealed(standing, transaction, inclusion, true).await?,
            State::Failed(inclusion) => {
                self.sealed(standing, transaction, inclusion, false).await?
            }
            State::Replaced(_) | State::Abandoned(Some(_)) => Event::Void(transaction),
            State::Abandoned(None) => Event::Unsent(transaction),
            State::Prepared
            | State::Claimed
            | State::Signed
            | State::Broadcast
            | State::Mined(_) => {
                self.changed(&key).await?;
                return Ok(Turn::Went);
            }
        };
        self.append(standing, event).await
    }

    /// A sealed transaction with the allowance at its block.
    async fn sealed(
        &self,
        standing: &Standing,
        transaction: Transaction,
        inclusion: Inclusion,
        effective: bool,
    ) -> Result<Event, Fault> {
        let admitted = &standing.kept.admitted;
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

    /// Waits for the record to change, for as long as one look is apart from the next.
    async fn changed(&self, key: &str) -> Result<(), Fault> {
        let mut watch = self.shared.sender.watch(key).await?;
        let changed = tokio::time::timeout(self.shared.pace.look, watch.changed());
        match changed.await {
            Ok(changed) => changed.map(drop).map_err(Fault::from),
            Err(_) => Ok(()),
        }
    }

    /// The lane of the account's transactions. Without a signer it is that of who has signed
    /// before: what was signed is followed to its end there, and nothing is signed.
    pub(super) async fn lane(&self, standing: &Standing) -> Result<Lane, Fault> {
        let admitted = &standing.kept.admitted;
        let signer = match self.route(standing) {
            Some(route) => route.signer(admitted.account).await?,
            None => None,
        };
        let signer = signer.unwrap_or_else(|| Arc::new(Nobody(sent_by(&standing.kept))));
        let account = signer.account();
        self.shared.sender.add_signer(signer);
        Ok(Lane {
            chain_id: admitted.chain_id,
            account,
        })
    }
}

/// Who signs the transactions of a plan: the account itself, or who redeems its delegations.
fn sent_by(kept: &KeptSubmission) -> Address {
    let grant = kept.view.grant.as_ref();
    let delegated = grant.and_then(|grant| {
        let typed_data = grant.signed.typed_data();
        ChainGrant::restore(typed_data, &grant.delegations).ok()
    });
    delegated.map_or(kept.admitted.account, |grant| grant.redeemer())
}

/// Stands for the key of an account that nobody has any more.
struct Nobody(Address);

impl TransactionSigner for Nobody {
    fn account(&self) -> Address {
        self.0
    }

    fn sign<'a>(&'a self, _: &'a Unsigned) -> SignFuture<'a, Bytes> {
        Box::pin(async { Err(SignError::Unavailable) })
    }
}

/// Whether a request may still be given up.
fn is_open(record: &Record) -> bool {
    matches!(
        record.state,
        State::Prepared | State::Claimed | State::Signed | State::Broadcast
    )
}
