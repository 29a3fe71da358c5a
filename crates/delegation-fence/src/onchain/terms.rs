//! The delegations that a grant promises.
//!
//! They are a function of the grant, the policy and the service's values, so the holder, the
//! service and a verifier compute the same ones.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::SolCall as _;

use super::{
    delegation::{Caveat, Delegation},
    framework::{
        ALLOWED_CALLDATA, ALLOWED_METHODS, ALLOWED_TARGETS, APPROVAL_REVOCATION, NONCE, REDEEMER,
        TIMESTAMP, VALUE_LTE, approveCall,
    },
};
use crate::{AccountKind, Grant, Policy, Refusal, Rule, TypedData, refusal::same};

/// The time after the grant's end in which its allowance may still be cleared, in seconds.
pub const CLEAR_GRACE_SECONDS: u64 = 86_400;

/// Offsets of arguments, counted from the selector as `AllowedCalldata` does.
pub(super) const SPENDER: usize = 4;
pub(super) const AMOUNT: usize = 36;
/// The receiver of the router's functions is their fourth argument.
const RECEIVER: usize = 100;
pub(super) const WORD: usize = 32;

/// The enforcing contracts of a redemption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// The framework's own enforcers: target, function, spender, receiver, native value, time,
    /// redeemer, and a coarse bound for an approval. Three redemptions.
    Stock,
    /// The project's `FenceEnforcer` at this address: exactly the ordered swap. One redemption.
    Enforcer(Address),
}

/// The purpose of a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Approve the router.
    Approve,
    /// Call the router.
    Call,
    /// The whole ordered swap.
    Swap,
    /// Revoke the router's allowance, and nothing else: it outlives a revocation.
    Clear,
}

impl Purpose {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Call => "call",
            Self::Swap => "swap",
            Self::Clear => "clear",
        }
    }

    /// Whether the delegation has to be disabled for the permission to be over.
    #[must_use]
    pub const fn ends_with_the_grant(self) -> bool {
        !matches!(self, Self::Clear)
    }
}

/// The terms of a grant's delegations.
///
/// # Example
/// ```
/// use alloy_primitives::{Address, U256};
/// use delegation_fence::{Grant, Policy, Signed, onchain::{ChainTerms, Level, Purpose}};
///
/// let text = include_str!("../../../../fixtures/vectors/delegation.json");
/// let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
/// let policy = Policy::parse(&vectors["rules_document"]["document"].to_string())?;
/// let vector = &vectors["grant_eoa7702"];
/// let file = serde_json::json!({"typed_data": vector["typed_data"], "signature": vector["signature"]});
/// let grant = Signed::<Grant>::parse(&file.to_string())?;
/// let terms = ChainTerms {
///     grant: grant.typed_data(),
///     policy: &policy,
///     redeemer: Address::repeat_byte(0x99),
///     level: Level::Stock,
///     nonce: U256::ZERO,
/// };
/// let purposes: Vec<_> = terms.delegations()?.into_iter().map(|(purpose, _)| purpose).collect();
/// assert_eq!(purposes, [Purpose::Approve, Purpose::Call, Purpose::Clear]);
/// // The stock enforcers compare bytes: the cap of 5,000 USDC becomes 2^32 - 1 atoms.
/// assert_eq!(terms.most_on_chain(), U256::from(u32::MAX));
/// # Ok::<(), delegation_fence::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ChainTerms<'a> {
    /// The grant.
    pub grant: &'a TypedData<Grant>,
    /// Its policy.
    pub policy: &'a Policy,
    /// The key of the service that redeems and pays the gas.
    pub redeemer: Address,
    /// The enforcing level.
    pub level: Level,
    /// The account's number at the manager's `NonceEnforcer`: counting it up ends all delegations
    /// of the account at once.
    pub nonce: U256,
}

