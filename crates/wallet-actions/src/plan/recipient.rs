//! Judges whether the owner controls its own address on another chain.

use alloy_primitives::Bytes;

use super::Planner;
use crate::{Order, Refused};

impl Planner<'_> {
    /// Requires that funds which are sent to the owner's address on a chain reach the owner. An
    /// account whose own key signs has its address on every chain. A contract has it on its own
    /// chain, and elsewhere only where the address has the same code: otherwise somebody else may
    /// control the address there, or nobody.
    ///
    /// # Errors
    /// `owner_code_differs`; `owner_code_unread` without a node of the owner's chain; a chain that
    /// cannot be read now.
    pub(super) async fn require_owner_on(
        &self,
        order: &Order,
        chain_id: u64,
    ) -> Result<(), Refused> {
        let owner = self.wallet.owner;
        let home = owner.chain_id();
        if order.owner_is_key || chain_id == home {
            return Ok(());
        }
        if !self.shared.chains.contains_key(&home) {
            let message = format!(
                "the owner is a contract, and no node of its chain {home} is configured for wallets: whether {} is the same \
                 contract on chain {chain_id} cannot be read",
                owner.address()
            );
            return Err(Refused::unsupported("owner_code_unread", message));
        }
        let (here, there) = tokio::try_join!(self.owner_code(home), self.owner_code(chain_id))?;
        if here.is_empty() || here != there {
            let message = format!(
                "the owner is a contract, and {} has other code on chain {chain_id} than on chain {home}: funds that are sent \
                 there may be lost",
                owner.address()
            );
            return Err(Refused::unsupported("owner_code_differs", message));
        }
        Ok(())
    }

    async fn owner_code(&self, chain_id: u64) -> Result<Bytes, Refused> {
        let chain = self.shared.chain(chain_id)?;
        let block = chain.sealed(0).await?.block;
        Ok(chain.code(self.wallet.owner.address(), block).await?)
    }
}
