//! The holder of the receiving address on the destination chain.
//!
//! A key holds its address on every chain. A Safe does not: the same address on another chain is
//! empty until somebody deploys there. That person may set other owners, who then own the USDC
//! minted to the address.

mod safe;

use alloy_primitives::{Address, B256, keccak256};

pub use self::safe::{MOST_MODULES, MOST_OWNERS, SafeReading, SafeReadings};
use super::kinds::AccountKind;
use crate::{Observed, Verdict, Violation};

/// The readings of the receiving address.
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

/// The code at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountCode {
    /// There is no code.
    Empty,
    /// The delegation of an account with a key (EIP-7702).
    Delegated,
    /// A contract.
    Contract {
        /// keccak-256 of its code.
        hash: B256,
    },
}

impl AccountCode {
    /// Classifies code, as `eth_getCode` returns it.
    ///
    /// # Example
    /// ```
    /// use alloy_primitives::hex;
    /// use calldata_checks::bridge::account::AccountCode;
    ///
    /// assert_eq!(AccountCode::of(&[]), AccountCode::Empty);
    /// let delegated = hex!("ef0100 7702cb554e6bfb442cb743a7df23154544a7176c");
    /// assert_eq!(AccountCode::of(&delegated), AccountCode::Delegated);
    /// assert_eq!(AccountCode::of(&hex!("6080")).as_str(), "contract");
    /// ```
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

    /// Names the code, for a contract with its hash.
    fn identity(self) -> String {
        match self {
            Self::Contract { hash } => format!("contract {hash}"),
            _ => self.as_str().to_owned(),
        }
    }
}

impl DestinationControl {
    /// Checks that the caller's account holds the receiving address on the destination chain.
    ///
    /// An account with a key holds it by itself, and the observation says so. An address with a
    /// contract is no such account, and an address whose code was not read may be a contract: where
    /// `allow_unread` permits that, the check establishes nothing. For a Safe, the proxy on the
    /// destination chain must have the same code as on the source chain, so that its answers are
    /// equally true. Its singleton must have the same code, or both a reviewed one. Owners,
    /// threshold and version must be equal. Modules, guards and fallback handler must be the
    /// source's, or absent.
    ///
    /// # Errors
    /// The part that differs.
    ///
    /// # Example
    /// ```
    /// use calldata_checks::bridge::{AccountKind, account::{AccountCode, DestinationControl}};
    ///
    /// let contract = DestinationControl::Eoa { source_code: Some(AccountCode::of(&[0x60, 0x80])) };
    /// assert_eq!(contract.judge(AccountKind::Eoa, false).unwrap_err().observed, "contract");
    /// ```
    pub fn judge(&self, kind: AccountKind, allow_unread: bool) -> Verdict {
        match (kind, self) {
            (AccountKind::Eoa, Self::Eoa { source_code: None }) if !allow_unread => {
                Err(Violation::new(
                    "the account was not read on the source chain: a contract there would not hold the address elsewhere",
                    "its code, read by an endpoint of the source chain",
                    "not_read",
                ))
            }
            (AccountKind::Eoa, Self::Eoa { source_code }) => judge_key(*source_code),
            (AccountKind::Safe, Self::Safe(readings)) => readings.judge(),
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

fn judge_key(source_code: Option<AccountCode>) -> Verdict {
    Ok(Observed::fixed(match source_code {
        None => {
            return Ok(Observed::nothing_to_judge(
                "source code not_read: a contract there would not hold the address elsewhere"
                    .to_owned(),
            ));
        }
        Some(AccountCode::Empty) => "eoa: one key on both chains",
        Some(AccountCode::Delegated) => "eoa: one key on both chains (delegated on the source)",
        Some(contract @ AccountCode::Contract { .. }) => {
            return Err(Violation::new(
                "the address is a contract on the source chain, not an account with a key",
                "no code, or a delegation",
                contract.as_str(),
            ));
        }
    })
    .by_readings("the account's code on the source chain"))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;

    use super::*;

    const CONTRACT: AccountCode = AccountCode::Contract {
        hash: B256::repeat_byte(7),
    };

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
        for allow_unread in [false, true] {
            let judge = |source_code| {
                DestinationControl::Eoa { source_code }.judge(AccountKind::Eoa, allow_unread)
            };
            assert!(judge(Some(AccountCode::Empty)).is_ok());
            assert!(judge(Some(AccountCode::Delegated)).is_ok());
            assert_eq!(judge(Some(CONTRACT)).unwrap_err().observed, "contract");
            match judge(None) {
                Ok(observed) => assert!(
                    allow_unread
                        && !observed.is_established()
                        && observed.as_str().contains("not_read")
                ),
                Err(violation) => assert!(!allow_unread && violation.observed == "not_read"),
            }
        }
    }

    #[test]
    fn readings_of_another_kind_establish_nothing() {
        let key = DestinationControl::Eoa {
            source_code: Some(AccountCode::Empty),
        };
        assert!(key.judge(AccountKind::Safe, true).is_err());
        let reading = SafeReading {
            code: CONTRACT,
            fallback_handler: Address::ZERO,
            guard: Address::ZERO,
            module_guard: Address::ZERO,
            modules: Vec::new(),
            owners: vec![Address::repeat_byte(1)],
            singleton: Address::ZERO,
            singleton_code: CONTRACT,
            threshold: U256::from(1),
            version: "1.4.1".to_owned(),
        };
        let both = DestinationControl::Safe(Box::new(SafeReadings {
            source: reading.clone(),
            destination: reading,
        }));
        assert!(both.judge(AccountKind::Safe, false).is_ok());
        assert!(both.judge(AccountKind::Eoa, true).is_err());
    }
}
