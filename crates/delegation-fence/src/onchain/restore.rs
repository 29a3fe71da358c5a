//! Restores delegations that were accepted before.

use alloy_primitives::{Address, B256, U256};

use super::{
    accept::ChainGrant,
    delegation::{Delegation, SignedDelegation},
    framework::{ALLOWED_CALLDATA, ALLOWED_TARGETS, NONCE},
    terms::{AMOUNT, Level, Purpose, SPENDER, WORD, salt},
};
use crate::{Grant, Refusal, Rule, TypedData};

impl ChainGrant {
    /// The delegations of a grant from a store. Their content is not judged again: it was judged
    /// when they were accepted ([`ChainTerms::accept`](super::ChainTerms::accept)), by the policy
    /// of that time. So an allowance can be cleared and a permission ended under a replaced policy.
    ///
    /// # Errors
    /// `delegations_missing` for delegations that were not accepted for this grant.
    pub fn restore(grant: &TypedData<Grant>, kept: &[SignedDelegation]) -> Result<Self, Refusal> {
        let digest = grant.digest();
        let of = |purpose: Purpose| {
            let salt = salt(digest, purpose);
            kept.iter().find(|signed| signed.delegation.salt == salt)
        };
        let purposes = [
            Purpose::Approve,
            Purpose::Call,
            Purpose::Swap,
            Purpose::Clear,
        ];
        let delegations: Vec<_> = purposes
            .into_iter()
            .filter_map(|purpose| Some((purpose, of(purpose)?.clone())))
            .collect();
        let clear = of(Purpose::Clear).map(|signed| &signed.delegation);
        let swap = of(Purpose::Swap).map(|signed| &signed.delegation);
        let first = swap.or_else(|| of(Purpose::Approve).map(|signed| &signed.delegation));
        let read = clear.zip(first).and_then(|(clear, first)| {
            let router = bytes_at(clear, SPENDER)?;
            Some(Self {
                chain_id: grant.message().chain_id,
                account: grant.message().account,
                token: address(terms_of(clear, ALLOWED_TARGETS)?)?,
                router: Address::from_word(B256::try_from(router).ok()?),
                redeemer: clear.delegate,
                level: match swap {
                    Some(swap) => Level::Enforcer(swap.caveats.last()?.enforcer),
                    None => Level::Stock,
                },
                nonce: U256::try_from_be_slice(terms_of(first, NONCE)?)?,
                most: match swap {
                    Some(_) => grant.message().per_swap_cap,
                    None => U256::MAX.wrapping_shr(8 * bytes_at(first, AMOUNT)?.len()),
                },
                delegations,
            })
        });
        read.ok_or_else(|| {
            Refusal::new(
                Rule::DelegationsMissing,
                "the delegations of the grant are not there",
                "the delegations that were accepted with it",
                format_args!("{} others", kept.len()),
            )
        })
    }
}

fn terms_of(delegation: &Delegation, enforcer: Address) -> Option<&[u8]> {
    let of = |caveat: &&super::Caveat| caveat.enforcer == enforcer;
    delegation.caveats.iter().find(of).map(|c| c.terms.as_ref())
}

fn address(packed: &[u8]) -> Option<Address> {
    (packed.len() == 20).then(|| Address::from_slice(packed))
}

/// The bytes that `AllowedCalldata` requires at an offset.
fn bytes_at(delegation: &Delegation, offset: usize) -> Option<&[u8]> {
    let place = U256::from(offset).to_be_bytes::<WORD>();
    delegation
        .caveats
        .iter()
        .filter(|caveat| caveat.enforcer == ALLOWED_CALLDATA)
        .find_map(|caveat| caveat.terms.strip_prefix(&place))
}
