//! Accepted messages. Only the rules of [`Fence`](crate::Fence) and [`Instance`](crate::Instance)
//! make them.

use alloy_primitives::Address;

use crate::{Grant, Limit, Revocation, Signed};

/// A grant whose signature and rules were judged: the first of the three states, received, active,
/// ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedGrant {
    signed: Signed<Grant>,
    owner: Address,
}

impl ReceivedGrant {
    pub(super) const fn new(signed: Signed<Grant>, owner: Address) -> Self {
        Self { signed, owner }
    }

    /// The grant.
    #[must_use]
    pub const fn grant(&self) -> &Grant {
        self.signed.message()
    }

    /// The grant with its signature, to be stored.
    #[must_use]
    pub const fn signed(&self) -> &Signed<Grant> {
        &self.signed
    }

    /// The signer: the account, or the owner of the sub-wallet.
    #[must_use]
    pub const fn owner(&self) -> Address {
        self.owner
    }
}

/// A revocation whose signature and rules were judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedRevocation(Signed<Revocation>);

impl ReceivedRevocation {
    pub(super) const fn new(signed: Signed<Revocation>) -> Self {
        Self(signed)
    }

    /// The revocation.
    #[must_use]
    pub const fn revocation(&self) -> &Revocation {
        self.0.message()
    }

    /// The revocation with its signature, to be stored.
    #[must_use]
    pub const fn signed(&self) -> &Signed<Revocation> {
        &self.0
    }
}

/// A limit whose signature and rules were judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedLimit(Signed<Limit>);

impl ReceivedLimit {
    pub(super) const fn new(signed: Signed<Limit>) -> Self {
        Self(signed)
    }

    /// The limit.
    #[must_use]
    pub const fn limit(&self) -> &Limit {
        self.0.message()
    }

    /// The limit with its signature, to be stored.
    #[must_use]
    pub const fn signed(&self) -> &Signed<Limit> {
        &self.0
    }
}
