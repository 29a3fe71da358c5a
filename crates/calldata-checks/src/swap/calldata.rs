//! Decodes the two functions of a swap's calldata, strictly and with bounded work. Leaves the
//! effect of the legs to the module `read` and the checks.

use alloy_primitives::{Address, Selector, U256};
use alloy_sol_types::{SolCall as _, sol};

use crate::abi::{self, AbiError};

pub use self::interface::{
    FeeDistribution, SwapData, forwardERC20FeesCall, swapTokensMultipleV3ERC20ToERC20Call,
    swapTokensSingleV3ERC20ToERC20Call,
};

/// Most legs of a swap that are decoded; real ones have two to five.
pub const MAX_LEGS: usize = 16;
/// Most fee recipients that are decoded; the aggregator serves up to about ten.
pub const MAX_RECIPIENTS: usize = 32;
/// Longest calldata that is decoded, in bytes: nodes relay no larger transaction.
pub const MAX_CALLDATA: usize = 128 * 1024;

const SELECTOR: usize = 4;
const WORD: usize = 32;

mod interface {
    #![allow(
        missing_docs,
        clippy::too_many_arguments,
        reason = "generated from the interface"
    )]

    use super::sol;

    sol! {
        /// One leg of a swap: a call that the router makes.
        #[derive(Debug, PartialEq, Eq)]
        struct SwapData {
            address callTo;
            address approveTo;
            address sendingAssetId;
            address receivingAssetId;
            uint256 fromAmount;
            bytes callData;
            bool requiresDeposit;
        }

        /// The aggregator router's swap of several legs, ERC-20 to ERC-20: `0x5fd9ae2e`.
        #[derive(Debug, PartialEq, Eq)]
        function swapTokensMultipleV3ERC20ToERC20(
            bytes32 _transactionId,
            string _integrator,
            string _referrer,
            address _receiver,
            uint256 _minAmountOut,
            SwapData[] _swapData
        ) external;

        /// The aggregator router's swap of one leg, ERC-20 to ERC-20: `0x4666fc80`. The router
        /// always deposits the leg's amount. It has no room for a fee leg.
        #[derive(Debug, PartialEq, Eq)]
        function swapTokensSingleV3ERC20ToERC20(
            bytes32 _transactionId,
            string _integrator,
            string _referrer,
            address _receiver,
            uint256 _minAmountOut,
            SwapData _swapData
        ) external;

        /// One recipient of the fee, with its amount in the input token's smallest unit.
        #[derive(Debug, PartialEq, Eq)]
        struct FeeDistribution {
            address recipient;
            uint256 amount;
        }

        /// The aggregator's fee forwarder: `0x332d746b`.
        #[derive(Debug, PartialEq, Eq)]
        function forwardERC20Fees(address _token, FeeDistribution[] _distributions) external;
    }
}

/// The reason why calldata is refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum CalldataError {
    /// The bytes are not the canonical encoding of the function.
    #[error(transparent)]
    Abi(#[from] AbiError),
    /// The calldata is longer than a transaction can be.
    #[error("{observed} bytes where at most {MAX_CALLDATA} are read")]
    TooLong {
        /// The calldata's length in bytes.
        observed: usize,
    },
    /// An array has too many elements, or lies outside the bytes.
    #[error(
        "an array of {} elements where at most {limit} are read",
        .observed.map_or_else(|| "unreadable".to_owned(), |n| n.to_string())
    )]
    TooMany {
        /// The most elements that are read.
        limit: usize,
        /// The number of elements in the bytes; `None` when its place is outside the bytes.
        observed: Option<U256>,
    },
}

/// The router's functions that are decoded: one for several legs, and one for one leg.
pub const IMPLEMENTED: [Selector; 2] = [
    Selector::new(swapTokensMultipleV3ERC20ToERC20Call::SELECTOR),
    Selector::new(swapTokensSingleV3ERC20ToERC20Call::SELECTOR),
];

