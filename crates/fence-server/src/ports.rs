//! What the delegations ask of the rest of a server.

use std::pin::Pin;

use alloy_primitives::{Address, B256};
use calldata_checks::{BasisPoints, Decimal};
use delegation_fence::onchain::{ChainReading, Level};
use delegation_fence::{AccountKind, Admitted, Foresight, Now, Rates};
use thiserror::Error;

/// The answer of a port.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whoever was asked cannot say it now.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct PortError {
    /// Why, without a secret.
    pub reason: String,
}

/// The accounts that the service can send for.
pub trait Accounts: Send + Sync + 'static {
    /// Whether plans can be sent for accounts of a kind. Grants of other kinds are refused.
    fn sends_for(&self, kind: AccountKind) -> bool;

    /// Whose sub-wallet an account is; `None` when it is no sub-wallet of this service.
    fn owner(&self, account: Address) -> PortFuture<'_, Result<Option<Address>, PortError>>;
}

/// The two clocks. Where no chain is read, or none answers, both are the machine's.
pub trait Clocks: Send + Sync + 'static {
    /// The present time by both.
    fn now(&self) -> PortFuture<'_, Now>;
}

/// The prices that a plan's minimum is held against.
pub trait Prices: Send + Sync + 'static {
    /// The present prices of a plan's two tokens.
    fn rates<'a>(&'a self, admitted: &'a Admitted) -> PortFuture<'a, Result<Rates, PortError>>;

    /// How far below them a plan's minimum may lie.
    fn max_deviation(&self) -> BasisPoints;

    /// What a whole coin of the chain costs in US dollars: gas is paid in it. Where nobody says it,
    /// gas costs what it was estimated to cost.
    fn native_usd(&self) -> PortFuture<'_, Result<Decimal, PortError>> {
        let reason = "the price of the chain's coin is not read".to_owned();
        Box::pin(async move { Err(PortError { reason }) })
    }
}

/// The chain, as far as it says beforehand what comes of a plan.
pub trait Foresee: Send + Sync + 'static {
    /// What the account holds, and whether the plan's steps would succeed, as of one sealed block.
    fn foresee<'a>(
        &'a self,
        admitted: &'a Admitted,
    ) -> PortFuture<'a, Result<Foresight, PortError>>;
}

/// The chain, for accounts whose delegations it holds redemptions to (`eoa7702`).
pub trait Chain: Send + Sync + 'static {
    /// Who redeems.
    fn redeemer(&self) -> Address;

    /// Who holds a redemption to the fence. New delegations have to be of this level.
    fn level(&self) -> Level;

    /// Tokens of which the router must not be allowed anything where a grant comes, beside the
    /// policy's input token.
    fn tokens(&self) -> &[Address];

    /// What the newest sealed block says of an account.
    fn read(&self, asked: ChainQuestion) -> PortFuture<'_, Result<ChainReading, PortError>>;
}

/// What is asked of a sealed block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainQuestion {
    /// The account.
    pub account: Address,
    /// Which of its delegations are disabled.
    pub hashes: Vec<B256>,
    /// What `router` may take of which tokens.
    pub tokens: Vec<Address>,
    /// The router.
    pub router: Address,
    /// The block is this one or a later one.
    pub at_least: u64,
}

/// A server that holds no account: it shows its policy and takes no grant.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAccounts;

impl Accounts for NoAccounts {
    fn sends_for(&self, _: AccountKind) -> bool {
        false
    }

    fn owner(&self, _: Address) -> PortFuture<'_, Result<Option<Address>, PortError>> {
        Box::pin(async { Ok(None) })
    }
}
