//! What a server does with delegations: everything but the sending.

mod chain;
mod grants;
mod submissions;

use std::{fmt, sync::Arc};

use alloy_primitives::{Address, B256, U256};
use calldata_checks::Decimal;
use delegation_fence::{
    Account, AccountKind, Budget, Confirmation, Fence, FenceStatus, Grant, Instance, Now, Phase,
    Policy, ReadBack, Record, Refusal, Rule, Submission, admit,
};
use tokio::sync::{Notify, futures::Notified};

pub use self::{
    chain::OnChain,
    grants::{GrantReceipt, GrantState},
    submissions::{Ordered, Submitted},
};
use crate::{
    Accounts, Chain, Clocks, DelegationError, Foresee, InstalledPolicy, KeptSubmission, Prices,
    Store, StoreError, View,
};

/// How often a write is judged again because something else was written about the account
/// meanwhile.
const ATTEMPTS: usize = 16;

/// Decimals that a price is computed with.
const PRICE_DECIMALS: u8 = 18;

/// Such a price times wei is in 10^-36 dollars, of which a millionth of a dollar has so many.
const PER_MICRO_USD: u128 = 10_u128.pow(30);

/// Most records in one answer of a log.
pub const LOG_PAGE: u32 = 200;

/// The delegations of a service: its fence, the records, and the accounts that it sends for. It
/// holds no truth in memory; any number of processes may share a store.
pub struct Delegations {
    fence: Fence,
    plans: plan_builder::Policy,
    budget: Budget,
    store: Arc<dyn Store>,
    accounts: Arc<dyn Accounts>,
    clocks: Arc<dyn Clocks>,
    prices: Option<Arc<dyn Prices>>,
    chain: Option<Arc<dyn Foresee>>,
    delegated: Option<Arc<dyn Chain>>,
    accepted: Notify,
}

/// What [`Delegations`] are made of.
pub struct Parts {
    /// What is pinned.
    pub fence: Fence,
    /// The reviewed configuration of plans.
    pub plans: plan_builder::Policy,
    /// What the service pays for gas.
    pub budget: Budget,
    /// The records.
    pub store: Arc<dyn Store>,
    /// Whom the service can send for.
    pub accounts: Arc<dyn Accounts>,
    /// The time.
    pub clocks: Arc<dyn Clocks>,
    /// The prices that plans are held against before their first step, where prices are read.
    pub prices: Option<Arc<dyn Prices>>,
    /// The chain that plans are held against when they are submitted, where one is read.
    pub chain: Option<Arc<dyn Foresee>>,
    /// The chain that enforces delegations, where the service sends for accounts that have some.
    pub delegated: Option<Arc<dyn Chain>>,
}

impl Delegations {
    /// Installs the pinned policy in the store.
    ///
    /// # Errors
    /// [`StoreError::PolicyNotNewer`] when the store holds one that this one does not follow; a
    /// store that cannot be used.
    pub async fn install(parts: Parts) -> Result<Self, StoreError> {
        let Parts {
            fence,
            plans,
            budget,
            store,
            accounts,
            clocks,
            prices,
            chain,
            delegated,
        } = parts;
        let now = clocks.now().await;
        store.install(fence.policy().clone(), now.wall).await?;
        Ok(Self {
            fence,
            plans,
            budget,
            store,
            accounts,
            clocks,
            prices,
            chain,
            delegated,
            accepted: Notify::new(),
        })
    }

    /// What is pinned.
    #[must_use]
    pub const fn fence(&self) -> &Fence {
        &self.fence
    }

    /// The records.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The present time.
    pub async fn now(&self) -> Now {
        self.clocks.now().await
    }