/// The outer call of either function.
///
/// # Example
/// ```
/// use calldata_checks::{abi::AbiError, swap::calldata::{CalldataError, SwapCall}};
///
/// let transfer = [0xa9, 0x05, 0x9c, 0xbb];
/// let refused = SwapCall::decode(&transfer).unwrap_err();
/// assert!(matches!(refused, CalldataError::Abi(AbiError::Selector { .. })));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapCall {
    /// `_integrator`.
    pub integrator: String,
    /// `_referrer`.
    pub referrer: String,
    /// `_receiver`.
    pub receiver: Address,
    /// `_minAmountOut`.
    pub min_amount_out: U256,
    /// The legs. In the one-leg function the leg always deposits.
    pub legs: Vec<SwapData>,
}

impl SwapCall {
    /// Decodes a call of one of the [`IMPLEMENTED`] functions.
    ///
    /// # Errors
    /// [`CalldataError`]. Calldata of another function is decoded as the one with several legs, and
    /// refused with its error.
    pub fn decode(data: &[u8]) -> Result<Self, CalldataError> {
        if !data.starts_with(&swapTokensSingleV3ERC20ToERC20Call::SELECTOR) {
            let call = decode_swap(data)?;
            return Ok(Self {
                integrator: call._integrator,
                referrer: call._referrer,
                receiver: call._receiver,
                min_amount_out: call._minAmountOut,
                legs: call._swapData,
            });
        }
        let call: swapTokensSingleV3ERC20ToERC20Call = abi::decode_call(fitting(data)?)?;
        let mut leg = call._swapData;
        leg.requiresDeposit = true;
        Ok(Self {
            integrator: call._integrator,
            referrer: call._referrer,
            receiver: call._receiver,
            min_amount_out: call._minAmountOut,
            legs: vec![leg],
        })
    }
}

/// Decodes the outer call of several legs.
///
/// # Errors
/// [`CalldataError`]
///
/// # Example
/// ```
/// use calldata_checks::{abi::AbiError, swap::calldata::{CalldataError, decode_swap}};
///
/// let one_leg = [0x46, 0x66, 0xfc, 0x80]; // the selector of the function for one leg
/// let refused = decode_swap(&one_leg).unwrap_err();
/// assert!(matches!(refused, CalldataError::Abi(AbiError::Selector { .. })));
/// ```
pub fn decode_swap(data: &[u8]) -> Result<swapTokensMultipleV3ERC20ToERC20Call, CalldataError> {
    bounded(data, 5, MAX_LEGS)
}

/// Decodes the calldata of a fee leg.
///
/// # Errors
/// [`CalldataError`]
///
/// # Example
/// ```
/// use alloy_primitives::{Address, U256};
/// use alloy_sol_types::SolCall as _;
/// use calldata_checks::swap::calldata::{FeeDistribution, decode_fees, forwardERC20FeesCall};
///
/// let fee = FeeDistribution { recipient: Address::repeat_byte(7), amount: U256::from(30) };
/// let call = forwardERC20FeesCall { _token: Address::repeat_byte(1), _distributions: vec![fee] };
/// let mut data = call.abi_encode();
/// assert_eq!(decode_fees(&data), Ok(call));
///
/// data.push(0);
/// assert!(decode_fees(&data).is_err());
/// ```
pub fn decode_fees(data: &[u8]) -> Result<forwardERC20FeesCall, CalldataError> {
    bounded(data, 1, MAX_RECIPIENTS)
}

/// Decodes `C`, whose argument number `array` is its only array. Reads the length of the array
/// first, from the same place as the decoder: a decoder allocates memory for the claimed number of
/// elements, and aliased elements make it copy the same bytes again and again.
fn bounded<C: alloy_sol_types::SolCall>(
    data: &[u8],
    array: usize,
    limit: usize,
) -> Result<C, CalldataError> {
    let data = fitting(data)?;
    if data.starts_with(&C::SELECTOR) {
        let observed = array_length(data, array);
        if observed.is_none_or(|length| length > U256::from(limit)) {
            return Err(CalldataError::TooMany { limit, observed });
        }
    }
    Ok(abi::decode_call::<C>(data)?)
}

