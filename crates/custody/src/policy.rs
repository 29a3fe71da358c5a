//! The upper bound of what a wallet's key may sign, whichever caller asks.
//!
//! [`SigningPolicy`] reads no chain and no plan: it judges the bytes alone. A caller may refuse
//! more.

mod arguments;
mod document;
mod fault;
mod refusal;
mod target;

use std::collections::BTreeMap;

use alloy_primitives::{Address, Selector, U256};
use tx_sender::Unsigned;

use self::arguments::Judged;
pub use self::{
    fault::TargetsFault,
    refusal::PolicyRefusal,
    target::{Target, Vault},
};
use crate::{Owner, Purpose, Subject};

/// The reviewed targets, and the judgement of a transaction against them.
///
/// It judges the final transaction, and does not depend on the code that built or admitted it. An
/// empty policy admits nothing. A transaction is admitted when all of this holds:
///
/// - it carries no coins;
/// - its contract is a target on its chain, and its function is on the target's list;
/// - `approve`: the amount is not an unlimited one, and the spender is another target of the chain.
///   Zero, which revokes an allowance, may name any spender;
/// - `transfer`: the recipient is the wallet's owner;
/// - deposits and withdrawals of ERC-4626 vaults and Aave v3 pools, and burns of CCTP V2: the
///   wallet or its owner receives;
/// - `transferWithAuthorization` (EIP-3009): from the owner to the wallet;
/// - the calldata of these functions has its one canonical form.
///
/// The empty call of the wallet to itself, which frees a nonce, is admitted on every chain that has
/// a target. Typed data is refused. The arguments of other functions are not judged here: the
/// builder of such a call judges them.
///
/// # Example
/// ```
/// use custody::SigningPolicy;
///
/// let policy = SigningPolicy::parse(r#"
///     version = "2026-11-25"
///
///     [[targets]]
///     chain_id = 8453
///     contract = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
///     selectors = ["0x095ea7b3", "0xa9059cbb"]
///     what = "USDC: approve, transfer"
/// "#)?;
/// assert_eq!(policy.version(), "2026-11-25");
/// assert_eq!(policy.targets().count(), 1);
/// # Ok::<(), custody::TargetsFault>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SigningPolicy {
    version: String,
    targets: BTreeMap<(u64, Address), Target>,
}

impl SigningPolicy {
    /// Reads a file of reviewed targets (TOML): `version`, and `[[targets]]` with `chain_id`,
    /// `contract`, `selectors` and `what`. A vault also has `product_id`, `protocol` and `asset`. A
    /// contract that is approved and never called has `spender_only = true` and no `selectors`.
    ///
    /// # Errors
    /// [`TargetsFault`]: another form or key, an empty version, an address with a wrong checksum,
    /// and every refusal of [`Target`] and [`Self::insert`].
    pub fn parse(text: &str) -> Result<Self, TargetsFault> {
        document::parse(text)
    }

    /// Adds a target. A pool may be added once for each of its products.
    ///
    /// # Errors
    /// [`TargetsFault::Duplicate`] when its contract already exists, for the same product or for
    /// none; [`TargetsFault::DuplicateProduct`] when another contract has the product's id.
    pub fn insert(&mut self, target: Target) -> Result<(), TargetsFault> {
        let key = target.key();
        for vault in target.vaults() {
            let others = self.targets.values().filter(|other| other.key() != key);
            let mut ids = others
                .flat_map(Target::vaults)
                .map(|vault| &vault.product_id);
            if ids.any(|id| *id == vault.product_id) {
                let product_id = vault.product_id.clone();
                return Err(TargetsFault::DuplicateProduct { product_id });
            }
        }
        let target = match self.targets.remove(&key) {
            None => target,
            Some(there) if there.is_other_product_of(&target) => there.join(target),
            Some(there) => {
                self.targets.insert(key, there);
                let (chain_id, contract) = key;
                return Err(TargetsFault::Duplicate { chain_id, contract });
            }
        };
        self.targets.insert(key, target);
        Ok(())
    }

    /// Adds a target of other reviewed configuration. An existing contract gets the functions of
    /// both.
    #[must_use]
    pub fn with(mut self, target: Target) -> Self {
        let there = self.targets.remove(&target.key());
        let target = match there {
            Some(there) => there.join(target),
            None => target,
        };
        self.targets.insert(target.key(), target);
        self
    }

