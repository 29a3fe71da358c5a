//! The operations of a server on delegations, except the sending.
//!
//! [`Delegations`] reads the store before each decision, and writes on the condition that nothing
//! changed meanwhile. The rules are those of `delegation_fence`; this module brings them the
//! records, the prices, the chain and the clocks. `fence-sending` sends the accepted plans.

mod acknowledged;
mod chain;
mod grants;
mod readings;
mod submissions;

use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
};

use alloy_primitives::{Address, B256, U256};
use calldata_checks::Decimal;
use delegation_fence::{
    Account, AccountKind, Budget, Confirmation, Fence, FenceStatus, Grant, Instance, LogRecord,
    Now, Phase, Policy, ReadBack, Refusal, Rule, Submission, admit,
};
use storage::postgres::Acknowledged;
use tokio::sync::{Notify, futures::Notified};

use self::readings::SharedReadings;
pub use self::{
    chain::OnChain,
    grants::{GrantReceipt, GrantState},
    submissions::{Ordered, Submitted},
};
use crate::{
    Accounts, Chain, Clocks, DelegationError, Foresee, Holder, InstalledPolicy, KeptSubmission,
    PortError, Prices, Store, StoreError, View,
};

/// How many times a write is tried when other writes about the same account keep coming in between.
const ATTEMPTS: usize = 16;

/// The decimals of a price in computations.
const PRICE_DECIMALS: u8 = 18;

/// How many units a millionth of a dollar has. A price of 18 decimals times wei is in units of
/// 10^-36 dollars.
const PER_MICRO_USD: u128 = 10_u128.pow(30);

/// The most records in one page of a log.
pub const LOG_PAGE: u32 = 200;

/// The delegations of a service: its fence, its store, and the accounts that it sends for. It
/// decides nothing by its memory, so any number of processes may share a store. It remembers what
/// it has acknowledged, for a database that loses it ([`Self::reassert`]).
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
    /// Ends of grants, and limits.
    acknowledged: Acknowledged<acknowledged::Key, acknowledged::Kept>,
    /// What was lately read of the chain for callers who pay nothing.
    readings: SharedReadings,
    strangers_revocations: u64,
    /// When ends whose time is over were deleted last, in Unix seconds.
    forgot_at: AtomicU64,
}

/// The parts of [`Delegations`].
pub struct Parts {
    /// The fence with the pinned policy.
    pub fence: Fence,
    /// The reviewed configuration of plans.
    pub plans: plan_builder::Policy,
    /// The budget for gas that the service pays.
    pub budget: Budget,
    /// The store.
    pub store: Arc<dyn Store>,
    /// The accounts that the service can send for.
    pub accounts: Arc<dyn Accounts>,
    /// The clocks.
    pub clocks: Arc<dyn Clocks>,
    /// The prices that a plan's minimum is compared with before its first step. `None` when no
    /// prices are read.
    pub prices: Option<Arc<dyn Prices>>,
    /// The chain on which plans are checked when they are submitted. `None` when no chain is read.
    pub chain: Option<Arc<dyn Foresee>>,
    /// The chain that enforces delegations. `None` when the service sends for no account that has
    /// them.
    pub delegated: Option<Arc<dyn Chain>>,
    /// How many revocations of accounts without a grant and a wallet are kept: this many of unknown
    /// accounts, and as many of accounts that only have delegation code.
    pub strangers_revocations: u64,
}