fn fitting(data: &[u8]) -> Result<&[u8], CalldataError> {
    if data.len() > MAX_CALLDATA {
        return Err(CalldataError::TooLong {
            observed: data.len(),
        });
    }
    Ok(data)
}

fn array_length(data: &[u8], argument: usize) -> Option<U256> {
    let arguments = data.get(SELECTOR..)?;
    let word = |at: usize| {
        let end = at.checked_add(WORD)?;
        arguments.get(at..end).map(U256::from_be_slice)
    };
    let offset = word(argument.checked_mul(WORD)?)?;
    word(usize::try_from(offset).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_those_of_the_deployed_contracts() {
        assert_eq!(
            swapTokensMultipleV3ERC20ToERC20Call::SELECTOR,
            [0x5f, 0xd9, 0xae, 0x2e]
        );
        assert_eq!(
            swapTokensMultipleV3ERC20ToERC20Call::SIGNATURE,
            "swapTokensMultipleV3ERC20ToERC20(bytes32,string,string,address,uint256,\
             (address,address,address,address,uint256,bytes,bool)[])"
        );
        assert_eq!(
            swapTokensSingleV3ERC20ToERC20Call::SELECTOR,
            [0x46, 0x66, 0xfc, 0x80]
        );
        assert_eq!(forwardERC20FeesCall::SELECTOR, [0x33, 0x2d, 0x74, 0x6b]);
        assert_eq!(
            forwardERC20FeesCall::SIGNATURE,
            "forwardERC20Fees(address,(address,uint256)[])"
        );
    }

    #[test]
    fn lengths_are_bounded_before_anything_is_decoded() {
        let fees = |n: usize| {
            forwardERC20FeesCall {
                _token: alloy_primitives::Address::ZERO,
                _distributions: vec![
                    FeeDistribution {
                        recipient: alloy_primitives::Address::ZERO,
                        amount: U256::ZERO,
                    };
                    n
                ],
            }
            .abi_encode()
        };
        assert_eq!(
            decode_fees(&fees(MAX_RECIPIENTS))
                .unwrap()
                ._distributions
                .len(),
            MAX_RECIPIENTS
        );
        assert_eq!(
            decode_fees(&fees(MAX_RECIPIENTS + 1)),
            Err(CalldataError::TooMany {
                limit: MAX_RECIPIENTS,
                observed: Some(U256::from(MAX_RECIPIENTS + 1)),
            })
        );
        let mut huge = fees(0);
        let last = huge.len() - WORD;
        huge[last..].fill(0xff);
        assert_eq!(
            decode_fees(&huge),
            Err(CalldataError::TooMany {
                limit: MAX_RECIPIENTS,
                observed: Some(U256::MAX),
            })
        );
        let mut outside = fees(0);
        outside[SELECTOR + WORD..SELECTOR + 2 * WORD].fill(0xff);
        for data in [&outside[..], &outside[..SELECTOR], &outside[..40]] {
            assert_eq!(
                decode_fees(data),
                Err(CalldataError::TooMany {
                    limit: MAX_RECIPIENTS,
                    observed: None,
                })
            );
        }
        let mut long = fees(1);
        long.resize(MAX_CALLDATA, 0);
        assert!(matches!(
            decode_fees(&long),
            Err(CalldataError::Abi(AbiError::NotCanonical { .. }))
        ));
        long.push(0);
        assert_eq!(
            decode_fees(&long),
            Err(CalldataError::TooLong {
                observed: MAX_CALLDATA + 1
            })
        );
        assert!(matches!(
            decode_swap(&fees(1)),
            Err(CalldataError::Abi(AbiError::Selector { .. }))
        ));
    }
}
