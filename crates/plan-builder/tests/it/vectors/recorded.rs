//! Ports that answer from memory, as the tests of an embedder would have: a quote composed like the
//! aggregator's, the fees of a bridge route, a market, and a perpetual.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "test code, shared with the example"
)]

use alloy_primitives::{Address, B256, Bytes, U256, address, b256};
use alloy_sol_types::{SolCall as _, sol};
use calldata_checks::{
    UtcSeconds,
    swap::calldata::{
        FeeDistribution, SwapData, forwardERC20FeesCall, swapTokensMultipleV3ERC20ToERC20Call,
    },
};
use plan_builder::{
    Judgement, Refusal,
    ports::{
        Accounts, BridgeFeeReading, BridgeFees, PerpAsset, PerpVenue, PmBuilderFee, PmMarket,
        PmToken, PmVenue, PortError, SwapAsk, SwapQuote, SwapQuotes,
    },
};

sol! {
    function snwap(
        address tokenIn,
        uint256 amountIn,
        address recipient,
        address tokenOut,
        uint256 amountOutMin,
        address executor,
        bytes executorData
    ) external returns (uint256);
}

const ROUTER: Address = address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE");
const FORWARDER: Address = address!("CE40449B773a3E6E5e769ADb4e567179d4828cbd");
const EXCHANGE: Address = address!("AC4c6e212A361c968F1725b4d055b47E63F80b75");
const OWN: Address = address!("90F79bf6EB2c4f870365E785982E1f101E93b906");
const AGGREGATOR: Address = address!("C06ebbefD94032B85424D51906e2A335EFAe264B");

/// A port that answers from memory, as if it had read everything at one time.
#[derive(Debug, Clone, Copy)]
pub struct Recorded {
    /// The time at which it read.
    pub read_at: UtcSeconds,
}

impl SwapQuotes for Recorded {
    /// Quotes one whole unit of output (18 decimals) for 2,500 units of input, less 30 + 25 basis
    /// points.
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        let own = ask.fee.floor_of(ask.from_amount).unwrap();
        let aggregator = ask.from_amount * U256::from(25) / U256::from(10_000);
        let net = ask.from_amount - own - aggregator;
        let to_amount = net * U256::from(400_000_000);
        let to_amount_min = ask.max_slippage.floor_of_rest(to_amount).unwrap();
        let fees = forwardERC20FeesCall {
            _token: ask.from_token,
            _distributions: vec![
                FeeDistribution {
                    recipient: AGGREGATOR,
                    amount: aggregator,
                },
                FeeDistribution {
                    recipient: OWN,
                    amount: own,
                },
            ],
        };
        let exchange = snwapCall {
            tokenIn: ask.from_token,
            amountIn: net,
            recipient: ROUTER,
            tokenOut: ask.to_token,
            amountOutMin: to_amount_min,
            executor: Address::ZERO,
            executorData: vec![].into(),
        };
        let leg = |target, receiving, amount, data: Vec<u8>, deposit| SwapData {
            callTo: target,
            approveTo: target,
            sendingAssetId: ask.from_token,
            receivingAssetId: receiving,
            fromAmount: amount,
            callData: data.into(),
            requiresDeposit: deposit,
        };
        let call = swapTokensMultipleV3ERC20ToERC20Call {
            _transactionId: B256::repeat_byte(0x7a),
            _integrator: ask.integrator.clone(),
            _referrer: format!("{:?}", Address::ZERO),
            _receiver: ask.account,
            _minAmountOut: to_amount_min,
            _swapData: vec![
                leg(
                    FORWARDER,
                    ask.from_token,
                    ask.from_amount,
                    fees.abi_encode(),
                    true,
                ),
                leg(EXCHANGE, ask.to_token, net, exchange.abi_encode(), false),
            ],
        };
        Ok(SwapQuote {
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
            approval_address: ROUTER,
            call_to: ROUTER,
            call_from: Some(ask.account),
            call_chain_id: ask.chain_id,
            call_value: U256::ZERO,
            call_data: call.abi_encode().into(),
            from_usd: None,
            to_usd: None,
            read_at: self.read_at,
        })
    }

    /// Judges by prices of 1 and 2,500 USD.
    async fn judge_worth(&self, _: &SwapAsk, _: &SwapQuote) -> Result<Judgement, Refusal> {
        let observed = "1000 USD in, 994.5 USD out: 55 basis points less, at most 300; the minimum is worth 989.5275 USD; \
                        input at 1 USD (defillama.coins of 2026-09-21T14:13:15Z, confidence 0.99); \
                        output at 2500 USD (defillama.coins of 2026-09-21T14:13:15Z, confidence 0.99)";
        Ok(Judgement::output_price(true, observed))
    }
}

impl BridgeFees for Recorded {
    async fn fees(&self, _: u32, _: u32, forward: bool) -> Result<BridgeFeeReading, PortError> {
        Ok(BridgeFeeReading {
            fast_bps: Some("1.3".parse().unwrap()),
            standard_bps: "0".parse().unwrap(),
            forward_fee: forward.then(|| U256::from(203_000)),
            read_at: self.read_at,
        })
    }

    async fn fast_allowance(&self) -> Result<U256, PortError> {
        Ok(U256::from(52_455_615_650_179u64))
    }
}

impl PmVenue for Recorded {
    async fn market(&self, token_id: U256) -> Result<PmMarket, PortError> {
        let token = |token_id, outcome: &str| PmToken {
            token_id,
            outcome: outcome.to_owned(),
        };
        Ok(PmMarket {
            version: 2,
            condition_id: b256!("5f65177b394277fd294cd75650044e32ba009a95022d88a0c1d565897d72f8f1"),
            tokens: [token(token_id, "Yes"), token(U256::from(7), "No")],
            tick_size: "0.01".parse().unwrap(),
            min_order_size: "5".parse().unwrap(),
            neg_risk: false,
            accepting_orders: true,
            order_book: true,
            active: true,
            closed: false,
            fee_rate: None,
            read_at: self.read_at,
        })
    }

    async fn builder_fee(&self, _: B256) -> Result<PmBuilderFee, PortError> {
        Ok(PmBuilderFee {
            maker_bps: "0".parse().unwrap(),
            taker_bps: "12.5".parse().unwrap(),
        })
    }
}

impl Accounts for Recorded {
    async fn code(&self, _: u64, _: Address) -> Result<Bytes, PortError> {
        Ok(Bytes::new())
    }

    async fn call(&self, _: u64, _: Address, _: Bytes) -> Result<Option<Bytes>, PortError> {
        Ok(None)
    }
}

impl PerpVenue for Recorded {
    async fn asset(&self, coin: &str) -> Result<PerpAsset, PortError> {
        Ok(PerpAsset {
            coin: coin.to_owned(),
            dex: String::new(),
            dex_index: 0,
            universe_index: 0,
            asset_id: 0,
            size_decimals: 5,
            max_leverage: 40,
            delisted: false,
            collateral_token: 0,
            collateral: "USDC".to_owned(),
            mark_price: Some("100000".parse().unwrap()),
            read_at: self.read_at,
        })
    }

    async fn max_builder_fee(&self, _: Address, _: Address) -> Result<u64, PortError> {
        Ok(100)
    }
}
