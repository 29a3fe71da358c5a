//! Reads from a chain, and the meaning of the answers.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::SolCall as _;

use super::{
    accept::ChainGrant,
    framework::{
        IMPLEMENTATION, MANAGER, NONCE, allowanceCall, currentNonceCall, disabledDelegationsCall,
    },
};
use crate::{Refusal, Rule};

/// A question to a contract: `eth_call` at a sealed block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The called contract.
    pub to: Address,
    /// Calldata.
    pub data: Bytes,
}

impl Read {
    /// Whether the manager has a delegation disabled. The account can enable it again, so only the
    /// present answer counts.
    #[must_use]
    pub fn disabled(hash: B256) -> Self {
        let call = disabledDelegationsCall {
            delegationHash: hash,
        };
        Self::new(MANAGER, call.abi_encode())
    }

    /// The account's number at the `NonceEnforcer`.
    #[must_use]
    pub fn nonce(account: Address) -> Self {
        let call = currentNonceCall {
            manager: MANAGER,
            delegator: account,
        };
        Self::new(NONCE, call.abi_encode())
    }

    /// The allowance of the router for the grant's input token.
    #[must_use]
    pub fn allowance(grant: &ChainGrant) -> Self {
        Self::allowance_of(grant.token, grant.account, grant.router)
    }

    /// The allowance of `spender` for a token of an account.
    #[must_use]
    pub fn allowance_of(token: Address, owner: Address, spender: Address) -> Self {
        let call = allowanceCall { owner, spender };
        Self::new(token, call.abi_encode())
    }

    /// The answer as a number: exactly one word. `None` for any other length, such as the empty
    /// answer of an address without a contract.
    #[must_use]
    pub fn number(answer: &[u8]) -> Option<U256> {
        (answer.len() == 32).then(|| U256::from_be_slice(answer))
    }

    /// The answer as yes or no: exactly one word, 1 or 0.
    #[must_use]
    pub fn yes(answer: &[u8]) -> Option<bool> {
        let number = Self::number(answer)?;
        (number <= U256::ONE).then(|| !number.is_zero())
    }

    fn new(to: Address, data: Vec<u8>) -> Self {
        Self {
            to,
            data: data.into(),
        }
    }
}

/// Checks that the account's code points to the framework's implementation (EIP-7702). Without
/// code, the manager accepts the signature and the account executes nothing. With another code,
/// that code decides the meaning of the delegations.
///
/// # Errors
/// `account_code_mismatch`
pub fn judge_code(code: &[u8]) -> Result<(), Refusal> {
    let expected = [&[0xef, 0x01, 0x00], IMPLEMENTATION.as_slice()].concat();
    if code == expected {
        return Ok(());
    }
    let observed = match code.len() {
        0 => "no code".to_owned(),
        23 => Bytes::copy_from_slice(code).to_string(),
        length => format!("{length} bytes of code"),
    };
    Err(Refusal::new(
        Rule::AccountCodeMismatch,
        "the account does not run the framework's code",
        Bytes::from(expected),
        observed,
    ))
}
