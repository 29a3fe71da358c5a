//! Accounts with delegation code (`eoa7702`): a key of the service redeems their delegations and
//! pays the gas.
//!
//! Before a clearing, the route reads the chain for obstacles. Whether a plan lies inside the
//! delegations is judged by `delegation_fence`.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use custody::Owner;
use delegation_fence::onchain::{
    CLEAR_GRACE_SECONDS, ChainGrant, ChainReading, Level, Read, Redemption, judge_code,
};
use delegation_fence::{AccountKind, ClearObstacle, Transaction};
use fence_server::{Chain, ChainQuestion, KeptSubmission, PortError, PortFuture};
use tx_sender::TransactionSigner;

use super::{OutgoingCall, Route, RouteFault, RouteFuture};
use crate::{ChainReader, ReadFault, SealedBlock};

/// The gas of a redemption beyond its call. The manager, the account's code and the enforcers read
/// the delegation and its signature, which takes up to 210,000 on the published contracts.
const REDEMPTION_GAS: u64 = 300_000;

/// The accounts that delegate to one redeemer on one chain.
pub struct DelegatedAccounts {
    chain: ChainReader,
    redeemer: Arc<dyn TransactionSigner>,
    level: Level,
    tokens: Vec<Address>,
    payer_chain: u64,
}

impl DelegatedAccounts {
    /// Redeems with this key, at this level. When a grant arrives, the router must have no
    /// allowance of `tokens`. Each account is its own owner: its payments to the service on
    /// `payer_chain` bound the coins that the redeemer gets for its plans.
    #[must_use]
    pub fn new(
        chain: ChainReader,
        redeemer: Arc<dyn TransactionSigner>,
        level: Level,
        tokens: Vec<Address>,
        payer_chain: u64,
    ) -> Self {
        Self {
            chain,
            redeemer,
            level,
            tokens,
            payer_chain,
        }
    }

    /// The delegations of the plan, if they name this redeemer.
    fn grant(&self, kept: &KeptSubmission) -> Result<ChainGrant, ClearObstacle> {
        let grant = kept.view.grant.as_ref();
        let grant = grant.ok_or(ClearObstacle::NotPermitted)?;
        ChainGrant::restore(grant.signed.typed_data(), &grant.delegations)
            .ok()
            .filter(|grant| grant.redeemer() == self.redeemer.account())
            .ok_or(ClearObstacle::NotPermitted)
    }

    async fn look(&self, asked: &ChainQuestion) -> Result<ChainReading, ReadFault> {
        let at = self.chain.sealed(asked.at_least).await?.block;
        let view = async |read: Read| self.chain.view(read.to, &read.data, at).await;
        let (account, router) = (asked.account, asked.router);
        let nonce = view(Read::nonce(account)).await?;
        let mut reading = ChainReading {
            block: at,
            code: self.chain.code(account, at).await?,
            nonce: Read::number(&nonce).ok_or_else(|| self.chain.lost())?,
            disabled: Vec::new(),
            allowances: Vec::new(),
        };
        for hash in &asked.hashes {
            let answer = view(Read::disabled(*hash)).await?;
            if Read::yes(&answer).ok_or_else(|| self.chain.lost())? {
                reading.disabled.push(*hash);
            }
        }
        for token in &asked.tokens {
            let answer = view(Read::allowance_of(*token, account, router)).await?;
            let left = match answer.is_empty() {
                // There is no such token on this chain.
                true => U256::ZERO,
                false => Read::number(&answer).ok_or_else(|| self.chain.lost())?,
            };
            reading.allowances.push((*token, left));
        }
        Ok(reading)
    }
}

impl Chain for DelegatedAccounts {
    fn redeemer(&self) -> Address {
        self.redeemer.account()
    }

    fn level(&self) -> Level {
        self.level
    }

    fn tokens(&self) -> &[Address] {
        &self.tokens
    }

