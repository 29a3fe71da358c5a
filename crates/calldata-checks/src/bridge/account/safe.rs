//! A Safe's readings on two chains, and the check that they are of the same Safe. The caller reads
//! the chains.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, U256, address, b256};

use super::AccountCode;
use crate::{Observed, Verdict, Violation};

/// Most owners of a Safe: more are not read, and not judged.
pub const MOST_OWNERS: usize = 64;

/// Most modules of a Safe: more are not read, and not judged.
pub const MOST_MODULES: usize = 32;

/// The code of the published singletons of Safe 1.3.0, 1.4.1 and 1.5.0, as keccak-256 (`codeHash`
/// of `safe-deployments`): the plain contract, and the one for second layers, which logs more.
/// Ethereum and the second layers use different ones, so that the same Safe may run either. The
/// same code is at several addresses.
const REVIEWED_SINGLETONS: [B256; 6] = [
    b256!("bba688fbdb21ad2bb58bc320638b43d94e7d100f6f3ebaab0a4e4de6304b1c2e"),
    b256!("21842597390c4c6e3c1239e434a682b054bd9548eee5e9b1d6a4482731023c0f"),
    b256!("1fe2df852ba3299d6534ef416eefa406e56ced995bca886ab7a553e6d0c5e1c4"),
    b256!("b1f926978a0f44a2c0ec8fe822418ae969bd8c3f18d61e5103100339894f81ff"),
    b256!("dda019cbd7c867a533a2a86e5c53434fdc50b13122b5a5ddb4a8df61b31c20f2"),
    b256!("180193227186ccb85316c94db1f0d156ed932b14712cfaac78901899178572dc"),
];

/// The published fallback handlers of Safe 1.3.0, 1.4.1 and 1.5.0 (`safe-deployments`). A Safe
/// calls its handler with calldata that anyone may supply: with a token as handler, anyone could
/// move the Safe's balance.
const REVIEWED_HANDLERS: [Address; 5] = [
    address!("f48f2B2d2a534e402487b3ee7C18c33Aec0Fe5e4"),
    address!("017062a1dE2FE6b99BE3d9d37841FeD19F573804"),
    address!("fd0732Dc9E303f09fCEf3a7388Ad10A83459Ec99"),
    address!("3EfCBb83A4A7AfcB4F68D501E2c2203a38be77f4"),
    address!("85a8ca358D388530ad0fB95D0cb89Dd44Fc242c3"),
];

/// A Safe on both chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeReadings {
    /// On the source chain.
    pub source: SafeReading,
    /// On the destination chain.
    pub destination: SafeReading,
}

/// The readings of a Safe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeReading {
    /// The code at the Safe's address.
    pub code: AccountCode,
    /// The contract that the Safe calls with foreign calldata; zero for none.
    pub fallback_handler: Address,
    /// The contract that may stop the Safe's transactions; zero for none.
    pub guard: Address,
    /// The contract that may stop the transactions of the Safe's modules (Safe 1.5.0); zero for
    /// none.
    pub module_guard: Address,
    /// The contracts that may move the Safe's assets without its owners.
    pub modules: Vec<Address>,
    /// `getOwners()`.
    pub owners: Vec<Address>,
    /// `masterCopy()`: the contract whose code the Safe runs. The proxy answers this itself.
    pub singleton: Address,
    /// The code at the singleton.
    pub singleton_code: AccountCode,
    /// `getThreshold()`.
    pub threshold: U256,
    /// `VERSION()`.
    pub version: String,
}

impl SafeReadings {
    /// Checks that the Safe is set up on both chains, and is the same.
    pub(super) fn judge(&self) -> Verdict {
        self.source.judge_installed("source")?;
        self.destination.judge_installed("destination")?;
        self.destination.judge_same(&self.source)
    }
}

