//! The steps of a plan as they are sent to the contracts.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::SolCall as _;
use calldata_checks::swap::calldata::{
    FeeDistribution, SwapData, forwardERC20FeesCall, swapTokensMultipleV3ERC20ToERC20Call,
};
use calldata_checks::{Step, StepKind};
use dev_chain::base::{EXCHANGE, FORWARDER, ROUTER, USDC, WEI_PER_USDC_UNIT, WETH};

use crate::onchain::stage::{HOLDER, approveCall, snwapCall};

/// One call in packed form.
pub(crate) fn packed(target: Address, value: u64, data: &[u8]) -> Bytes {
    let value = U256::from(value).to_be_bytes::<32>();
    [target.as_slice(), &value, data].concat().into()
}

pub(crate) fn approval(spender: Address, amount: U256) -> Bytes {
    approveCall { spender, amount }.abi_encode().into()
}

/// A swap of USDC for WETH through the router at the venue, with a leg for the fee.
pub(crate) fn swap(amount: u64) -> swapTokensMultipleV3ERC20ToERC20Call {
    let fee = amount / 100;
    let (gross, net) = (U256::from(amount), U256::from(amount - fee));
    let fees = forwardERC20FeesCall {
        _token: USDC,
        _distributions: vec![FeeDistribution {
            recipient: Address::repeat_byte(0xfe),
            amount: U256::from(fee),
        }],
    };
    let venue = snwapCall {
        tokenIn: USDC,
        amountIn: net,
        recipient: ROUTER,
        tokenOut: WETH,
        amountOutMin: U256::ZERO,
        executor: Address::ZERO,
        executorData: Bytes::new(),
    };
    swapTokensMultipleV3ERC20ToERC20Call {
        _transactionId: B256::repeat_byte(0x11),
        _integrator: "svc".to_owned(),
        _referrer: String::new(),
        _receiver: HOLDER.address,
        _minAmountOut: output(amount),
        _swapData: vec![
            SwapData {
                callTo: FORWARDER,
                approveTo: FORWARDER,
                sendingAssetId: USDC,
                receivingAssetId: USDC,
                fromAmount: gross,
                callData: fees.abi_encode().into(),
                requiresDeposit: true,
            },
            SwapData {
                callTo: EXCHANGE,
                approveTo: EXCHANGE,
                sendingAssetId: USDC,
                receivingAssetId: WETH,
                fromAmount: net,
                callData: venue.abi_encode().into(),
                requiresDeposit: false,
            },
        ],
    }
}

/// The output of a swap of this amount.
pub(crate) fn output(amount: u64) -> U256 {
    U256::from(amount - amount / 100) * U256::from(WEI_PER_USDC_UNIT)
}

/// The three steps of a plan.
pub(crate) fn steps(amount: u64, call: &Bytes) -> [Step; 3] {
    let step = |kind, to, data| Step {
        kind,
        to,
        value: U256::ZERO,
        data,
    };
    [
        step(StepKind::ApproveReset, USDC, approval(ROUTER, U256::ZERO)),
        step(
            StepKind::Approve,
            USDC,
            approval(ROUTER, U256::from(amount)),
        ),
        step(StepKind::Call, ROUTER, call.clone()),
    ]
}
