//! Requests that callers give up, or that they forbid before anybody makes them.

use alloy_primitives::{Bytes, U256};

use super::Sender;
use crate::{Closing, Lane, Record, Request, SenderError, State, StoreError};

/// How often a caller's write is repeated after a conflict with a write of the lane's task.
const MAX_RETRIES: usize = 16;

impl Sender {
    /// Gives the request up if no block has it yet. A request without a nonce is abandoned when
    /// this returns. With a nonce, a transaction without effect uses the nonce, and a block may
    /// still take the request before that. Only the outcome of the record decides.
    ///
    /// # Errors
    /// [`SenderError::TooLate`], [`SenderError::UnknownKey`], and an error of the store.
    pub async fn cancel(&self, key: &str) -> Result<Record, SenderError> {
        self.close_request(key, Closing::Cancelled, |_| true).await
    }

    /// Gives the request up if it has no nonce, so that nothing is ever sent for it. Returns the
    /// record. If the request has a nonce, the record is unchanged.
    ///
    /// # Errors
    /// [`SenderError::UnknownKey`], and an error of the store.
    pub async fn withdraw(&self, key: &str) -> Result<Record, SenderError> {
        let is_unclaimed = |record: &Record| record.state == State::Prepared;
        self.close_request(key, Closing::Cancelled, is_unclaimed)
            .await
    }

    /// Gives the request up if nothing was signed for it, so that nothing ever is. Returns the
    /// record. If something was signed, the record is unchanged.
    ///
    /// # Errors
    /// [`SenderError::TooLate`], [`SenderError::UnknownKey`], and an error of the store.
    pub async fn cancel_unsigned(&self, key: &str) -> Result<Record, SenderError> {
        let is_unsigned = |record: &Record| record.attempts.is_empty();
        self.close_request(key, Closing::Cancelled, is_unsigned)
            .await
    }

    /// Ensures that nothing is ever sent under a key. A key without a record gets a closed record,
    /// and a later submission, in this or another process, finds that record. Returns the key's
    /// record. A record that exists already is not changed.
    ///
    /// # Errors
    /// An error of the store.
    pub async fn forbid(&self, key: &str, lane: Lane) -> Result<Record, SenderError> {
        let nothing = Request {
            to: lane.account,
            value: U256::ZERO,
            input: Bytes::new(),
            gas_limit: 0,
            max_fee_per_gas: None,
            not_after: None,
            confirmations: None,
        };
        let now = self.shared.options.clock.now();
        let over = Record::prepared(key, lane, nothing, now).close(Closing::Cancelled)?;
        Ok(self.shared.store.insert(over).await?)
    }

    /// Gives up all requests of the lane that no block has yet, so that new requests do not wait
    /// behind them. Returns how many. The outcomes of the records show which requests a block took
    /// first.
    ///
    /// # Errors
    /// An error of the store.
    pub async fn free(&self, lane: Lane) -> Result<usize, SenderError> {
        let mut freed: usize = 0;
        for record in self.shared.store.live(lane).await? {
            if matches!(record.state, State::Prepared) || record.is_outstanding() {
                match self
                    .close_request(&record.key, Closing::Freed, |_| true)
                    .await
                {
                    Ok(_) => freed = freed.saturating_add(1),
                    Err(SenderError::TooLate(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(freed)
    }

    /// Closes the request, if `wanted` accepts its record. Returns the record.
    async fn close_request(
        &self,
        key: &str,
        why: Closing,
        wanted: impl Fn(&Record) -> bool,
    ) -> Result<Record, SenderError> {
        let mut conflict = None;
        for _ in 0..MAX_RETRIES {
            let record = self.find(key).await?;
            let record = record.ok_or_else(|| SenderError::UnknownKey {
                key: key.to_owned(),
            })?;
            if !wanted(&record) {
                self.shared.watchers.publish([&record]);
                return Ok(record);
            }
            match self.shared.store.amend(record.close(why.clone())?).await {
                Ok(closed) => {
                    self.shared.watchers.publish([&closed]);
                    self.work(closed.lane)?;
                    return Ok(closed);
                }
                Err(error @ StoreError::Conflict { .. }) => conflict = Some(error),
                Err(error) => return Err(error.into()),
            }
        }
        Err(conflict
            .unwrap_or(StoreError::Unavailable { code: "busy" })
            .into())
    }
}