impl Delegations {
    /// Installs the pinned policy in the store.
    ///
    /// # Errors
    /// [`StoreError::PolicyNotNewer`] when the store holds a policy that this one cannot replace;
    /// [`StoreError::Unavailable`].
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
            strangers_revocations,
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
            acknowledged: Acknowledged::default(),
            readings: SharedReadings::default(),
            strangers_revocations,
            forgot_at: AtomicU64::new(0),
        })
    }

    /// The fence with the pinned policy.
    #[must_use]
    pub const fn fence(&self) -> &Fence {
        &self.fence
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The present time.
    pub async fn now(&self) -> Now {
        self.clocks.now().await
    }

    /// Resolves when a plan was accepted since it resolved last. A sender waits for it between two
    /// calls of [`Store::sendings`].
    pub fn accepted(&self) -> Notified<'_> {
        self.accepted.notified()
    }

    /// The public status. It reads the installed policy back now.
    pub async fn status(&self) -> FenceStatus {
        self.fence.status(&self.read_back().await)
    }

    /// The installed policy, if it is the pinned one.
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

    /// Reads back now what the store has installed.
    pub async fn read_back(&self) -> ReadBack {
        match self.store.installed().await {
            Ok(installed) => installed
                .as_ref()
                .map_or(ReadBack::Unreadable, InstalledPolicy::read_back),
            Err(_) => ReadBack::Unreadable,
        }
    }

    /// Confirms a submission as of now. It reads the policy back, restores the account from the
    /// store, asks custody for the account's owner, and for delegations reads the chain at block
    /// `at_least` or above.
    ///
    /// # Errors
    /// The first confirmation that fails, named as in [`admit`]; then
    /// `delegation_redeemer_mismatch`, `delegation_cap` and the names of
    /// [`ChainGrant::judge`](delegation_fence::onchain::ChainGrant::judge); custody or a chain that
    /// does not answer.
    pub async fn confirm(
        &self,
        view: &View,
        submission: &Submission<'_>,
        phase: Phase,
        now: Now,
        at_least: u64,
    ) -> Result<delegation_fence::Admitted, DelegationError> {
        // A record that is written again raises the account's version. The write after this
        // confirmation then conflicts, and the caller confirms anew.
        self.reassert().await?;
        let read_back = self.read_back().await;
        self.fence.confirm(&read_back)?;
        let account = view.account(self.instance())?;
        let kind = view
            .grant
            .as_ref()
            .map(|grant| grant.signed.message().account_kind);
        let owner = match kind {
            // Without an owner, the confirmation refuses.
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

    /// Confirms an accepted plan before its next step, as of now, on the bytes that were accepted.
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
                "the plan admits a send that differs from the accepted one",
                "the accepted one",
                "another one",
            )
            .into());
        }
        match phase {
            // A plan that was worth its input when it was accepted waits for prices.
            Phase::Begin => match self.require_worth(&admitted).await {
                Err(DelegationError::Refused(refusal)) if refusal.rule == Rule::WorthUnknown => {
                    let reason = refusal.observed;
                    Err(DelegationError::Prices(PortError { reason }))
                }
                judged => judged,
            },
            // Prices do not hold up a plan that has begun: its minimum was judged before its first
            // step.
            Phase::GoOn => Ok(()),
        }
    }

    /// Judges what a plan is worth, by its minimum and the present prices. A server that sends
    /// nothing reads no prices.
    ///
    /// # Errors
    /// `worth_unknown`, `fence_price`, `price_impact_too_high`; a chain that cannot be read.
    async fn require_worth(
        &self,
        admitted: &delegation_fence::Admitted,
    ) -> Result<(), DelegationError> {
        let Some(prices) = &self.prices else {
            return Ok(());
        };
        let worth = prices.worth(admitted).await;
        let worth = worth.map_err(DelegationError::Prices)?;
        Ok(admitted.require_worth(&worth, prices.max_deviation())?)
    }

    /// Checks a plan on the chain as it is now, when a chain is read.
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

    /// Converts wei to micro US dollars, rounded up. Returns `None` when no price of the chain's
    /// coin is available.
    pub async fn micro_usd(&self, wei: U256) -> Option<u64> {
        let price = self.prices.as_ref()?.native_usd().await;
        let price = price
            .inspect_err(|error| tracing::warn!(%error, "gas counts by its estimate"))
            .ok()?;
        worth_micro_usd(price, wei)
    }

    fn instance(&self) -> &Instance {
        self.fence.instance()
    }

    /// The account whose key signs a grant.
    async fn signer_of(&self, grant: &Grant) -> Result<Address, DelegationError> {
        let kind = grant.account_kind;
        match kind {
            AccountKind::SubWallet | AccountKind::Eoa7702 if !self.accounts.sends_for(kind) => {
                Err(refusal(
                    Rule::AccountKindUnsupported,
                    "this service sends nothing for accounts of this kind",
                    "a kind of account that the service sends for",
                    kind.as_str(),
                )
                .into())
            }
            AccountKind::SubWallet => {
                let owner = self.accounts.owner(grant.account).await?;
                owner.ok_or_else(|| not_owned(grant.account).into())
            }
            // The account itself. The judgement of the grant refuses the other two kinds by name.
            _ => Ok(grant.account),
        }
    }

    /// The account whose key signs for an account without a known grant, and whether the service
    /// knows the account.
    async fn signer_for(&self, account: Address) -> Result<(Address, Holder), DelegationError> {
        if let Some(owner) = self.accounts.owner(account).await? {
            return Ok((owner, Holder::Known));
        }
        if self.accounts.sends_for(AccountKind::Eoa7702) {
            let most = self.strangers_revocations;
            return Ok((account, Holder::Stranger { most }));
        }
        Err(not_owned(account).into())
    }

    async fn record(
        &self,
        account: Address,
        grant_id: B256,
        seq: u64,
    ) -> Result<LogRecord, DelegationError> {
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
        "the account is not a sub-wallet of this service",
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

/// Converts wei of a coin to micro US dollars, rounded up, at a price in US dollars for a whole
/// coin of 18 decimals. Returns `None` for a price with more decimals than that.
#[must_use]
pub fn worth_micro_usd(price_usd: Decimal, wei: U256) -> Option<u64> {
    let micro = price_usd
        .atoms(PRICE_DECIMALS)?
        .checked_mul(wei)?
        .div_ceil(U256::from(PER_MICRO_USD));
    Some(u64::try_from(micro).unwrap_or(u64::MAX))
}
