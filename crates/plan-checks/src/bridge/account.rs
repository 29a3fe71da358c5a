//! Who holds the receiving address on the destination chain.
//!
//! A key holds its address on every chain. A Safe does not: the same address on another chain is empty until somebody
//! deploys there, and who does may set other owners. USDC minted to it is then theirs.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, U256, keccak256};

use super::AccountKind;
use crate::{Observed, Verdict, Violation};

/// What is known about the receiving address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DestinationControl {
    /// An account with a key.
    Eoa {
        /// The code at the address on the source chain; `None` when it was not read.
        source_code: Option<AccountCode>,
    },
    /// A Safe, as it was read on both chains.
    Safe(Box<SafeReadings>),
}

/// A Safe on both chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeReadings {
    /// On the source chain.
    pub source: SafeReading,
    /// On the destination chain.
    pub destination: SafeReading,
}

/// What is at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountCode {
    /// Nothing.
    Empty,
    /// The delegation of an account with a key (EIP-7702).
    Delegated,
    /// A contract.
    Contract {
        /// keccak-256 of its code.
        hash: B256,
    },
}

/// What a Safe says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeReading {
    /// The code at its address.
    pub code: AccountCode,
    /// `getOwners()`.
    pub owners: Vec<Address>,
    /// `getThreshold()`.
    pub threshold: U256,
    /// `VERSION()`.
    pub version: String,
}

impl AccountCode {
    /// What code is: `eth_getCode`.
    #[must_use]
    pub fn of(code: &[u8]) -> Self {
        match code {
            [] => Self::Empty,
            [0xef, 0x01, 0x00, delegate @ ..] if delegate.len() == Address::len_bytes() => {
                Self::Delegated
            }
            _ => Self::Contract {
                hash: keccak256(code),
            },
        }
    }

    /// The name in a plan.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Delegated => "delegated",
            Self::Contract { .. } => "contract",
        }
    }
}

impl DestinationControl {
    /// The caller's account holds the receiving address on the destination chain.
    ///
    /// For an account with a key this holds by itself, and is recorded as such; an address that carries a contract is not
    /// one. For a Safe, what it says on the destination chain must be what it says on the source chain. That is what the
    /// contracts answer: a contract made to lie about its owners is not found out by asking it.
    ///
    /// # Errors
    /// What differs.
    pub fn judge(&self, kind: AccountKind) -> Verdict {
        match (kind, self) {
            (AccountKind::Eoa, Self::Eoa { source_code }) => judge_key(*source_code),
            (AccountKind::Safe, Self::Safe(readings)) => {
                let SafeReadings {
                    source,
                    destination,
                } = &**readings;
                source.judge_installed("source")?;
                destination.judge_installed("destination")?;
                destination.judge_same(source)
            }
            (AccountKind::Eoa, Self::Safe(_)) => Err(Violation::new(
                "a Safe was read for an account with a key",
                "eoa",
                "safe",
            )),
            (AccountKind::Safe, Self::Eoa { .. }) => Err(Violation::new(
                "the Safe was not read on the destination chain",
                "the Safe's owners on both chains",
                "nothing",
            )),
        }
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
        // Anybody can set up a Safe that nobody has set up: its threshold is zero, or it has no owners.
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
        Ok(Observed::from(format!(
            "safe {} with threshold {} of {} owners on both chains",
            self.version,
            self.threshold,
            there.len(),
        )))
    }

    fn owner_set(&self) -> BTreeSet<Address> {
        self.owners.iter().copied().collect()
    }
}

