//! Accounts that must not receive money.

use alloy_primitives::{Address, address};
use thiserror::Error;

/// The ten accounts that local test chains derive from the mnemonic `test test test test test test
/// test test test test test junk`, in their order. Their keys are public: money that they receive
/// on a public chain is taken at once.
pub const LOCAL_CHAIN_ACCOUNTS: [Address; 10] = [
    address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
    address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"),
    address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"),
    address!("90F79bf6EB2c4f870365E785982E1f101E93b906"),
    address!("15d34AAf54267DB7D7c367839AAf71A00a2C6A65"),
    address!("9965507D1a55bcC2695C58ba16FB37d819B0A4dc"),
    address!("976EA74026E726554dB657fA54763abd0C3a0aa9"),
    address!("14dC79964da2C08b23698B3D3cc7Ca32193d9955"),
    address!("23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"),
    address!("a0Ee7A142d267C1f36714E4a8F75612F20a79720"),
];

/// The reason why an address must not receive money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PayeeFault {
    /// The zero address: money that it receives is lost.
    #[error("the zero address would burn every payment")]
    Zero,
    /// One of [`LOCAL_CHAIN_ACCOUNTS`].
    #[error(
        "{account} is an account of local test chains, whose key everybody has: expected an address of your own"
    )]
    LocalChain {
        /// The account.
        account: Address,
    },
}

impl PayeeFault {
    /// A stable code for logs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Zero => "payee_zero",
            Self::LocalChain { .. } => "payee_local_chain",
        }
    }
}

/// Checks that an address may receive money, as far as the address alone can tell.
///
/// # Errors
/// [`PayeeFault`].
///
/// ```
/// use alloy_primitives::Address;
/// use exact::address::{PayeeFault, check_payee};
///
/// assert_eq!(check_payee(Address::repeat_byte(0x11)), Ok(()));
/// assert_eq!(check_payee(Address::ZERO), Err(PayeeFault::Zero));
/// ```
pub fn check_payee(payee: Address) -> Result<(), PayeeFault> {
    if payee.is_zero() {
        return Err(PayeeFault::Zero);
    }
    if LOCAL_CHAIN_ACCOUNTS.contains(&payee) {
        return Err(PayeeFault::LocalChain { account: payee });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_accounts_with_public_keys_are_no_payees() {
        assert_eq!(check_payee(Address::ZERO), Err(PayeeFault::Zero));
        for account in LOCAL_CHAIN_ACCOUNTS {
            let fault = check_payee(account).unwrap_err();
            assert_eq!(fault, PayeeFault::LocalChain { account });
            assert!(fault.to_string().contains(&account.to_string()));
        }
        assert_eq!(check_payee(Address::repeat_byte(0x11)), Ok(()));
    }
}
