//! The fence as delegations of the MetaMask delegation framework 1.3.0 (ERC-7710), for accounts
//! with delegation code (EIP-7702).
//!
//! Experimental. There are two levels: [`Level::Stock`] with the framework's own enforcers, whose
//! weaknesses `docs/FENCE.md` states, and [`Level::Enforcer`] with the project's `FenceEnforcer`,
//! which is not audited. Nothing here reads or sends to a chain: a necessary read is a [`Read`],
//! and a transaction to send is an [`UnsentTransaction`].
//!
//! - [`ChainTerms`]: the terms of a grant's delegations. They follow from the grant, so that
//!   anybody with the grant can compute them again, and any difference is refused.
//! - [`SignedDelegation`]: one delegation with its account's signature, as in a file.
//! - [`ChainGrant`]: delegations that match the grant exactly. It makes the calldata of
//!   redemptions, of clearing an allowance, and of ending the permission. [`ChainReading`] is a
//!   block's state of it.
//! - [`Authorization`]: the code of the account (EIP-7702).

mod accept;
mod authorization;
mod delegation;
mod framework;
mod grant_file;
mod read;
mod reading;
mod redeem;
mod restore;
mod terms;

pub use self::{
    accept::ChainGrant,
    authorization::{Authorization, SignedAuthorization},
    delegation::{Caveat, Delegation, SignedDelegation},
    framework::{
        ALLOWED_CALLDATA, ALLOWED_METHODS, ALLOWED_TARGETS, APPROVAL_REVOCATION, IMPLEMENTATION,
        MANAGER, NONCE, REDEEMER, TIMESTAMP, VALUE_LTE,
    },
    grant_file::GrantFile,
    read::{Read, judge_code},
    reading::ChainReading,
    redeem::{Redemption, UnsentTransaction},
    terms::{CLEAR_GRACE_SECONDS, ChainTerms, Level, Purpose},
};
