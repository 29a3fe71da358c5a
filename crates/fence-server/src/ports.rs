//! The ports of delegations to the rest of a server: accounts, clocks, prices and chains. A port
//! that has no answer now refuses the operation, and nothing is assumed in its place.

use std::pin::Pin;

use alloy_primitives::{Address, B256};
use calldata_checks::{BasisPoints, Decimal};
use delegation_fence::onchain::{ChainReading, Level};
use delegation_fence::{AccountKind, Admitted, Foresight, Now, PlanWorth};
use thiserror::Error;

/// The future that a port returns.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A port has no answer now.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct PortError {
    /// The reason. It contains no secret.
    pub reason: String,
}

/// The accounts that the service can send for.
pub trait Accounts: Send + Sync + 'static {
    /// Whether the service can send for accounts of a kind. Grants of other kinds are refused.
    fn sends_for(&self, kind: AccountKind) -> bool;

    /// The owner of a sub-wallet. `None` when the account is not a sub-wallet of this service.
    fn owner(&self, account: Address) -> PortFuture<'_, Result<Option<Address>, PortError>>;
}

/// The two clocks: the machine's and the chain's. When no chain is read or none answers, both are
/// the machine's.
pub trait Clocks: Send + Sync + 'static {
    /// The present time by both.
    fn now(&self) -> PortFuture<'_, Now>;
}

/// The judgement of what a plan is worth.
pub trait Prices: Send + Sync + 'static {
    /// Judges what a plan gives, by its minimum and the present prices of its two tokens.
    fn worth<'a>(&'a self, admitted: &'a Admitted) -> PortFuture<'a, Result<PlanWorth, PortError>>;

    /// How far a plan's minimum may lie below the market prices.
    fn max_deviation(&self) -> BasisPoints;

    /// The price in US dollars of a whole coin of the chain, which pays for gas. Without this
    /// price, the estimate of gas costs counts.
    fn native_usd(&self) -> PortFuture<'_, Result<Decimal, PortError>> {
        let reason = "the price of the chain's coin is not read".to_owned();
        Box::pin(async move { Err(PortError { reason }) })
    }
}

/// The chain, for checks of a plan before it is sent.
pub trait Foresee: Send + Sync + 'static {
    /// The account's balance, and whether the plan's steps would succeed, as of one sealed block.
    fn foresee<'a>(
        &'a self,
        admitted: &'a Admitted,
    ) -> PortFuture<'a, Result<Foresight, PortError>>;
}

/// The chain that enforces the delegations of accounts (`eoa7702`).
pub trait Chain: Send + Sync + 'static {
    /// The account that redeems delegations.
    fn redeemer(&self) -> Address;

    /// The level of enforcement. New delegations must have it.
    fn level(&self) -> Level;

    /// Tokens for which the router must have no allowance when a grant arrives, besides the
    /// policy's input token.
    fn tokens(&self) -> &[Address];

    /// Reads an account as of the newest sealed block.
    fn read(&self, asked: ChainQuestion) -> PortFuture<'_, Result<ChainReading, PortError>>;
}

/// A reading that is asked of a sealed block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainQuestion {
    /// The account.
    pub account: Address,
    /// The delegations whose disabled state is read.
    pub hashes: Vec<B256>,
    /// The tokens whose allowance for `router` is read.
    pub tokens: Vec<Address>,
    /// The router.
    pub router: Address,
    /// The lowest allowed block number.
    pub at_least: u64,
}

/// The accounts of a server that holds none: it shows its policy and accepts no grant.
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
