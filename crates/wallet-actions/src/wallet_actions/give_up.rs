//! Giving up what is not signed yet.

use tx_sender::{Lane, SenderError};

use super::WalletActions;
use crate::drive::{is_never_sent, note_end};
use crate::intent::{IllegalMove, Intent, Next, Status};
use crate::{IntentId, Refused, StoreError};

/// What giving up came to.
#[derive(Debug, Clone, PartialEq)]
pub enum GivenUp {
    /// Nothing was signed, and nothing will be.
    Cancelled(Intent),
    /// Something was signed, or is over: the intent as it is.
    TooLate(Intent),
}

impl WalletActions {
    /// Gives an intent up, if nothing was signed for it. The record says `cancelled` when this
    /// returns.
    ///
    /// # Errors
    /// The store's and the sender's: whether it was given up is not known then.
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
                // Nothing is on its way, and nothing follows: it is over.
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

    /// Sees to it that a transaction that was ordered is never signed, if it was not. Where the
    /// sender has no record yet it gets one that is over, so that whoever comes to hand the
    /// transaction over finds that.
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
        // Closing it names its signer, whom a process that has just started does not know yet.
        self.shared
            .lend_key(intent)
            .await
            .map_err(|fault| Refused::unavailable("wallet_unavailable", fault))?;
        match sender.cancel(&key).await {
            Ok(record) => Ok(is_never_sent(&record)),
            Err(SenderError::TooLate(_)) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    /// Writes an end; `None` where the record does not allow it.
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
