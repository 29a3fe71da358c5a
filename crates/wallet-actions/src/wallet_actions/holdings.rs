//! Answers questions about wallets: what they hold, whether they could make a deposit, and whether
//! they are busy.

use custody::Owner;

use super::WalletActions;
use crate::plan::{Idle, Planner, Position};
use crate::{Action, IntentId, Order, Refused};

impl WalletActions {
    /// Returns the positions of the owner's wallet in reviewed products, on every chain where
    /// wallets act. Empty when the owner has no wallet.
    ///
    /// # Errors
    /// A position cannot be read now.
    pub async fn positions(&self, owner: Owner) -> Result<Vec<Position>, Refused> {
        match self.planner(owner).await? {
            Some(planner) => planner.positions().await,
            None => Ok(Vec::new()),
        }
    }

    /// Returns the balances of the owner's wallet of the assets of reviewed products. Empty when
    /// the owner has no wallet.
    ///
    /// # Errors
    /// A balance cannot be read now.
    pub async fn idle(&self, owner: Owner) -> Result<Vec<Idle>, Refused> {
        match self.planner(owner).await? {
            Some(planner) => planner.idle().await,
            None => Ok(Vec::new()),
        }
    }

    /// Checks a deposit that follows another action. It does not check the wallet's balances,
    /// because the tokens and coins arrive later. It stores no intent.
    ///
    /// # Errors
    /// [`Refused`] when the deposit would be refused now, or when the action is not a deposit.
    pub async fn judge_deposit(&self, order: &Order) -> Result<(), Refused> {
        let Action::Invest(asked) = &order.action else {
            return Err(Refused::invalid("action", "expected a deposit"));
        };
        let planner = self.planner(order.owner).await?;
        let planner = planner.ok_or(Refused::NoWallet)?;
        planner.judge_invest(order, asked).await
    }

    /// Returns the running intent of the owner's wallet. `None` when none is running.
    ///
    /// # Errors
    /// Errors of the store and of custody.
    pub async fn busy(&self, owner: Owner) -> Result<Option<IntentId>, Refused> {
        match self.shared.custody.find(owner).await? {
            Some(wallet) => Ok(self.shared.store.is_busy(wallet.address).await?),
            None => Ok(None),
        }
    }

    /// Returns the planner for the owner's wallet. `None` when the owner has no wallet. It creates
    /// none.
    async fn planner(&self, owner: Owner) -> Result<Option<Planner<'_>>, Refused> {
        let wallet = self.shared.custody.find(owner).await?;
        Ok(wallet.map(|wallet| Planner {
            shared: &self.shared,
            wallet,
            now: self.shared.now(),
        }))
    }
}
