//! A strict ABI decoder: it decodes bytes, encodes them again, and refuses them when they differ.
//!
//! A decoder alone accepts trailing bytes, gaps, aliased offsets and dirty padding, and the EVM
//! executes them. A digest over such bytes would cover values that nobody read.

use alloy_primitives::{Selector, hex};
use alloy_sol_types::SolCall;

/// The reason why calldata is not the canonical encoding of a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AbiError {
    /// The calldata calls another function, or none.
    #[error("selector {} where {} is expected", .observed.map_or_else(|| "none".to_owned(), |s| s.to_string()), .expected)]
    Selector {
        /// The function's selector.
        expected: Selector,
        /// The first four bytes, if there are four.
        observed: Option<Selector>,
    },
    /// The arguments do not decode.
    #[error("the arguments of {function} do not decode")]
    Undecodable {
        /// The function's signature.
        function: &'static str,
    },
    /// The arguments decode, but their canonical encoding has other bytes: trailing bytes, a gap,
    /// an aliased offset, dirty padding.
    #[error(
        "the bytes are not the canonical encoding of {function} (they differ at byte {at} of {length})"
    )]
    NotCanonical {
        /// The function's signature.
        function: &'static str,
        /// The first byte that differs, counted from the start of the calldata.
        at: usize,
        /// The length of the calldata.
        length: usize,
    },
}

/// Decodes calldata that is exactly the canonical encoding of `C`.
///
/// # Errors
/// [`AbiError`]
///
/// # Example
/// ```
/// use alloy_primitives::{Address, U256};
/// use alloy_sol_types::SolCall as _;
/// use calldata_checks::{abi::{AbiError, decode_call}, step::approveCall};
///
/// let approve = approveCall { spender: Address::repeat_byte(7), amount: U256::from(1_000) };
/// let mut data = approve.abi_encode();
/// assert_eq!(decode_call::<approveCall>(&data)?.amount, U256::from(1_000));
///
/// data.push(0); // the token's contract would not mind
/// let refused = decode_call::<approveCall>(&data).err();
/// assert!(matches!(refused, Some(AbiError::NotCanonical { at: 68, length: 69, .. })));
/// # Ok::<(), AbiError>(())
/// ```
pub fn decode_call<C: SolCall>(data: &[u8]) -> Result<C, AbiError> {
    let observed = data.first_chunk::<4>().map(|bytes| Selector::from(*bytes));
    let expected = Selector::from(C::SELECTOR);
    if observed != Some(expected) {
        return Err(AbiError::Selector { expected, observed });
    }
    let call = C::abi_decode(data).map_err(|_| AbiError::Undecodable {
        function: C::SIGNATURE,
    })?;
    let canonical = call.abi_encode();
    if canonical == data {
        return Ok(call);
    }
    let at = canonical
        .iter()
        .zip(data)
        .position(|(a, b)| a != b)
        .unwrap_or_else(|| canonical.len().min(data.len()));
    Err(AbiError::NotCanonical {
        function: C::SIGNATURE,
        at,
        length: data.len(),
    })
}

/// Shows the first four bytes as text, for messages.
///
/// # Example
/// ```
/// use calldata_checks::abi::selector_text;
///
/// assert_eq!(selector_text(&[0x09, 0x5e, 0xa7, 0xb3, 1]), "0x095ea7b3");
/// assert_eq!(selector_text(&[0x09, 0x5e, 0xa7]), "none");
/// ```
#[must_use]
pub fn selector_text(data: &[u8]) -> String {
    data.first_chunk::<4>()
        .map_or_else(|| "none".to_owned(), hex::encode_prefixed)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, U256};

    use super::*;
    use crate::step::approveCall;

    #[test]
    fn the_first_byte_that_differs_is_named() {
        let call = approveCall {
            spender: Address::repeat_byte(0xab),
            amount: U256::from(7),
        };
        let data = call.abi_encode();
        assert!(decode_call::<approveCall>(&data).is_ok());
        let at = |data: &[u8]| match decode_call::<approveCall>(data).map(drop) {
            Err(AbiError::NotCanonical { at, length, .. }) => (at, length),
            other => panic!("{other:?}"),
        };
        let trailing = [&data[..], &[0]].concat();
        assert_eq!(at(&trailing), (68, 69));
        let mut dirty = data;
        dirty[15] = 1;
        assert_eq!(at(&dirty), (15, 68));
    }

    #[test]
    fn a_selector_is_shown_in_hex_or_is_none() {
        assert_eq!(selector_text(&[0x09, 0x5e, 0xa7, 0xb3, 1]), "0x095ea7b3");
        assert_eq!(selector_text(&[0x09, 0x5e, 0xa7]), "none");
    }
}
