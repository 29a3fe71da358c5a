//! The burn: the bytes of the call step, decoded strictly and encoded. It judges no value: the
//! checks of the rail do.

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use alloy_sol_types::{SolCall, sol};

use super::chains::TOKEN_MESSENGER;
use crate::{
    Step, StepKind, Violation,
    abi::{decode_call, selector_text},
    step::approval,
};

sol! {
    /// TokenMessengerV2 (CCTP V2). The form of V1 has four arguments and another selector.
    function depositForBurn(
        uint256 amount,
        uint32 destinationDomain,
        bytes32 mintRecipient,
        address burnToken,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 minFinalityThreshold
    ) external;

    /// The same burn with a hook: bytes that travel with the message. The protocol does not run
    /// them.
    function depositForBurnWithHook(
        uint256 amount,
        uint32 destinationDomain,
        bytes32 mintRecipient,
        address burnToken,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 minFinalityThreshold,
        bytes hookData
    ) external;
}

/// The hook that asks the protocol's relayer to submit the mint: `cctp-forward` in 24 bytes,
/// version 0, length 0.
pub const FORWARD_HOOK: [u8; 32] =
    hex!("636374702d666f72776172640000000000000000000000000000000000000000");

/// A decoded burn.
///
/// # Example
/// ```
/// use alloy_primitives::{U256, hex};
/// use calldata_checks::bridge::calldata::Burn;
///
/// // 1,234.56789 USDC from Base to Arbitrum.
/// let mut data = hex!("8e0250ee
///     00000000000000000000000000000000000000000000000000000000499602d2
///     0000000000000000000000000000000000000000000000000000000000000003
///     00000000000000000000000070997970c51812dc3a010c7d01b50e0d17dc79c8
///     000000000000000000000000833589fcd6edb6e08f4c7c32d4f71b54bda02913
///     0000000000000000000000000000000000000000000000000000000000000000
///     000000000000000000000000000000000000000000000000000000000002b1a0
///     00000000000000000000000000000000000000000000000000000000000003e8").to_vec();
/// let burn = Burn::decode(&data).map_err(|refused| refused.message)?;
/// assert_eq!((burn.amount, burn.destination_domain), (U256::from(1_234_567_890), 3));
/// assert_eq!(burn.encode(), data);
///
/// data.push(0);
/// assert!(Burn::decode(&data).unwrap_err().message.contains("not a canonical burn"));
/// # Ok::<(), std::borrow::Cow<'static, str>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Burn {
    /// The amount that is burned, in the smallest unit of USDC.
    pub amount: U256,
    /// The protocol domain of the mint.
    pub destination_domain: u32,
    /// The recipient of the mint: an address, padded with zeros on the left. The destination chain
    /// ignores the upper twelve bytes.
    pub mint_recipient: B256,
    /// The token that is burned.
    pub burn_token: Address,
    /// The account that may submit the mint; zero for any.
    pub destination_caller: B256,
    /// The most that the mint may deduct, in the smallest unit of USDC.
    pub max_fee: U256,
    /// The finality that the burn needs before it is attested.
    pub min_finality_threshold: u32,
    /// The hook; `None` for the function without one.
    pub hook: Option<Bytes>,
}

impl Burn {
    /// Decodes calldata that is exactly the canonical encoding of one of the two functions.
    ///
    /// # Errors
    /// Another function, or bytes that are not canonical.
    pub fn decode(data: &[u8]) -> Result<Self, Violation> {
        let not_canonical = |error| {
            Violation::new(
                "the call is not a canonical burn",
                "depositForBurn of CCTP V2",
                error,
            )
        };
        match data.first_chunk::<4>() {
            Some(&depositForBurnCall::SELECTOR) => decode_call::<depositForBurnCall>(data)
                .map(Self::from)
                .map_err(not_canonical),
            Some(&depositForBurnWithHookCall::SELECTOR) => {
                decode_call::<depositForBurnWithHookCall>(data)
                    .map(Self::from)
                    .map_err(not_canonical)
            }
            _ => Err(Violation::new(
                "the call is not a burn of CCTP V2",
                "selector 0x8e0250ee or 0x779b432d",
                selector_text(data),
            )),
        }
    }

    /// Returns the canonical calldata.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let plain = depositForBurnCall {
            amount: self.amount,
            destinationDomain: self.destination_domain,
            mintRecipient: self.mint_recipient,
            burnToken: self.burn_token,
            destinationCaller: self.destination_caller,
            maxFee: self.max_fee,
            minFinalityThreshold: self.min_finality_threshold,
        };
        match &self.hook {
            None => plain.abi_encode().into(),
            Some(hook) => depositForBurnWithHookCall {
                amount: plain.amount,
                destinationDomain: plain.destinationDomain,
                mintRecipient: plain.mintRecipient,
                burnToken: plain.burnToken,
                destinationCaller: plain.destinationCaller,
                maxFee: plain.maxFee,
                minFinalityThreshold: plain.minFinalityThreshold,
                hookData: hook.clone(),
            }
            .abi_encode()
            .into(),
        }
    }

    /// Makes the three steps of the plan: one clears the allowance, one sets it to the amount, one
    /// burns.
    #[must_use]
    pub fn steps(&self) -> [Step; 3] {
        [
            approval(
                StepKind::ApproveReset,
                self.burn_token,
                TOKEN_MESSENGER,
                U256::ZERO,
            ),
            approval(
                StepKind::Approve,
                self.burn_token,
                TOKEN_MESSENGER,
                self.amount,
            ),
            Step {
                kind: StepKind::Call,
                to: TOKEN_MESSENGER,
                value: U256::ZERO,
                data: self.encode(),
            },
        ]
    }
}

impl From<depositForBurnCall> for Burn {
    fn from(call: depositForBurnCall) -> Self {
        Self {
            amount: call.amount,
            destination_domain: call.destinationDomain,
            mint_recipient: call.mintRecipient,
            burn_token: call.burnToken,
            destination_caller: call.destinationCaller,
            max_fee: call.maxFee,
            min_finality_threshold: call.minFinalityThreshold,
            hook: None,
        }
    }
}

impl From<depositForBurnWithHookCall> for Burn {
    fn from(call: depositForBurnWithHookCall) -> Self {
        Self {
            amount: call.amount,
            destination_domain: call.destinationDomain,
            mint_recipient: call.mintRecipient,
            burn_token: call.burnToken,
            destination_caller: call.destinationCaller,
            max_fee: call.maxFee,
            min_finality_threshold: call.minFinalityThreshold,
            hook: Some(call.hookData),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selectors_are_those_of_the_second_version() {
        assert_eq!(depositForBurnCall::SELECTOR, hex!("8e0250ee"));
        assert_eq!(depositForBurnWithHookCall::SELECTOR, hex!("779b432d"));
    }

    #[test]
    fn the_forward_hook_is_its_frame() {
        let mut frame = [0; 32];
        frame[..12].copy_from_slice(b"cctp-forward");
        assert_eq!(FORWARD_HOOK, frame);
    }

    #[test]
    fn other_functions_are_refused_by_their_selector() {
        for data in [
            hex!("6fd3504e").as_slice(),
            &hex!("095ea7b3"),
            &hex!("8e02"),
            &[],
        ] {
            let violation = Burn::decode(data).unwrap_err();
            assert_eq!(violation.observed, selector_text(data));
        }
    }
}
