//! Orders that are to begin nothing, and where the wallets' money is.

use alloy_primitives::B256;
use custody::Owner;

use super::WalletActions;
use crate::intent::{Intent, Status};
use crate::plan::{Idle, Planner, Position};
use crate::{Action, Forbidden, IntentId, Order, Refused, StoreError};

impl WalletActions {
    /// Sees to it that a payment begins nothing from now on, for ever: also not when the process
    /// ends in between. The first reason stands. An intent that the payment had bought before goes
    /// on; [`Self::give_up`] stops it.
    ///
    /// # Errors
    /// The store's: whether it is forbidden is not known then.
    pub async fn forbid(&self, payment: B256, reason: &str) -> Result<Forbidden, StoreError> {
        let at = self.shared.now();
        self.shared.store.forbid(payment, reason, at).await
    }

    /// Why a payment begins nothing any more; `None` when it was not forbidden.
    ///
    /// # Errors
    /// The store's.
    pub async fn forbidden(&self, payment: B256) -> Result<Option<String>, StoreError> {
        self.shared.store.forbidden(payment).await
    }

    /// Whether a transaction of the intent was signed, whatever became of it. A transaction whose
    /// record the sender has thrown away, and that is in no block, counts as not signed.
    ///
    /// # Errors
    /// The sender's.
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

    /// What the owner's wallet has in the reviewed products of the chains on which wallets act.
    /// Nothing without a wallet.
    ///
    /// # Errors
    /// Something of it cannot be read now.
    pub async fn positions(&self, owner: Owner) -> Result<Vec<Position>, Refused> {
        match self.planner(owner).await? {
            Some(planner) => planner.positions().await,
            None => Ok(Vec::new()),
        }
    }

    /// What the owner's wallet holds of the assets of those products. Nothing without a wallet.
    ///
    /// # Errors
    /// Something of it cannot be read now.
    pub async fn idle(&self, owner: Owner) -> Result<Vec<Idle>, Refused> {
        match self.planner(owner).await? {
            Some(planner) => planner.idle().await,
            None => Ok(Vec::new()),
        }
    }

    /// Judges a deposit that is to follow on something else: everything but what the wallet holds
    /// by then. Nothing is kept of it.
    ///
    /// # Errors
    /// [`Refused`], as the deposit would be refused now; another action than a deposit.
    pub async fn judge_deposit(&self, order: &Order) -> Result<(), Refused> {
        let Action::Invest(asked) = &order.action else {
            return Err(Refused::invalid("action", "expected a deposit"));
        };
        let wallet = self.shared.custody.get_or_create(order.owner).await?;
        let planner = Planner {
            shared: &self.shared,
            wallet,
            now: self.shared.now(),
        };
        planner.judge_invest(order, asked).await
    }

    /// The intent that the owner's wallet is busy with.
    ///
    /// # Errors
    /// The store's and the custody's.
    pub async fn busy(&self, owner: Owner) -> Result<Option<IntentId>, Refused> {
        match self.shared.custody.find(owner).await? {
            Some(wallet) => Ok(self.shared.store.is_busy(wallet.address).await?),
            None => Ok(None),
        }
    }

    /// For the wallet that the owner has; none is made.
    async fn planner(&self, owner: Owner) -> Result<Option<Planner<'_>>, Refused> {
        let wallet = self.shared.custody.find(owner).await?;
        Ok(wallet.map(|wallet| Planner {
            shared: &self.shared,
            wallet,
            now: self.shared.now(),
        }))
    }
}
