//! Decodes calldata of the router to the facts that it proves. The module `bind` compares them with
//! the request.

use alloy_primitives::{Address, FixedBytes, U256};
use alloy_sol_types::{SolCall, abi::AbiDecoderConfig};

use super::{
    Refusal, Trim,
    layout::{
        BaseRequest, RouterPath, dagSwapByOrderIdCall, dagSwapToCall, smartSwapByOrderIdCall,
        smartSwapToCall, uniswapV3SwapToCall, unxswapByOrderIdCall, unxswapToCall,
    },
    suffix,
};

/// Longest calldata that is decoded: real swaps take a few kilobytes.
pub(super) const MAX_CALLDATA: usize = 128 * 1024;

/// The effect of a router call, as far as its bytes prove it. A fact that the bytes do not prove is
/// `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapFacts {
    /// First four bytes.
    pub selector: FixedBytes<4>,
    /// Name of the function.
    pub function: &'static str,
    /// The recipient of the output.
    pub receiver: Receiver,
    /// The token that is spent; `None` for functions that name pools only.
    pub input_token: Option<Address>,
    /// The token that is received; `None` for functions that name pools only.
    pub output_token: Option<Address>,
    /// Amount spent, in the input token's unit.
    pub amount: U256,
    /// Least amount received, in the output token's unit; the router reverts below it.
    pub min_output: U256,
    /// Unix time in seconds after which the router reverts; `None` where the function has none.
    pub deadline: Option<U256>,
    /// Share of a better-than-quoted output that the aggregator keeps.
    pub trim: Option<Trim>,
    /// Bytes after the arguments, all of them recognised.
    pub trailing_bytes: usize,
}

/// The recipient of a swap's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// The sender of the transaction.
    Sender,
    /// An explicit argument.
    Address(Address),
}

/// Decodes the calldata of a router call.
///
/// # Errors
///
/// A [`Refusal`] when the function is unknown, the arguments are not canonical, the bytes contain a
/// commission, or an unknown suffix follows the arguments.
///
/// # Example
/// ```
/// use alloy_primitives::hex;
/// use calldata_checks::okx::decode;
///
/// // `transfer(address,uint256)` is no function of the router.
/// let refusal = decode(&hex!("a9059cbb")).unwrap_err();
/// assert_eq!(refusal.code(), "selector_unreviewed");
/// // A function of the router without its arguments.
/// assert_eq!(decode(&hex!("f2c42696")).unwrap_err().code(), "calldata_malformed");
/// ```
pub fn decode(data: &[u8]) -> Result<SwapFacts, Refusal> {
    if data.len() > MAX_CALLDATA {
        return Err(Refusal::CalldataMalformed {
            reason: "longer than any real swap",
        });
    }
    let selector = data.first_chunk::<4>().ok_or(Refusal::CalldataMalformed {
        reason: "shorter than a selector",
    })?;
    match *selector {
        dagSwapByOrderIdCall::SELECTOR => {
            let (call, rest) = arguments::<dagSwapByOrderIdCall>(data)?;
            routed(
                data,
                rest,
                "dagSwapByOrderId",
                Receiver::Sender,
                &call.baseRequest,
                call.paths.first(),
            )
        }
        dagSwapToCall::SELECTOR => {
            let (call, rest) = arguments::<dagSwapToCall>(data)?;
            let receiver = Receiver::Address(call.receiver);
            routed(
                data,
                rest,
                "dagSwapTo",
                receiver,
                &call.baseRequest,
                call.paths.first(),
            )
        }
        smartSwapByOrderIdCall::SELECTOR => {
            let (call, rest) = arguments::<smartSwapByOrderIdCall>(data)?;
            let first = call.batches.first().and_then(|batch| batch.first());
            routed(
                data,
                rest,
                "smartSwapByOrderId",
                Receiver::Sender,
                &call.baseRequest,
                first,
            )
        }
        smartSwapToCall::SELECTOR => {
            let (call, rest) = arguments::<smartSwapToCall>(data)?;
            let first = call.batches.first().and_then(|batch| batch.first());
            let receiver = Receiver::Address(call.receiver);
            routed(
                data,
                rest,
                "smartSwapTo",
                receiver,
                &call.baseRequest,
                first,
            )
        }
        unxswapByOrderIdCall::SELECTOR => {
            let (call, rest) = arguments::<unxswapByOrderIdCall>(data)?;
            let input = Some(low_address(call.srcToken));
            pooled(
                data,
                rest,
                "unxswapByOrderId",
                Receiver::Sender,
                input,
                call.amount,
                call.minReturn,
            )
        }
        unxswapToCall::SELECTOR => {
            let (call, rest) = arguments::<unxswapToCall>(data)?;
            let input = Some(low_address(call.srcToken));
            let receiver = Receiver::Address(call.receiver);
            pooled(
                data,
                rest,
                "unxswapTo",
                receiver,
                input,
                call.amount,
                call.minReturn,
            )
        }
        uniswapV3SwapToCall::SELECTOR => {
            let (call, rest) = arguments::<uniswapV3SwapToCall>(data)?;
            let receiver = Receiver::Address(low_address(call.receiver));
            pooled(
                data,
                rest,
                "uniswapV3SwapTo",
                receiver,
                None,
                call.amount,
                call.minReturn,
            )
        }
        other => Err(Refusal::SelectorUnreviewed {
            observed: other.into(),
        }),
    }
}