impl SafeReading {
    fn judge_installed(&self, side: &'static str) -> Result<(), Violation> {
        if !matches!(self.code, AccountCode::Contract { .. }) {
            return Err(Violation::new(
                format!("there is no contract at the Safe's address on the {side} chain"),
                "contract",
                self.code.as_str(),
            ));
        }
        if !matches!(self.singleton_code, AccountCode::Contract { .. }) {
            return Err(Violation::new(
                format!("the Safe runs no contract on the {side} chain"),
                "contract",
                self.singleton_code.as_str(),
            ));
        }
        for (what, count, most) in [
            ("owners", self.owners.len(), MOST_OWNERS),
            ("modules", self.modules.len(), MOST_MODULES),
        ] {
            if count > most {
                return Err(Violation::new(
                    format!("the Safe has too many {what} on the {side} chain"),
                    format_args!("at most {most}"),
                    count,
                ));
            }
        }
        // Anyone can set up a Safe that is not set up yet: its threshold is zero, or it has no
        // owners.
        let owners = self.owner_set().len();
        if self.threshold.is_zero() || self.threshold > U256::from(owners) {
            return Err(Violation::new(
                format!("the Safe is not set up on the {side} chain"),
                format_args!("a threshold from 1 to its {owners} owners"),
                self.threshold,
            ));
        }
        Ok(())
    }

    fn judge_same(&self, source: &Self) -> Verdict {
        if self.code != source.code {
            return Err(Violation::new(
                "the Safe's address has another contract on the destination chain",
                source.code.identity(),
                self.code.identity(),
            ));
        }
        let both_reviewed = source.runs_reviewed_code() && self.runs_reviewed_code();
        if self.singleton_code != source.singleton_code && !both_reviewed {
            return Err(Violation::new(
                "the Safe runs other code on the destination chain",
                format_args!("{}, or both reviewed", source.singleton_code.identity()),
                self.singleton_code.identity(),
            ));
        }
        let (here, there) = (source.owner_set(), self.owner_set());
        if here != there {
            let foreign = there.difference(&here).count();
            let missing = here.difference(&there).count();
            return Err(Violation::new(
                "the Safe has other owners on the destination chain",
                format_args!("the same {} owners", here.len()),
                format_args!("{foreign} others, {missing} missing"),
            ));
        }
        if self.threshold != source.threshold {
            return Err(Violation::new(
                "the Safe has another threshold on the destination chain",
                source.threshold,
                self.threshold,
            ));
        }
        if self.version != source.version {
            return Err(Violation::new(
                "the Safe has another version on the destination chain",
                &source.version,
                &self.version,
            ));
        }
        self.judge_extensions(source)?;
        Ok(Observed::from(format!(
            "safe {} ({}) with threshold {} of {} owners on both chains, {} modules",
            self.version,
            if both_reviewed {
                "reviewed"
            } else {
                "not reviewed"
            },
            self.threshold,
            there.len(),
            self.modules.len(),
        ))
        .by_readings("the Safe's state on both chains"))
    }

    /// Checks that modules, guards and handler are the source's, or absent.
    fn judge_extensions(&self, source: &Self) -> Result<(), Violation> {
        let modules = |reading: &Self| reading.modules.iter().copied().collect::<BTreeSet<_>>();
        let (here, there) = (modules(source), modules(self));
        if !there.is_empty() && here != there {
            return Err(Violation::new(
                "the Safe has other modules on the destination chain",
                format_args!("none, or the same {}", here.len()),
                format_args!(
                    "{} others, {} missing",
                    there.difference(&here).count(),
                    here.difference(&there).count()
                ),
            ));
        }
        for (what, here, there, reviewed) in [
            ("guard", source.guard, self.guard, &[][..]),
            ("module guard", source.module_guard, self.module_guard, &[]),
            (
                "fallback handler",
                source.fallback_handler,
                self.fallback_handler,
                &REVIEWED_HANDLERS,
            ),
        ] {
            if !there.is_zero() && there != here && !reviewed.contains(&there) {
                return Err(Violation::new(
                    format!("the Safe has another {what} on the destination chain"),
                    format_args!("none, or {here}"),
                    there,
                ));
            }
        }
        Ok(())
    }

    fn runs_reviewed_code(&self) -> bool {
        matches!(self.singleton_code, AccountCode::Contract { hash } if REVIEWED_SINGLETONS.contains(&hash))
    }

    fn owner_set(&self) -> BTreeSet<Address> {
        self.owners.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests;
