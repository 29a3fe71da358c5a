//! Records that work was done and is not charged, because its payment can no longer be settled.
//!
//! An authorization ends with its window. An action that began before a crash continues after the
//! window has closed, and is not charged. The journal then has the reason for look-ups.

use alloy_primitives::U256;
use ledger::{Claim, Journal, LedgerError, PaymentStatus, Purchase, Reservation, Spent, State};
use settlement::Settler;

use super::{PaidCall, PaymentProcessor, Worker};

/// The reason with which the entry of such a payment is released.
pub(crate) const EXPIRED_UNCHARGED: &str = "expired_uncharged";

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Whether the window of the call's payment closes too early for the call to be taken.
    pub(crate) fn is_expired(&self, call: &PaidCall) -> bool {
        let needed = self.seconds_needed(call.request.operation);
        call.presented
            .is_some_and(|presented| presented.ends_at() < self.now().saturating_add(needed))
    }

    /// Whether the payment of the call belongs to another request, or was answered as a repetition
    /// of another payment: the call itself is never charged to it.
    ///
    /// # Errors
    /// A journal that cannot be read.
    pub(crate) async fn pays_elsewhere(&self, call: &PaidCall) -> Result<bool, LedgerError> {
        let Some(presented) = call.presented else {
            return Ok(false);
        };
        let record = self.journal().look_up(&presented.key).await?;
        if record.is_some_and(|record| record.is_repetition) {
            return Ok(true);
        }
        let found = self
            .journal()
            .find(&presented.key, &call.binding, self.now());
        Ok(matches!(found.await?, Some(PaymentStatus::BoundElsewhere)))
    }

    /// Records in the journal that the work of the call was done and is not charged. Returns
    /// whether the journal has that record now. `false` when the payment is in another state.
    ///
    /// # Errors
    /// A journal that cannot be read or written.
    pub(crate) async fn forgo(&self, call: &PaidCall, price: u64) -> Result<bool, LedgerError> {
        let Some(presented) = call.presented else {
            return Ok(false);
        };
        match self.journal().look_up(&presented.key).await? {
            Some(record) if record.state != State::Released => return Ok(false),
            Some(record) if record.reason.as_deref() == Some(EXPIRED_UNCHARGED) => return Ok(true),
            _ => {}
        }
        let claim = Claim {
            key: presented.key,
            request: call.binding.clone(),
            payment_id: None,
            amount: U256::from(price),
            valid_before: presented.ends_at(),
            purchase: Purchase::Unproven,
            now: self.now(),
        };
        match self.journal().reserve(claim).await? {
            Reservation::Reserved(entry) | Reservation::ReservedBeside(entry) => {
                let released =
                    self.journal()
                        .release(entry, EXPIRED_UNCHARGED, Spent::NOTHING, self.now());
                released.await.map(|()| true)
            }
            Reservation::Known(_) => Ok(false),
        }
    }
}
