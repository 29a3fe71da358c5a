//! Accounts whose delegations the chain enforces (`eoa7702`): checks them against its present
//! state.
//!
//! A grant of such an account is over only when its delegations are disabled on the chain, too. The
//! account itself disables them; the service shows the transaction.

use alloy_primitives::{Address, B256};
use delegation_fence::{
    AccountKind, Admitted, Block, Grant, Order, Rule, Signed, TypedData,
    onchain::{
        ChainGrant, ChainReading, ChainTerms, Level, SignedDelegation, UnsentTransaction,
        judge_code,
    },
};

use super::{Delegations, refusal};
use crate::{Chain, ChainQuestion, DelegationError, KeptGrant};

/// The present state of a grant's delegations on the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnChain {
    /// The block of the reading. `None` when the chain could not be read, so that the state is
    /// unknown.
    pub block: Option<Block>,
    /// Whether every delegation is disabled that must be for the permission to be over.
    pub disabled: bool,
    /// The transaction that the account sends next to disable what is left: one delegation, at the
    /// manager.
    pub disable: Option<UnsentTransaction>,
}

impl Delegations {
    /// Checks the delegations that come with a grant against the grant and against the chain.
    ///
    /// # Errors
    /// `delegation_unexpected` when the kind of account has none; `account_code_mismatch`, the
    /// names of [`ChainTerms::accept`] and [`ChainGrant::judge`], `router_allowance_open` at the
    /// stock level; a chain that cannot be read.
    pub(super) async fn judge_delegations(
        &self,
        grant: &TypedData<Grant>,
        given: &[SignedDelegation],
    ) -> Result<(), DelegationError> {
        let message = grant.message();
        if message.account_kind != AccountKind::Eoa7702 {
            return match given.len() {
                0 => Ok(()),
                count => Err(refusal(
                    Rule::DelegationUnexpected,
                    "an account of this kind has no delegations",
                    "none",
                    count,
                )
                .into()),
            };
        }
        let chain = self.delegated()?;
        let policy = self.fence.policy();
        let level = chain.level();
        let mut tokens = Vec::new();
        if level == Level::Stock {
            tokens.push(policy.input_token());
            tokens.extend(chain.tokens());
        }
        let asked = ChainQuestion {
            account: message.account,
            hashes: given
                .iter()
                .map(|signed| signed.delegation.hash())
                .collect(),
            tokens,
            router: policy.router(),
            at_least: 0,
        };
        let reading = read(chain, asked).await?;
        judge_code(&reading.code)?;
        let terms = ChainTerms {
            grant,
            policy,
            redeemer: chain.redeemer(),
            level,
            nonce: reading.nonce,
        };
        terms.accept(given)?.judge(&reading)?;
        Ok(reading.require_no_allowance()?)
    }

    /// Checks an admitted plan against its grant's delegations and their present state on the
    /// chain. Returns whether the plan goes out as one transaction.
    pub(super) async fn confirm_on_chain(
        &self,
        kept: &KeptGrant,
        order: &Signed<Order>,
        admitted: &Admitted,
        at_least: u64,
    ) -> Result<bool, DelegationError> {
        let chain = self.delegated()?;
        let grant = ChainGrant::restore(kept.signed.typed_data(), &kept.delegations)?;
        let own = (chain.redeemer(), chain.level());
        if (grant.redeemer(), grant.level()) != own {
            return Err(refusal(
                Rule::DelegationRedeemerMismatch,
                "the delegations are for another redeemer or enforcer than the service has now; sign a new grant",
                format_args!("{} {:?}", own.0, own.1),
                format_args!("{} {:?}", grant.redeemer(), grant.level()),
            )
            .into());
        }
        grant.redemptions(&admitted.steps, order)?;
        let asked = ChainQuestion {
            account: admitted.account,
            hashes: grant.hashes(),
            tokens: Vec::new(),
            router: admitted.spender,
            at_least,
        };
        grant.judge(&read(chain, asked).await?)?;
        Ok(grant.level() != Level::Stock)
    }

    /// The present state of a grant's delegations on the chain. `None` for a grant without
    /// delegations, and for an unknown grant.
    ///
    /// # Errors
    /// A store that cannot be used.
    pub async fn on_chain(
        &self,
        of: Address,
        grant_id: B256,
    ) -> Result<Option<OnChain>, DelegationError> {
        let view = self.store.view(of, grant_id, None).await?;
        Ok(match &view.grant {
            Some(kept) => self.shared_on_chain(kept).await,
            None => None,
        })
    }

    /// The state of the stored delegations, at most some seconds old: anybody may ask for it.
    pub(super) async fn shared_on_chain(&self, kept: &KeptGrant) -> Option<OnChain> {
        let grant = kept.signed.message();
        let of = (grant.account, grant.grant_id);
        self.readings.get(of, self.read_on_chain(kept)).await
    }

    /// Reads the state of the stored delegations, independent of the installed policy.
    async fn read_on_chain(&self, kept: &KeptGrant) -> Option<OnChain> {
        let grant = ChainGrant::restore(kept.signed.typed_data(), &kept.delegations).ok()?;
        let asked = ChainQuestion {
            account: grant.account(),
            hashes: grant.ending(),
            tokens: Vec::new(),
            router: self.fence.policy().router(),
            at_least: 0,
        };
        let reading = match self.delegated() {
            Ok(chain) => read(chain, asked).await.ok(),
            Err(_) => None,
        };
        let already = reading.as_ref().map(|reading| reading.disabled.as_slice());
        let rest = grant.disable_each(already.unwrap_or_default());
        Some(OnChain {
            block: reading.as_ref().map(|reading| reading.block),
            disabled: reading.is_some_and(|reading| grant.is_over(&reading)),
            disable: rest.into_iter().next(),
        })
    }

    fn delegated(&self) -> Result<&dyn Chain, DelegationError> {
        self.delegated.as_deref().ok_or_else(|| {
            refusal(
                Rule::AccountKindUnsupported,
                "this service reads no chain for accounts of this kind",
                "a kind of account that the service sends for",
                AccountKind::Eoa7702.as_str(),
            )
            .into()
        })
    }
}

async fn read(chain: &dyn Chain, asked: ChainQuestion) -> Result<ChainReading, DelegationError> {
    chain.read(asked).await.map_err(DelegationError::Chain)
}