    fn read(&self, asked: ChainQuestion) -> PortFuture<'_, Result<ChainReading, PortError>> {
        Box::pin(async move {
            let read = self.look(&asked).await;
            read.map_err(|fault| PortError {
                reason: fault.to_string(),
            })
        })
    }
}

impl Route for DelegatedAccounts {
    fn kind(&self) -> AccountKind {
        AccountKind::Eoa7702
    }

    fn owner(&self, account: Address) -> RouteFuture<'_, Option<Address>> {
        Box::pin(async move { Ok(Some(account)) })
    }

    fn budget_owner(&self, account: Address) -> RouteFuture<'_, Option<Owner>> {
        let owner = Owner::new(self.payer_chain, account);
        Box::pin(async move { Ok(Some(owner)) })
    }

    fn signer(&self, _: Address) -> RouteFuture<'_, Option<Arc<dyn TransactionSigner>>> {
        let redeemer = Arc::clone(&self.redeemer);
        Box::pin(async move { Ok(Some(redeemer)) })
    }

    /// A step is sent as its redemption. The clearing uses a delegation that allows only that, and
    /// that outlives a revocation.
    fn call(
        &self,
        kept: &KeptSubmission,
        transaction: Transaction,
    ) -> Result<OutgoingCall, ClearObstacle> {
        let grant = self.grant(kept)?;
        let redemption = match transaction {
            Transaction::Clear(_) => Some(grant.clear()),
            Transaction::Step(_) | Transaction::Swap => grant
                .redemptions(&kept.admitted.steps, &kept.order)
                .ok()
                .into_iter()
                .flatten()
                .find(|redemption| executes(redemption, transaction))
                .map(|redemption| redemption.call),
        };
        let redemption = redemption.ok_or(ClearObstacle::NotPermitted)?;
        Ok(OutgoingCall {
            to: redemption.to,
            value: U256::ZERO,
            input: redemption.data,
        })
    }

    fn overhead(&self) -> u64 {
        REDEMPTION_GAS
    }

    /// Clearing needs the framework's code at the account, and the clearing delegation neither
    /// disabled nor expired.
    fn clear_obstacle<'a>(
        &'a self,
        kept: &'a KeptSubmission,
        sealed: SealedBlock,
    ) -> RouteFuture<'a, Result<(), ClearObstacle>> {
        Box::pin(async move {
            let not_permitted = Ok(Err(ClearObstacle::NotPermitted));
            let Ok(grant) = self.grant(kept) else {
                return not_permitted;
            };
            let expires_at = kept.view.grant.as_ref().map(|grant| grant.signed.message());
            let over = expires_at.is_none_or(|grant| {
                sealed.at.unix() >= grant.expires_at.saturating_add(CLEAR_GRACE_SECONDS)
            });
            let Some(clearing) = grant.clearing().filter(|_| !over) else {
                return not_permitted;
            };
            let code = self.chain.code(grant.account(), sealed.block).await;
            if judge_code(&code.map_err(fault)?).is_err() {
                return not_permitted;
            }
            let read = Read::disabled(clearing);
            let answer = self.chain.view(read.to, &read.data, sealed.block).await;
            match Read::yes(&answer.map_err(fault)?) {
                Some(false) => Ok(Ok(())),
                Some(true) => not_permitted,
                None => Err(fault(self.chain.lost())),
            }
        })
    }
}

/// Whether a redemption carries out this transaction of a plan.
fn executes(redemption: &Redemption, transaction: Transaction) -> bool {
    match (transaction, redemption.steps.as_slice()) {
        (Transaction::Step(kind), [only]) => *only == kind,
        (Transaction::Swap, [_, _, _]) => true,
        _ => false,
    }
}

fn fault(fault: ReadFault) -> RouteFault {
    tracing::warn!(%fault, "the chain of an account's delegations cannot be read now");
    RouteFault {
        code: "chain_unavailable",
    }
}
