//! The fence as delegations of the MetaMask delegation framework 1.3.0 (ERC-7710), for accounts
//! with delegation code (EIP-7702).
//!
//! Experimental. Two levels: [`Level::Stock`] with the framework's own enforcers, whose holes
//! `docs/FENCE.md` states, and [`Level::Enforcer`] with the project's `FenceEnforcer`, which is not
//! audited. Nothing here reads a chain: what has to be read is a [`Read`], and what has to be sent
//! is a [`UnsentTransaction`].
//!
//! - [`ChainTerms`]: what the delegations of a grant are made of. They follow from the grant, so
//!   that whoever has the grant can compute them again, and anything else is refused.
//! - [`SignedDelegation`]: one of them in a file, as the account signed it.
//! - [`ChainGrant`]: delegations that are exactly what the grant promises. It makes the calldata of
//!   redemptions, of the clearing of an allowance, and of the end. [`ChainReading`] is what a block
//!   says of it.
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
