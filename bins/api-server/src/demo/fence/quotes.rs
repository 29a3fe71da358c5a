//! Quotes of the embedded chain's exchange, composed like the aggregator's.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall as _, sol};
use calldata_checks::{
    FeePolicy, UtcSeconds,
    swap::calldata::{
        FeeDistribution, SwapData, forwardERC20FeesCall, swapTokensMultipleV3ERC20ToERC20Call,
    },
};
use dev_chain::base;
use plan_builder::ports::{PortError, PortErrorReason, SwapAsk, SwapQuote, SwapQuotes};

sol! {
    /// The exchange.
    function snwap(address tokenIn, uint256 amountIn, address recipient, address tokenOut, uint256 amountOutMin, address executor, bytes executorData) external returns (uint256);
}

/// The aggregator, for swaps of USDC to WETH.
pub(super) struct EmbeddedQuotes<'a> {
    /// The receiver and rate of the fee.
    pub(super) fees: &'a FeePolicy,
    /// The time of the quote.
    pub(super) read_at: UtcSeconds,
    /// The aggregator's own number for the transaction.
    pub(super) transaction_id: B256,
}

impl SwapQuotes for EmbeddedQuotes<'_> {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        self.compose(ask).ok_or_else(|| PortError {
            source_name: "lifi".into(),
            reason: PortErrorReason::NoRoute {
                detail: "the embedded exchange sells WETH for USDC".to_owned(),
            },
        })
    }
}

impl EmbeddedQuotes<'_> {
    fn compose(&self, ask: &SwapAsk) -> Option<SwapQuote> {
        if (ask.from_token, ask.to_token) != (base::USDC, base::WETH) {
            return None;
        }
        let mut rest = ask.from_amount;
        let mut distributions = Vec::new();
        for recipient in &self.fees.recipients {
            let amount = recipient.bps.floor_of(ask.from_amount)?;
            rest = rest.checked_sub(amount)?;
            distributions.push(FeeDistribution {
                recipient: recipient.address,
                amount,
            });
        }
        let fees = forwardERC20FeesCall {
            _token: ask.from_token,
            _distributions: distributions,
        };
        let swap = snwapCall {
            tokenIn: ask.from_token,
            amountIn: rest,
            recipient: Address::ZERO,
            tokenOut: ask.to_token,
            amountOutMin: U256::ZERO,
            executor: Address::ZERO,
            executorData: Bytes::new(),
        };
        let to_amount = rest.checked_mul(U256::from(base::WEI_PER_USDC_UNIT))?;
        let to_amount_min = ask.max_slippage.floor_of_rest(to_amount)?;
        let leg = |target, receiving, amount, deposit, data: Vec<u8>| SwapData {
            callTo: target,
            approveTo: target,
            sendingAssetId: ask.from_token,
            receivingAssetId: receiving,
            fromAmount: amount,
            callData: data.into(),
            requiresDeposit: deposit,
        };
        let call = swapTokensMultipleV3ERC20ToERC20Call {
            _transactionId: self.transaction_id,
            _integrator: ask.integrator.clone(),
            _referrer: Address::ZERO.to_string(),
            _receiver: ask.account,
            _minAmountOut: to_amount_min,
            _swapData: vec![
                leg(
                    base::FORWARDER,
                    ask.from_token,
                    ask.from_amount,
                    true,
                    fees.abi_encode(),
                ),
                leg(base::EXCHANGE, ask.to_token, rest, false, swap.abi_encode()),
            ],
        };
        Some(SwapQuote {
            source: "lifi".to_owned(),
            tool: "sushiswap".to_owned(),
            integrator: ask.integrator.clone(),
            from_chain_id: ask.chain_id,
            to_chain_id: ask.chain_id,
            from_token: ask.from_token,
            to_token: ask.to_token,
            from_amount: ask.from_amount,
            sender: ask.account,
            receiver: ask.account,
            to_amount,
            to_amount_min,
            approval_address: base::ROUTER,
            call_to: base::ROUTER,
            call_from: Some(ask.account),
            call_chain_id: ask.chain_id,
            call_value: U256::ZERO,
            call_data: call.abi_encode().into(),
            from_usd: None,
            to_usd: None,
            read_at: self.read_at,
        })
    }
}