/// Most memory that decoded arguments may take: thirty-two times the longest calldata.
const MAX_DECODED_BYTES: usize = 32 * 128 * 1024;

/// Decodes the arguments of `data`. Returns them with the number of bytes that they and the
/// selector take.
fn arguments<C: SolCall>(data: &[u8]) -> Result<(C, usize), Refusal> {
    let body = data.get(4..).unwrap_or_default();
    // Aliased offsets make a decoder copy the same words again and again. Real arguments decode to
    // little more than their own length.
    let config = AbiDecoderConfig::new().memory_limit(MAX_DECODED_BYTES);
    let call =
        C::abi_decode_raw_with_config(body, config).map_err(|_| Refusal::CalldataMalformed {
            reason: "arguments do not decode",
        })?;
    let canonical = call.abi_encode();
    if !data.starts_with(&canonical) {
        return Err(Refusal::CalldataNotCanonical);
    }
    Ok((call, canonical.len()))
}

/// Reads the facts of the functions that name both tokens.
fn routed(
    data: &[u8],
    arguments: usize,
    function: &'static str,
    receiver: Receiver,
    request: &BaseRequest,
    first: Option<&RouterPath>,
) -> Result<SwapFacts, Refusal> {
    let input = exact_address(request.fromToken)?;
    let first = first.ok_or(Refusal::CalldataMalformed { reason: "no path" })?;
    let spent = low_address(first.fromToken);
    if spent != input {
        return Err(Refusal::InputTokenMismatch {
            expected: input,
            observed: spent,
        });
    }
    Ok(SwapFacts {
        input_token: Some(input),
        output_token: Some(request.toToken),
        deadline: Some(request.deadLine),
        ..facts(
            data,
            arguments,
            function,
            receiver,
            request.fromTokenAmount,
            request.minReturnAmount,
        )?
    })
}

/// Reads the facts of the functions that name pools instead of tokens.
fn pooled(
    data: &[u8],
    arguments: usize,
    function: &'static str,
    receiver: Receiver,
    input_token: Option<Address>,
    amount: U256,
    min_output: U256,
) -> Result<SwapFacts, Refusal> {
    Ok(SwapFacts {
        input_token,
        ..facts(data, arguments, function, receiver, amount, min_output)?
    })
}

fn facts(
    data: &[u8],
    arguments: usize,
    function: &'static str,
    receiver: Receiver,
    amount: U256,
    min_output: U256,
) -> Result<SwapFacts, Refusal> {
    let trailing = data.get(arguments..).unwrap_or_default();
    Ok(SwapFacts {
        selector: data.first_chunk::<4>().copied().unwrap_or_default().into(),
        function,
        receiver,
        input_token: None,
        output_token: None,
        amount,
        min_output,
        deadline: None,
        trim: suffix::read(data, trailing)?,
        trailing_bytes: trailing.len(),
    })
}

/// Returns the low 160 bits, as the router reads them. The bits above hold order ids and flags.
fn low_address(word: U256) -> Address {
    Address::from_word(word.into())
}

/// Returns an address without flags above it.
fn exact_address(word: U256) -> Result<Address, Refusal> {
    let address = low_address(word);
    if U256::from_be_bytes(address.into_word().0) == word {
        Ok(address)
    } else {
        Err(Refusal::CalldataMalformed {
            reason: "flags above the input token",
        })
    }
}