    /// Resolves when a plan was accepted since this resolved last. For the one who sends, between
    /// two looks at [`Store::sendings`].
    pub fn accepted(&self) -> Notified<'_> {
        self.accepted.notified()
    }

    /// The public record. The policy is read back now.
    pub async fn status(&self) -> FenceStatus {
        self.fence.status(&self.read_back().await)
    }

    /// The policy that is installed, if it is the pinned one.
    ///
    /// # Errors
    /// `fence_unreadable`, `fence_name_mismatch`, `fence_digest_mismatch`
    pub async fn policy(&self) -> Result<Policy, DelegationError> {
        let installed = self.store.installed().await.ok().flatten();
        let policy = installed.and_then(|installed| installed.policy().ok());
        let read_back = policy.as_ref().map_or(ReadBack::Unreadable, ReadBack::of);
        self.fence.confirm(&read_back)?;
        Ok(policy.unwrap_or_else(|| self.fence.policy().clone()))
    }

    /// What the store says is installed, now.
    pub async fn read_back(&self) -> ReadBack {
        match self.store.installed().await {
            Ok(installed) => installed
                .as_ref()
                .map_or(ReadBack::Unreadable, InstalledPolicy::read_back),
            Err(_) => ReadBack::Unreadable,
        }
    }

    /// Confirms a submission by what is true now: the policy is read back, the account judged as it
    /// was read, custody asked whose it is, and for delegations the chain read at block `at_least`
    /// or above.
    ///
    /// # Errors
    /// The first confirmation that does not hold, by the names of [`admit`]; then
    /// `delegation_redeemer_mismatch`, `delegation_cap` and the names of
    /// [`ChainGrant::judge`](delegation_fence::onchain::ChainGrant::judge); custody or a chain that
    /// cannot be asked.
    pub async fn confirm(
        &self,
        view: &View,
        submission: &Submission<'_>,
        phase: Phase,
        now: Now,
        at_least: u64,
    ) -> Result<delegation_fence::Admitted, DelegationError> {
        let read_back = self.read_back().await;
        self.fence.confirm(&read_back)?;
        let account = view.account(self.instance())?;
        let kind = view
            .grant
            .as_ref()
            .map(|grant| grant.signed.message().account_kind);
        let owner = match kind {
            // Nobody's: the confirmation refuses in its place.
            Some(AccountKind::SubWallet) => {
                self.accounts.owner(view.account).await?.unwrap_or_default()
            }
            _ => view.account,
        };
        let confirmation = Confirmation {
            fence: &self.fence,
            read_back: &read_back,
            account: &account,
            owner,
            plans: &self.plans,
            peg: None,
            now,
        };
        let mut admitted = admit(&confirmation, submission, phase)?;
        if let (Some(AccountKind::Eoa7702), Some(kept)) = (kind, &view.grant) {
            let order = submission.order;
            admitted.as_one = self
                .confirm_on_chain(kept, order, &admitted, at_least)
                .await?;
        }
        Ok(admitted)
    }

    /// Confirms a plan that was accepted, before its next step. What is true now counts, and the
    /// bytes are those that were accepted.
    ///
    /// # Errors
    /// As [`Self::confirm`].
    pub async fn confirm_again(
        &self,
        kept: &KeptSubmission,
        phase: Phase,
        now: Now,
    ) -> Result<(), DelegationError> {
        let submission = Submission {
            account: kept.admitted.account,
            grant_id: kept.admitted.grant_id,
            request: &kept.request,
            envelope: &kept.envelope,
            order: &kept.order,
        };
        let at_least = kept.newest_block();
        let admitted = self.confirm(&kept.view, &submission, phase, now, at_least);
        let admitted = admitted.await?;
        if admitted != kept.admitted {
            return Err(refusal(
                Rule::OrderMismatch,
                "the plan admits another send than the one that was accepted",
                "the accepted one",
                "another one",
            )
            .into());
        }
        match phase {
            Phase::Begin => self.require_worth(&admitted).await,
            // A price holds up no plan that has begun: its minimum was judged, and stands.
            Phase::GoOn => Ok(()),
        }
    }

    /// Holds a plan's minimum against the present prices, where prices are read.
    ///
    /// # Errors
    /// `fence_price`; prices that cannot be read.
    async fn require_worth(
        &self,
        admitted: &delegation_fence::Admitted,
    ) -> Result<(), DelegationError> {
        let Some(prices) = &self.prices else {
            return Ok(());
        };
        let rates = prices.rates(admitted).await;
        let rates = rates.map_err(DelegationError::Prices)?;
        Ok(admitted.require_worth(&rates, prices.max_deviation())?)
    }

    /// Holds a plan against the chain as it is now, where one is read.
    ///
    /// # Errors
    /// `balance_too_low`, `plan_would_revert`; a chain that cannot be read.
    async fn require_feasible(
        &self,
        admitted: &delegation_fence::Admitted,
    ) -> Result<(), DelegationError> {
        let Some(chain) = &self.chain else {
            return Ok(());
        };
        let foresight = chain.foresee(admitted).await;
        Ok(admitted.require_feasible(foresight.map_err(DelegationError::Chain)?)?)
    }

    /// What so many wei are worth in micro US dollars, rounded up; `None` where no price of the
    /// chain's coin is read.
    pub async fn micro_usd(&self, wei: U256) -> Option<u64> {
        let price = self.prices.as_ref()?.native_usd().await;
        let price = price
            .inspect_err(|error| tracing::warn!(%error, "gas counts by its estimate"))
            .ok()?;
        worth_micro_usd(price, wei)
    }

    /// What the service pays for gas.
    #[must_use]
    pub const fn budget(&self) -> &Budget {
        &self.budget
    }

    fn instance(&self) -> &Instance {
        self.fence.instance()
    }

    /// Whose key signs a grant.
    async fn signer_of(&self, grant: &Grant) -> Result<Address, DelegationError> {
        let kind = grant.account_kind;
        match kind {
            AccountKind::SubWallet | AccountKind::Eoa7702 if !self.accounts.sends_for(kind) => {
                Err(refusal(
                    Rule::AccountKindUnsupported,
                    "this service sends nothing for accounts of this kind",
                    "a kind of account that it sends for",
                    kind.as_str(),
                )
                .into())
            }
            AccountKind::SubWallet => {
                let owner = self.accounts.owner(grant.account).await?;
                owner.ok_or_else(|| not_owned(grant.account).into())
            }
            // The account itself; the other two are refused by their names where the grant is
            // judged.
            _ => Ok(grant.account),
        }
    }

    /// Whose key signs for an account of which no grant is known.
    async fn signer_for(&self, account: Address) -> Result<Address, DelegationError> {
        if let Some(owner) = self.accounts.owner(account).await? {
            return Ok(owner);
        }
        if self.accounts.sends_for(AccountKind::Eoa7702) {
            return Ok(account);
        }
        Err(not_owned(account).into())
    }

    async fn record(
        &self,
        account: Address,
        grant_id: B256,
        seq: u64,
    ) -> Result<Record, DelegationError> {
        let records = self.store.log(account, grant_id, seq, 1).await?;
        let first = records.into_iter().next();
        first
            .filter(|record| record.seq() == seq)
            .ok_or(DelegationError::NotReadBack)
    }

    fn restore(&self, view: &View) -> Result<Account, DelegationError> {
        Ok(view.account(self.instance())?)
    }
}

impl fmt::Debug for Delegations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delegations")
            .field("policy", self.fence.policy().name())
            .finish_non_exhaustive()
    }
}

fn not_owned(account: Address) -> Refusal {
    refusal(
        Rule::AccountNotOwned,
        "the account is none that this service keeps for anybody",
        "a sub-wallet of this service",
        account,
    )
}

fn refusal(
    rule: Rule,
    message: &'static str,
    expected: impl ToString,
    observed: impl ToString,
) -> Refusal {
    Refusal {
        rule,
        message: message.into(),
        expected: expected.to_string(),
        observed: observed.to_string(),
        check: None,
    }
}

/// What so many wei of a coin are worth in micro US dollars, rounded up, at a price in US dollars
/// for a whole coin of 18 decimals. `None` for a price with more digits than are counted.
#[must_use]
pub fn worth_micro_usd(price_usd: Decimal, wei: U256) -> Option<u64> {
    let micro = price_usd
        .atoms(PRICE_DECIMALS)?
        .checked_mul(wei)?
        .div_ceil(U256::from(PER_MICRO_USD));
    Some(u64::try_from(micro).unwrap_or(u64::MAX))
}