    /// The version of the file; empty without one.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The targets, by chain and contract.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        self.targets.values()
    }

    /// Judges a subject in its final form, before it is signed.
    ///
    /// # Errors
    /// [`PolicyRefusal`]. Nothing is then signed.
    pub fn judge(
        &self,
        owner: Owner,
        wallet: Address,
        subject: Subject<'_>,
        purpose: Purpose,
    ) -> Result<(), PolicyRefusal> {
        match subject {
            Subject::Transaction(unsigned) => self.judge_transaction(owner, wallet, unsigned),
            Subject::TypedData(_) => Err(PolicyRefusal::TypedData { purpose }),
        }
    }

    fn judge_transaction(
        &self,
        owner: Owner,
        wallet: Address,
        unsigned: &Unsigned,
    ) -> Result<(), PolicyRefusal> {
        let &Unsigned {
            chain_id,
            to,
            value,
            ref input,
            ..
        } = unsigned;
        if !value.is_zero() {
            return Err(PolicyRefusal::ValueNotZero { observed: value });
        }
        if to == wallet && input.is_empty() && self.has_chain(chain_id) {
            return Ok(());
        }
        self.judge_call(owner, wallet, chain_id, to, input)
    }

    /// Judges a call without coins, before it has a nonce and fees: a call that is refused here is
    /// never signed.
    ///
    /// # Errors
    /// [`PolicyRefusal`].
    pub fn judge_call(
        &self,
        owner: Owner,
        wallet: Address,
        chain_id: u64,
        to: Address,
        input: &[u8],
    ) -> Result<(), PolicyRefusal> {
        let target = self
            .targets
            .get(&(chain_id, to))
            .ok_or(PolicyRefusal::TargetUnreviewed {
                chain_id,
                observed: to,
            })?;
        let malformed = || PolicyRefusal::CalldataMalformed {
            contract: to,
            length: input.len(),
        };
        let selector = input.first_chunk::<4>().ok_or_else(malformed)?;
        let selector = Selector::from(selector);
        if !target.may_be_called(selector) {
            return Err(PolicyRefusal::SelectorUnreviewed {
                contract: to,
                observed: selector,
            });
        }
        match arguments::read(selector, input).ok_or_else(malformed)? {
            Judged::Approval { spender, amount } => {
                self.judge_approval(chain_id, to, spender, amount)
            }
            Judged::Transfer { recipient } if recipient == owner.address() => Ok(()),
            Judged::Position { recipient } if [wallet, owner.address()].contains(&recipient) => {
                Ok(())
            }
            Judged::Principal { from, recipient }
                if (from, recipient) == (owner.address(), wallet) =>
            {
                Ok(())
            }
            Judged::Principal { from, recipient } => Err(PolicyRefusal::PrincipalElsewhere {
                owner: owner.address(),
                wallet,
                from,
                recipient,
            }),
            Judged::Transfer { recipient } | Judged::Position { recipient } => {
                Err(PolicyRefusal::RecipientNotOwner {
                    expected: owner.address(),
                    observed: recipient,
                })
            }
            Judged::Other => Ok(()),
        }
    }

    fn judge_approval(
        &self,
        chain_id: u64,
        token: Address,
        spender: Address,
        amount: U256,
    ) -> Result<(), PolicyRefusal> {
        // The spender does not matter, because its allowance becomes zero. An allowance of a
        // previously reviewed router must be clearable.
        if amount.is_zero() {
            return Ok(());
        }
        if amount > UNLIMITED_ABOVE {
            return Err(PolicyRefusal::ApprovalUnlimited {
                token,
                observed: amount,
            });
        }
        let reviewed = self.targets.get(&(chain_id, spender));
        if spender != token && reviewed.is_some_and(Target::may_spend) {
            return Ok(());
        }
        Err(PolicyRefusal::SpenderUnreviewed {
            token,
            observed: spender,
        })
    }

    fn has_chain(&self, chain_id: u64) -> bool {
        let first = (chain_id, Address::ZERO);
        let last = (chain_id, Address::repeat_byte(0xff));
        self.targets.range(first..=last).next().is_some()
    }
}

/// The largest approval that counts as limited. Wallets and routers request 2^256 - 1 or 2^160 - 1
/// for an unlimited one, and no balance is that large.
const UNLIMITED_ABOVE: U256 = U256::from_limbs([u64::MAX, u64::MAX, 0, 0]);

#[cfg(test)]
mod tests;
