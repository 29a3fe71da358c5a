//! Judges whether the owner controls its own address on another chain.

use alloy_primitives::Bytes;
use alloy_sol_types::SolCall as _;

use super::Planner;
use crate::abi::owner::{getOwnersCall, getThresholdCall, ownerCall};
use crate::{Order, Refused};

/// The questions of which a contract must give the same answers on both chains. One that it does
/// not know reverts on both.
const QUESTIONS: [[u8; 4]; 3] = [
    getOwnersCall::SELECTOR,
    getThresholdCall::SELECTOR,
    ownerCall::SELECTOR,
];

/// The owner's contract on one chain. A question that reverts has no answer.
struct Contract {
    code: Bytes,
    answers: Vec<Option<Bytes>>,
}

impl Planner<'_> {
    /// Requires that funds which are sent to the owner's address on a chain reach the owner. An
    /// account whose own key signs has its address on every chain. A contract has it on its own
    /// chain, and elsewhere only where the address has the same code and names the same owners:
    /// otherwise somebody else may control the address there, or nobody. Who controls a contract
    /// that has neither a Safe's functions nor `owner()` is not read.
    ///
    /// # Errors
    /// `owner_code_differs`; `owner_owners_differ`; `owner_code_unread` without a node of the
    /// owner's chain; a chain that cannot be read now.
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
        let (here, there) = tokio::try_join!(self.owner_at(home), self.owner_at(chain_id))?;
        if here.code.is_empty() || here.code != there.code {
            let message = format!(
                "the owner is a contract, and {} has other code on chain {chain_id} than on chain {home}: funds that are sent \
                 there may be lost",
                owner.address()
            );
            return Err(Refused::unsupported("owner_code_differs", message));
        }
        if here.answers != there.answers {
            let message = format!(
                "the owner is a contract, and {} names other owners on chain {chain_id} than on chain {home}: funds that are \
                 sent there may be lost",
                owner.address()
            );
            return Err(Refused::unsupported("owner_owners_differ", message));
        }
        Ok(())
    }

    async fn owner_at(&self, chain_id: u64) -> Result<Contract, Refused> {
        let chain = self.shared.chain(chain_id)?;
        let (owner, block) = (self.wallet.owner.address(), chain.sealed(0).await?.block);
        let code = chain.code(owner, block).await?;
        let mut answers = Vec::new();
        for question in QUESTIONS {
            let (asker, question) = (self.wallet.address, Bytes::from(question));
            let answer = chain.call_from(asker, owner, &question, block).await?;
            answers.push(answer);
        }
        Ok(Contract { code, answers })
    }
}