impl ChainTerms<'_> {
    /// The delegations, in the order of a file. The same terms give the same delegations: the salt
    /// of each is keccak-256 over the grant's digest and the delegation's purpose.
    ///
    /// # Errors
    /// `account_kind_unsupported`, `grant_policy_digest_mismatch`, `fence_chain`,
    /// `delegation_redeemer_invalid`, `grant_delegate_is_service`
    pub fn delegations(&self) -> Result<Vec<(Purpose, Delegation)>, Refusal> {
        self.require_consistent()?;
        let purposes: &[Purpose] = match self.level {
            Level::Stock => &[Purpose::Approve, Purpose::Call, Purpose::Clear],
            Level::Enforcer(_) => &[Purpose::Swap, Purpose::Clear],
        };
        Ok(purposes
            .iter()
            .map(|purpose| (*purpose, self.delegation(*purpose)))
            .collect())
    }

    /// The largest approval that the chain allows, in the input token's smallest unit. At the stock
    /// level it is the chain's only cap, and can be above the grant's: its lower cap is then the
    /// service's promise.
    #[must_use]
    pub fn most_on_chain(&self) -> U256 {
        match self.level {
            Level::Enforcer(_) => self.grant.message().per_swap_cap,
            Level::Stock => U256::MAX.wrapping_shr(8 * self.zero_bytes()),
        }
    }

    /// How many leading zero bytes an approved amount must have: as many as leave room for the
    /// grant's cap, and one more if that room exceeds the policy's cap.
    fn zero_bytes(&self) -> usize {
        let cap = self.grant.message().per_swap_cap;
        let fitting = cap.leading_zeros() / 8;
        let room = U256::MAX.wrapping_shr(8 * fitting);
        if room > self.policy.per_swap_cap() {
            (fitting + 1).min(WORD)
        } else {
            fitting
        }
    }

    fn require_consistent(&self) -> Result<(), Refusal> {
        let grant = self.grant.message();
        if grant.account_kind != AccountKind::Eoa7702 {
            return Err(Refusal::new(
                Rule::AccountKindUnsupported,
                "only an account with delegation code has delegations on the chain",
                AccountKind::Eoa7702.as_str(),
                grant.account_kind.as_str(),
            ));
        }
        same(
            Rule::GrantPolicyDigestMismatch,
            "the grant is for other rules",
            self.policy.digest(),
            grant.rules_digest,
        )?;
        same(
            Rule::FenceChain,
            "the grant is for another chain than its policy",
            self.policy.chain_id(),
            grant.chain_id,
        )?;
        let unusable = [Address::ZERO, crate::fence::ANY_DELEGATE, grant.account];
        if unusable.contains(&self.redeemer) {
            return Err(Refusal::new(
                Rule::DelegationRedeemerInvalid,
                "the redeemer is zero, the address that means anybody, or the account itself",
                "the address of one key of the service",
                self.redeemer,
            ));
        }
        if self.redeemer == grant.delegate {
            return Err(Refusal::new(
                Rule::GrantDelegateIsService,
                "the grant's delegate is the key that redeems: its holder could order and send",
                "two keys in two hands",
                grant.delegate,
            ));
        }
        Ok(())
    }

    fn delegation(&self, purpose: Purpose) -> Delegation {
        let mut caveats = self.common(purpose);
        match (purpose, self.level) {
            (Purpose::Approve, _) => caveats.extend(self.approve()),
            (Purpose::Call, _) => caveats.extend(self.call()),
            (Purpose::Clear, _) => caveats.extend(self.clear()),
            (Purpose::Swap, Level::Enforcer(enforcer)) => {
                caveats.push(caveat(enforcer, self.fence()));
            }
            // The stock level has no such delegation.
            (Purpose::Swap, Level::Stock) => {}
        }
        Delegation {
            delegate: self.redeemer,
            delegator: self.grant.message().account,
            caveats,
            salt: salt(self.grant.digest(), purpose),
        }
    }

    fn common(&self, purpose: Purpose) -> Vec<Caveat> {
        let grant = self.grant.message();
        let after = grant.not_before.saturating_sub(1);
        let before = match purpose {
            Purpose::Clear => grant.expires_at.saturating_add(CLEAR_GRACE_SECONDS),
            _ => grant.expires_at,
        };
        let window = [u128::from(after), u128::from(before)].map(u128::to_be_bytes);
        let mut caveats = vec![
            caveat(TIMESTAMP, window.concat()),
            caveat(REDEEMER, self.redeemer.to_vec()),
        ];
        if purpose != Purpose::Clear {
            caveats.push(caveat(NONCE, self.nonce.to_be_bytes_vec()));
        }
        if purpose != Purpose::Swap {
            caveats.push(caveat(VALUE_LTE, vec![0; WORD]));
        }
        caveats
    }

    fn approve(&self) -> Vec<Caveat> {
        vec![
            caveat(ALLOWED_TARGETS, self.policy.input_token().to_vec()),
            caveat(ALLOWED_METHODS, approveCall::SELECTOR.to_vec()),
            bytes_at(SPENDER, self.policy.router().into_word().as_slice()),
            bytes_at(AMOUNT, &vec![0; self.zero_bytes()]),
        ]
    }

    fn call(&self) -> Vec<Caveat> {
        let receiver = self.grant.message().account.into_word();
        vec![
            caveat(ALLOWED_TARGETS, self.policy.router().to_vec()),
            caveat(ALLOWED_METHODS, self.selectors()),
            bytes_at(RECEIVER, receiver.as_slice()),
        ]
    }

    fn clear(&self) -> Vec<Caveat> {
        vec![
            caveat(ALLOWED_TARGETS, self.policy.input_token().to_vec()),
            bytes_at(SPENDER, self.policy.router().into_word().as_slice()),
            // The terms admit one kind of revocation: of an ERC-20 allowance, by `approve(spender,
            // 0)`.
            caveat(APPROVAL_REVOCATION, vec![0x01]),
        ]
    }

    /// The terms of `FenceEnforcer`.
    fn fence(&self) -> Vec<u8> {
        let grant = self.grant.message();
        let domain = self.grant.domain();
        [
            self.policy.input_token().as_slice(),
            self.policy.router().as_slice(),
            grant.delegate.as_slice(),
            &grant.per_swap_cap.to_be_bytes::<WORD>(),
            grant.grant_id.as_slice(),
            keccak256(domain.name()).as_slice(),
            domain.salt().as_slice(),
            &self.selectors(),
        ]
        .concat()
    }

    fn selectors(&self) -> Vec<u8> {
        let shapes = self.policy.shapes();
        shapes.iter().flat_map(|shape| shape.selector.0).collect()
    }
}

/// The salt of a grant's delegation, by the grant's digest.
pub(super) fn salt(digest: B256, purpose: Purpose) -> U256 {
    let preimage = [digest.as_slice(), purpose.as_str().as_bytes()].concat();
    U256::from_be_bytes(keccak256(preimage).0)
}

fn caveat(enforcer: Address, terms: Vec<u8>) -> Caveat {
    Caveat {
        enforcer,
        terms: Bytes::from(terms),
    }
}

/// `AllowedCalldata`: these bytes at this offset.
fn bytes_at(offset: usize, bytes: &[u8]) -> Caveat {
    let offset = U256::from(offset).to_be_bytes::<WORD>();
    caveat(ALLOWED_CALLDATA, [offset.as_slice(), bytes].concat())
}
