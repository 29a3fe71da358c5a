//! What a Safe says about itself on two chains, and whether that is one Safe.

use std::collections::BTreeSet;

use alloy_primitives::{Address, U256, address};

use super::AccountCode;
use crate::{Observed, Verdict, Violation};

/// Most owners of a Safe: more are not read, and not judged.
pub const MOST_OWNERS: usize = 64;

/// The published singletons of Safe 1.3.0 and 1.4.1 (`safe-deployments`): the plain contract, and the one for second layers,
/// which logs more. Ethereum and the second layers use different ones, so that the same Safe may run either.
const REVIEWED_SINGLETONS: [Address; 6] = [
    address!("d9Db270c1B5E3Bd161E8c8503c55cEABeE709552"),
    address!("69f4D1788e39c87893C980c06EdF4b7f686e2938"),
    address!("3E5c63644E683549055b9Be8653de26E0B4CD36E"),
    address!("fb1bffC9d739B8D520DaF37dF666da4C687191EA"),
    address!("41675C099F32341bf84BFc5382aF534df5C7461a"),
    address!("29fcB43b46531BcA003ddC8FCB67FFE91900C762"),
];

/// A Safe on both chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeReadings {
    /// On the source chain.
    pub source: SafeReading,
    /// On the destination chain.
    pub destination: SafeReading,
}

/// What a Safe says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeReading {
    /// The code at its address.
    pub code: AccountCode,
    /// `getOwners()`.
    pub owners: Vec<Address>,
    /// `masterCopy()`: the contract whose code it runs. The proxy answers this itself.
    pub singleton: Address,
    /// `getThreshold()`.
    pub threshold: U256,
    /// `VERSION()`.
    pub version: String,
}

impl SafeReadings {
    /// The Safe is set up on both chains, and the same.
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
        if self.owners.len() > MOST_OWNERS {
            return Err(Violation::new(
                format!("the Safe has too many owners on the {side} chain"),
                format_args!("at most {MOST_OWNERS}"),
                self.owners.len(),
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
        if self.code != source.code {
            return Err(Violation::new(
                "the contract at the Safe's address is another on the destination chain",
                source.code.identity(),
                self.code.identity(),
            ));
        }
        let reviewed = |reading: &Self| REVIEWED_SINGLETONS.contains(&reading.singleton);
        let both_reviewed = reviewed(source) && reviewed(self);
        if self.singleton != source.singleton && !both_reviewed {
            return Err(Violation::new(
                "the Safe runs another contract on the destination chain",
                format_args!("{}, or both reviewed", source.singleton),
                self.singleton,
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
        Ok(Observed::from(format!(
            "safe {} ({}) with threshold {} of {} owners on both chains",
            self.version,
            if both_reviewed {
                "reviewed"
            } else {
                "not reviewed"
            },
            self.threshold,
            there.len(),
        )))
    }

    fn owner_set(&self) -> BTreeSet<Address> {
        self.owners.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::B256;

    use super::*;

    const CONTRACT: AccountCode = AccountCode::Contract {
        hash: B256::repeat_byte(7),
    };

    fn safe(owners: &[u8], threshold: u64) -> SafeReading {
        SafeReading {
            code: CONTRACT,
            owners: owners.iter().map(|&b| Address::repeat_byte(b)).collect(),
            singleton: REVIEWED_SINGLETONS[4],
            threshold: U256::from(threshold),
            version: "1.4.1".to_owned(),
        }
    }

    fn refusal(source: SafeReading, destination: SafeReading) -> String {
        let readings = SafeReadings {
            source,
            destination,
        };
        readings.judge().unwrap_err().message.into_owned()
    }

    #[test]
    fn the_same_safe_in_any_order_of_owners() {
        let readings = SafeReadings {
            source: safe(&[1, 2, 3], 2),
            destination: safe(&[3, 1, 2], 2),
        };
        let observed = readings.judge().unwrap();
        assert_eq!(
            observed.as_str(),
            "safe 1.4.1 (reviewed) with threshold 2 of 3 owners on both chains"
        );
    }

    #[test]
    fn the_singletons_of_a_safe_are_one_or_all_reviewed() {
        let judge = |source: Address, destination: Address| {
            let running = |singleton| SafeReading {
                singleton,
                ..safe(&[1, 2, 3], 2)
            };
            SafeReadings {
                source: running(source),
                destination: running(destination),
            }
            .judge()
        };
        // Ethereum's and the second layers'.
        for there in REVIEWED_SINGLETONS {
            let observed = judge(REVIEWED_SINGLETONS[0], there).unwrap();
            assert!(observed.as_str().contains("(reviewed)"));
        }
        let (own, other) = (Address::repeat_byte(0xaa), Address::repeat_byte(0xbb));
        let observed = judge(own, own).unwrap();
        assert!(observed.as_str().contains("(not reviewed)"));
        for (here, there) in [
            (own, other),
            (own, REVIEWED_SINGLETONS[0]),
            (REVIEWED_SINGLETONS[0], own),
        ] {
            let violation = judge(here, there).unwrap_err();
            assert!(violation.message.contains("runs another contract"));
            assert_eq!(violation.observed, there.to_string());
        }
    }

    #[test]
    fn a_contract_that_only_answers_like_the_safe_is_refused() {
        let liar = SafeReading {
            code: AccountCode::Contract {
                hash: B256::repeat_byte(8),
            },
            ..safe(&[1, 2, 3], 2)
        };
        let readings = SafeReadings {
            source: safe(&[1, 2, 3], 2),
            destination: liar,
        };
        let violation = readings.judge().unwrap_err();
        assert!(
            violation
                .message
                .contains("is another on the destination chain")
        );
        let contract = |byte| format!("contract {}", B256::repeat_byte(byte));
        assert_eq!(
            (violation.expected, violation.observed),
            (contract(7), contract(8))
        );
    }

    #[test]
    fn a_safe_of_more_owners_than_are_read_is_refused() {
        let many = |count: u8| safe(&(1..=count).collect::<Vec<_>>(), 1);
        assert!(refusal(many(65), many(65)).contains("too many owners on the source chain"));
        assert!(refusal(many(64), many(65)).contains("too many owners on the destination chain"));
        let readings = SafeReadings {
            source: many(64),
            destination: many(64),
        };
        assert!(readings.judge().is_ok());
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
}