fn judge_key(source_code: Option<AccountCode>) -> Verdict {
    Ok(Observed::fixed(match source_code {
        None => "eoa: one key on both chains (source code not_read)",
        Some(AccountCode::Empty) => "eoa: one key on both chains",
        Some(AccountCode::Delegated) => "eoa: one key on both chains (delegated on the source)",
        Some(contract @ AccountCode::Contract { .. }) => {
            return Err(Violation::new(
                "the address is a contract on the source chain, not an account with a key",
                "no code, or a delegation",
                contract.as_str(),
            ));
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTRACT: AccountCode = AccountCode::Contract {
        hash: B256::repeat_byte(7),
    };

    fn safe(owners: &[u8], threshold: u64) -> SafeReading {
        SafeReading {
            code: CONTRACT,
            owners: owners.iter().map(|&b| Address::repeat_byte(b)).collect(),
            threshold: U256::from(threshold),
            version: "1.4.1".to_owned(),
        }
    }

    fn refusal(source: SafeReading, destination: SafeReading) -> String {
        DestinationControl::Safe(Box::new(SafeReadings {
            source,
            destination,
        }))
        .judge(AccountKind::Safe)
        .unwrap_err()
        .message
        .into_owned()
    }

    #[test]
    fn code_is_classified_by_its_bytes() {
        let delegation = [&[0xef, 0x01, 0x00][..], &[0x11; 20]].concat();
        assert_eq!(AccountCode::of(&[]), AccountCode::Empty);
        assert_eq!(AccountCode::of(&delegation), AccountCode::Delegated);
        for contract in [
            &delegation[..22],
            &[delegation.clone(), vec![0]].concat(),
            &[0],
            &[0xef],
        ] {
            let hash = keccak256(contract);
            assert_eq!(AccountCode::of(contract), AccountCode::Contract { hash });
        }
    }

    #[test]
    fn a_key_holds_its_address_everywhere_unless_it_is_a_contract() {
        let judge = |source_code| DestinationControl::Eoa { source_code }.judge(AccountKind::Eoa);
        assert!(judge(Some(AccountCode::Empty)).is_ok());
        assert!(judge(Some(AccountCode::Delegated)).is_ok());
        let unread = judge(None).unwrap();
        assert!(unread.as_str().contains("not_read"));
        assert_eq!(judge(Some(CONTRACT)).unwrap_err().observed, "contract");
    }

    #[test]
    fn the_same_safe_in_any_order_of_owners() {
        let control = DestinationControl::Safe(Box::new(SafeReadings {
            source: safe(&[1, 2, 3], 2),
            destination: safe(&[3, 1, 2], 2),
        }));
        let observed = control.judge(AccountKind::Safe).unwrap();
        assert_eq!(
            observed.as_str(),
            "safe 1.4.1 with threshold 2 of 3 owners on both chains"
        );
    }

    #[test]
    fn a_safe_that_is_not_the_same_is_refused() {
        let source = || safe(&[1, 2, 3], 2);
        for owners in [&[1, 2, 4][..], &[1, 2], &[1, 2, 3, 4], &[9]] {
            let threshold = u64::min(2, u64::try_from(owners.len()).unwrap());
            assert!(refusal(source(), safe(owners, threshold)).contains("other owners"));
        }
        assert!(refusal(source(), safe(&[1, 2, 3], 1)).contains("another threshold"));
        let version = SafeReading {
            version: "1.3.0".to_owned(),
            ..source()
        };
        assert!(refusal(source(), version).contains("another version"));
    }

    #[test]
    fn a_safe_that_anybody_may_set_up_is_refused() {
        // A bare proxy: equal on both chains, and nobody's.
        for (owners, threshold) in [(&[][..], 0), (&[][..], 1), (&[1][..], 0), (&[1, 1][..], 2)] {
            let bare = safe(owners, threshold);
            assert!(refusal(bare.clone(), bare).contains("not set up on the source chain"));
            let refused = refusal(safe(&[1], 1), safe(owners, threshold));
            assert!(refused.contains("not set up on the destination chain"));
        }
    }

    #[test]
    fn a_safe_without_code_is_refused() {
        for code in [AccountCode::Empty, AccountCode::Delegated] {
            let gone = SafeReading {
                code,
                ..safe(&[1], 1)
            };
            assert!(refusal(safe(&[1], 1), gone.clone()).contains("on the destination chain"));
            assert!(refusal(gone, safe(&[1], 1)).contains("on the source chain"));
        }
    }

    #[test]
    fn readings_of_another_kind_establish_nothing() {
        let key = DestinationControl::Eoa {
            source_code: Some(AccountCode::Empty),
        };
        assert!(key.judge(AccountKind::Safe).is_err());
        let both = DestinationControl::Safe(Box::new(SafeReadings {
            source: safe(&[1], 1),
            destination: safe(&[1], 1),
        }));
        assert!(both.judge(AccountKind::Eoa).is_err());
    }
}
