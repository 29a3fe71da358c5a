//! Custody behind the policy.

use alloy_primitives::{Address, Signature};

use crate::{
    Attestation, Custody, CustodyError, CustodyFuture, Owner, Purpose, SigningPolicy, Subject,
    Wallet,
};

/// A custody provider whose keys sign only what a [`SigningPolicy`] admits, for every purpose. The
/// provider itself is not accessible through it.
#[derive(Debug)]
pub struct Guarded<C> {
    custody: C,
    policy: SigningPolicy,
}

impl<C: Custody> Guarded<C> {
    /// Puts the provider behind the policy.
    #[must_use]
    pub const fn new(custody: C, policy: SigningPolicy) -> Self {
        Self { custody, policy }
    }

    /// The policy of its keys.
    #[must_use]
    pub const fn policy(&self) -> &SigningPolicy {
        &self.policy
    }
}

impl<C: Custody> Custody for Guarded<C> {
    fn get_or_create(&self, owner: Owner) -> CustodyFuture<'_, Wallet> {
        self.custody.get_or_create(owner)
    }

    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<Wallet>> {
        self.custody.find(owner)
    }

    fn wallet_at(&self, address: Address) -> CustodyFuture<'_, Option<Wallet>> {
        self.custody.wallet_at(address)
    }

    fn sign<'a>(
        &'a self,
        wallet: Address,
        subject: Subject<'a>,
        purpose: Purpose,
    ) -> CustodyFuture<'a, Signature> {
        Box::pin(async move {
            let known = self.custody.wallet_at(wallet).await?;
            let owner = known.ok_or(CustodyError::UnknownWallet(wallet))?.owner;
            if let Err(refusal) = self.policy.judge(owner, wallet, subject, purpose) {
                let (code, purpose) = (refusal.code(), purpose.as_str());
                tracing::warn!(%wallet, purpose, code, %refusal, "the policy refuses a signature");
                return Err(CustodyError::Refused(refusal));
            }
            self.custody.sign(wallet, subject, purpose).await
        })
    }

    fn attest(&self, owner: Owner) -> CustodyFuture<'_, Option<Attestation>> {
        self.custody.attest(owner)
    }
}
