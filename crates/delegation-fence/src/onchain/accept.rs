//! Accepts delegations that others signed, by comparison with the grant.
//!
//! The comparison needs no chain. The state of the chain is judged by
//! [`ChainGrant::judge`](super::ChainGrant::judge).

use alloy_primitives::{Address, B256, U256};

use super::{
    delegation::{Caveat, Delegation, SignedDelegation},
    framework::NONCE,
    terms::{ChainTerms, Level, Purpose},
};
use crate::{Grant, Policy, Refusal, Rule, TypedData, refusal::same};

/// The delegations of a grant, each exactly as the grant promises and signed by its account. They
/// allow on the chain what the fence allows, as far as [`Level`] can express it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainGrant {
    pub(super) chain_id: u64,
    pub(super) account: Address,
    pub(super) token: Address,
    pub(super) router: Address,
    pub(super) redeemer: Address,
    pub(super) level: Level,
    pub(super) nonce: U256,
    pub(super) most: U256,
    pub(super) delegations: Vec<(Purpose, SignedDelegation)>,
}

impl ChainTerms<'_> {
    /// Accepts the delegations of a grant, in any order. The caller compares the chain's state:
    /// that [`Self::nonce`] is the account's present one, and that the account has the framework's
    /// code ([`judge_code`](super::judge_code)).
    ///
    /// # Errors
    /// Those of [`Self::delegations`]; `delegations_missing`, `delegation_unexpected`,
    /// `delegation_delegator_mismatch`, `delegation_redeemer_mismatch`,
    /// `delegation_caveat_missing`, `delegation_caveat_unexpected`, `delegation_caveat_terms`,
    /// `delegation_not_by_account`, `signature_unrecoverable`
    pub fn accept(&self, given: &[SignedDelegation]) -> Result<ChainGrant, Refusal> {
        let grant = self.grant.message();
        let expected = self.delegations()?;
        let mut accepted = Vec::with_capacity(expected.len());
        for (purpose, promised) in &expected {
            let found = given
                .iter()
                .find(|given| given.delegation.salt == promised.salt);
            let signed = found.ok_or_else(|| {
                Refusal::new(
                    Rule::DelegationsMissing,
                    "a delegation of the grant is missing: none has its salt",
                    format_args!("the delegation to {}", purpose.as_str()),
                    format_args!("{} others", given.len()),
                )
            })?;
            judge(promised, &signed.delegation)?;
            same(
                Rule::DelegationNotByAccount,
                "the delegation is signed by another key, or for another chain",
                grant.account,
                signed.signer(grant.chain_id)?,
            )?;
            accepted.push((*purpose, signed.clone()));
        }
        if given.len() != expected.len() {
            return Err(Refusal::new(
                Rule::DelegationUnexpected,
                "there are delegations that the grant does not promise",
                expected.len(),
                given.len(),
            ));
        }
        Ok(ChainGrant {
            chain_id: grant.chain_id,
            account: grant.account,
            token: self.policy.input_token(),
            router: self.policy.router(),
            redeemer: self.redeemer,
            level: self.level,
            nonce: self.nonce,
            most: self.most_on_chain(),
            delegations: accepted,
        })
    }
}

impl ChainGrant {
    /// Accepts the delegations of a file with the redeemer, level and number that the file itself
    /// states, for the holder's own tool. A service compares them with its own values
    /// ([`ChainTerms::accept`]).
    ///
    /// # Errors
    /// As [`ChainTerms::accept`].
    pub fn of_file(
        grant: &TypedData<Grant>,
        policy: &Policy,
        given: &[SignedDelegation],
    ) -> Result<Self, Refusal> {
        let first = given.first().map(|signed| &signed.delegation);
        let first = first.ok_or_else(|| {
            Refusal::new(
                Rule::DelegationsMissing,
                "the grant's file has no delegations",
                "delegations[]",
                "none",
            )
        })?;
        let caveats = given.iter().flat_map(|signed| &signed.delegation.caveats);
        let nonce = caveats
            .clone()
            .find(|caveat| caveat.enforcer == NONCE)
            .and_then(|caveat| U256::try_from_be_slice(&caveat.terms));
        let level = match given.len() {
            // The last caveat of the only delegation, after three others. The comparison below
            // verifies that.
            2 => caveats
                .clone()
                .find(|caveat| caveat.terms.len() > FENCE_TERMS)
                .map_or(Level::Stock, |caveat| Level::Enforcer(caveat.enforcer)),
            _ => Level::Stock,
        };
        let terms = ChainTerms {
            grant,
            policy,
            redeemer: first.delegate,
            level,
            nonce: nonce.unwrap_or_default(),
        };
        terms.accept(given)
    }

