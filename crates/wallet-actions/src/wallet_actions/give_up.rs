//! Forbids orders, and cancels intents of which nothing is signed.
//!
//! A caller that no longer waits for an action uses these functions. Each answer is final: what is
//! cancelled or forbidden does not happen, also across restarts. [`WalletActions::forget`] deletes
//! the prohibition; the order must have a deadline before that.

use alloy_primitives::B256;
use tx_sender::{Lane, SenderError};

use super::WalletActions;
use crate::drive::{is_never_sent, note_end};
use crate::intent::{IllegalMove, Intent, Next, Status};
use crate::{Forbidden, IntentId, Refused, StoreError};

/// The result of giving up an intent.
#[derive(Debug, Clone, PartialEq)]
pub enum GivenUp {
    /// The intent is cancelled: nothing was signed, and nothing will be.
    Cancelled(Intent),
    /// Something was signed, or the intent was over. This is the intent as it is.
    TooLate(Intent),
}

impl WalletActions {
    /// Forbids a payment to begin anything, also across restarts, until [`Self::forget`] deletes
    /// that. The first reason is kept. An intent that the payment already has continues.
    /// [`Self::give_up`] stops it.
    ///
    /// # Errors
    /// Errors of the store. The payment may or may not be forbidden then.
    pub async fn forbid(&self, payment: B256, reason: &str) -> Result<Forbidden, StoreError> {
        let at = self.shared.now();
        self.shared.store.forbid(payment, reason, at).await
    }

    /// Returns why a payment is forbidden. `None` when it is not.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn forbidden(&self, payment: B256) -> Result<Option<String>, StoreError> {
        self.shared.store.forbidden(payment).await
    }

    /// Whether any transaction of the intent was signed, whatever its outcome. A transaction counts
    /// as not signed when it is in no block and the sender has pruned its record.
    ///
    /// # Errors
    /// Errors of the sender.
    pub async fn was_signed(&self, intent: &Intent) -> Result<bool, Refused> {
        for (index, step) in intent.steps.iter().enumerate() {
            match step.status {
                Status::Sealed { .. } | Status::Reverted { .. } => return Ok(true),
                Status::Planned | Status::Skipped => {}
                Status::Ordered { .. } | Status::Unsent => {
                    let record = self.shared.sender.find(&intent.key(index)).await;
                    let record =
                        record.map_err(|error| Refused::unavailable(error.code(), error))?;
                    if record.is_some_and(|record| !record.attempts.is_empty()) {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Cancels an intent if nothing was signed for it. Its record says `cancelled` when this
    /// returns. `None` when the id is unknown.
    ///
    /// # Errors
    /// Errors of the store and of the sender. The intent may or may not be cancelled then.
    pub async fn give_up(&self, id: &IntentId, reason: &str) -> Result<Option<GivenUp>, Refused> {
        loop {
            let Some(intent) = self.find(id).await? else {
                return Ok(None);
            };
            if intent.state.is_over() || intent.has_effect() {
                return Ok(Some(GivenUp::TooLate(intent)));
            }
            let now = self.shared.now();
            let ordered = intent
                .steps
                .iter()
                .position(|step| matches!(step.status, Status::Ordered { .. }));
            let moved = match ordered {
                None if !intent.has_begun() => intent.cancel(reason, now),
                Some(index) if self.is_withdrawn(&intent, index).await? => {
                    intent.withdraw(index, reason, now)
                }
                Some(_) => return Ok(Some(GivenUp::TooLate(intent))),
                // No transaction is on its way, and none follows, so the intent is over.
                None => match intent.next() {
                    Next::End(state) => intent.end(state, now),
                    _ => return Ok(Some(GivenUp::TooLate(intent))),
                },
            };
            match self.write_end(moved).await {
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(None) => return Ok(Some(GivenUp::TooLate(intent))),
                Ok(Some(ended)) => {
                    let is_cancelled = ended.state == crate::State::Cancelled;
                    return Ok(Some(match is_cancelled {
                        true => GivenUp::Cancelled(ended),
                        false => GivenUp::TooLate(ended),
                    }));
                }
            }
        }
    }

    /// Makes sure that an ordered transaction is never signed. Returns whether that succeeded: it
    /// fails when the transaction was signed already.
    ///
    /// When the sender has no record yet, it stores a closed one. A later hand-over of the
    /// transaction finds the closed record, and nothing is sent.
    async fn is_withdrawn(&self, intent: &Intent, index: usize) -> Result<bool, Refused> {
        let Some(step) = intent.steps.get(index) else {
            return Ok(false);
        };
        let lane = Lane {
            chain_id: step.chain_id,
            account: intent.wallet,
        };
        let failed = |error: SenderError| Refused::unavailable(error.code(), error);
        let (sender, key) = (&self.shared.sender, intent.key(index));
        let record = sender.forbid(&key, lane).await.map_err(failed)?;
        if is_never_sent(&record) || !record.attempts.is_empty() {
            return Ok(is_never_sent(&record));
        }
        // The sender needs the account's signer to close the record. After a restart it does not
        // know the signer yet.
        self.shared
            .lend_key(intent)
            .await
            .map_err(|fault| Refused::unavailable("wallet_unavailable", fault))?;
        // Something may have been signed since. Then the intent continues.
        match sender.cancel_unsigned(&key).await {
            Ok(record) => Ok(is_never_sent(&record)),
            Err(SenderError::TooLate(_)) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    /// Writes the end of an intent. `None` when the record does not allow it.
    async fn write_end(
        &self,
        moved: Result<Intent, IllegalMove>,
    ) -> Result<Option<Intent>, StoreError> {
        let Ok(ended) = moved else {
            return Ok(None);
        };
        let ended = self.shared.store.write(ended).await?;
        note_end(&ended);
        self.shared.changed.notify_waiters();
        Ok(Some(ended))
    }
}