    /// The chain.
    #[must_use]
    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// The account.
    #[must_use]
    pub const fn account(&self) -> Address {
        self.account
    }

    /// The redeemer.
    #[must_use]
    pub const fn redeemer(&self) -> Address {
        self.redeemer
    }

    /// The enforcing level.
    #[must_use]
    pub const fn level(&self) -> Level {
        self.level
    }

    /// The account's number at the `NonceEnforcer` that the delegations count for.
    #[must_use]
    pub const fn nonce(&self) -> U256 {
        self.nonce
    }

    /// The largest approval that the chain allows, in the input token's smallest unit.
    #[must_use]
    pub const fn most_on_chain(&self) -> U256 {
        self.most
    }

    /// Each delegation with its purpose.
    #[must_use]
    pub fn delegations(&self) -> &[(Purpose, SignedDelegation)] {
        &self.delegations
    }

    /// The hashes that the manager must have disabled for the permission to be over. The delegation
    /// that clears an allowance is not among them: it can do nothing else, and is needed after a
    /// revocation in the middle of a plan.
    #[must_use]
    pub fn ending(&self) -> Vec<B256> {
        self.delegations
            .iter()
            .filter(|(purpose, _)| purpose.ends_with_the_grant())
            .map(|(_, signed)| signed.delegation.hash())
            .collect()
    }
}

/// The fixed part of the terms of `FenceEnforcer`, in bytes: longer than any other terms of these
/// delegations.
const FENCE_TERMS: usize = 188;

/// Checks that a delegation is exactly the promised one.
fn judge(promised: &Delegation, given: &Delegation) -> Result<(), Refusal> {
    same(
        Rule::DelegationDelegatorMismatch,
        "the delegation is of another account",
        promised.delegator,
        given.delegator,
    )?;
    same(
        Rule::DelegationRedeemerMismatch,
        "the delegation is for another redeemer",
        promised.delegate,
        given.delegate,
    )?;
    if promised.caveats == given.caveats {
        return Ok(());
    }
    let lacks =
        |caveats: &[Caveat], enforcer| !caveats.iter().any(|caveat| caveat.enforcer == enforcer);
    let count = |caveats: &[Caveat], enforcer| {
        caveats
            .iter()
            .filter(|caveat| caveat.enforcer == enforcer)
            .count()
    };
    for caveat in &promised.caveats {
        if count(&given.caveats, caveat.enforcer) < count(&promised.caveats, caveat.enforcer) {
            return Err(Refusal::new(
                Rule::DelegationCaveatMissing,
                "the delegation lacks a caveat of the grant",
                format_args!("{} with {}", caveat.enforcer, caveat.terms),
                format_args!("{} caveats", given.caveats.len()),
            ));
        }
    }
    for (place, caveat) in given.caveats.iter().enumerate() {
        let expected = promised.caveats.get(place);
        if lacks(&promised.caveats, caveat.enforcer)
            || expected.is_none_or(|expected| expected.enforcer != caveat.enforcer)
        {
            return Err(Refusal::new(
                Rule::DelegationCaveatUnexpected,
                "the delegation has a caveat that the grant does not promise, or one in another place",
                expected.map_or_else(
                    || "no further caveat".to_owned(),
                    |expected| expected.enforcer.to_string(),
                ),
                caveat.enforcer,
            ));
        }
    }
    let differing = promised
        .caveats
        .iter()
        .zip(&given.caveats)
        .find(|(promised, given)| promised != given);
    match differing {
        Some((promised, given)) => Err(Refusal::new(
            Rule::DelegationCaveatTerms,
            "a caveat says something else than the grant",
            format_args!("{} with {}", promised.enforcer, promised.terms),
            &given.terms,
        )),
        None => Ok(()),
    }
}
