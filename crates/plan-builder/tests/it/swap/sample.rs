//! An aggregator that composes quotes as the real one does, and a request for such a quote.

use std::{
    future::Future,
    pin::pin,
    sync::Mutex,
    task::{Context, Poll, Waker},
};

use alloy_primitives::{Address, B256, Bytes, U256, address};
use alloy_sol_types::{SolCall as _, sol};
use calldata_checks::{
    BasisPoints, Rail, UtcSeconds,
    swap::calldata::{
        FeeDistribution, SwapData, forwardERC20FeesCall, swapTokensMultipleV3ERC20ToERC20Call,
    },
};
use plan_builder::{
    FeeDocument, LifeSeconds, Moment, Policy, Refusal, Request, Sealed, Verified,
    ports::{NoSimulator, PortError, SwapAsk, SwapQuote, SwapQuotes},
    swap::{self, SwapRequest},
    verify,
};
use serde_json::{Value, json};

sol! {
    function snwap(address tokenIn, uint256 amountIn, address recipient, address tokenOut, uint256 amountOutMin, address executor, bytes executorData) external returns (uint256);
}

pub(crate) const BASE: u64 = 8453;
pub(crate) const NOW: u64 = 1_795_000_000;
pub(crate) const ROUTER: Address = address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE");
pub(crate) const FORWARDER: Address = address!("CE40449B773a3E6E5e769ADb4e567179d4828cbd");
pub(crate) const AGGREGATOR: Address = address!("C06ebbefD94032B85424D51906e2A335EFAe264B");
pub(crate) const OWN: Address = address!("00000000000000000000000000000000000fee01");
pub(crate) const ACCOUNT: Address = address!("00000000000000000000000000000000000acc01");
pub(crate) const STRANGER: Address = address!("000000000000000000000000000000000badbad1");
pub(crate) const USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
pub(crate) const WETH: Address = address!("4200000000000000000000000000000000000006");
pub(crate) const SUSHI: Address = address!("AC4c6e212A361c968F1725b4d055b47E63F80b75");

/// The output that every quote promises.
pub(crate) const QUOTED: u64 = 300_000_000_000_000_000;

/// The arguments of a swap of 1,000.000007 USDC to WETH on Base.
pub(crate) fn arguments() -> Value {
    json!({
        "accountProfile": {"kind": "eoa", "address": ACCOUNT, "chainId": BASE},
        "chainId": BASE,
        "fromToken": USDC,
        "toToken": WETH,
        "fromAmount": "1000000007",
        "slippage": {"maxBps": 50},
    })
}

pub(crate) fn parse(arguments: &Value) -> Result<SwapRequest, Refusal> {
    match Request::parse(Rail::Swap, &arguments.to_string())? {
        Request::Swap(request) => Ok(request),
        other => panic!("{other:?}"),
    }
}

/// The aggregator. It composes the requested quote, and `edit` then changes the quote as an
/// attacker would.
pub(crate) struct Aggregator<E> {
    edit: E,
    pub(crate) asked: Mutex<Vec<SwapAsk>>,
}

impl<E: Fn(&mut Draft) + Send + Sync> Aggregator<E> {
    pub(crate) const fn new(edit: E) -> Self {
        Self {
            edit,
            asked: Mutex::new(Vec::new()),
        }
    }
}

impl<E: Fn(&mut Draft) + Send + Sync> SwapQuotes for Aggregator<E> {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        self.asked.lock().unwrap().push(ask.clone());
        let mut draft = Draft::of(ask);
        (self.edit)(&mut draft);
        Ok(draft.finish())
    }
}

/// A quote before its calldata is encoded.
pub(crate) struct Draft {
    pub(crate) quote: SwapQuote,
    pub(crate) call: swapTokensMultipleV3ERC20ToERC20Call,
    pub(crate) fees: forwardERC20FeesCall,
    /// Bytes that follow the encoded call.
    pub(crate) suffix: Vec<u8>,
    /// Bytes that follow the encoded fee leg.
    pub(crate) fee_suffix: Vec<u8>,
}

impl Draft {
    pub(crate) fn of(ask: &SwapAsk) -> Self {
        let gross = ask.from_amount;
        let own = ask.fee.floor_of(gross).unwrap();
        let theirs = BasisPoints::new(25).unwrap().floor_of(gross).unwrap();
        let to_amount = U256::from(QUOTED);
        let minimum = ask.max_slippage.floor_of_rest(to_amount).unwrap();
        let leg = |target, sending, receiving, amount, deposit| SwapData {
            callTo: target,
            approveTo: target,
            sendingAssetId: sending,
            receivingAssetId: receiving,
            fromAmount: amount,
            callData: [&[0x5f, 0x3b, 0xd1, 0xc8][..], &[0xab; 77]].concat().into(),
            requiresDeposit: deposit,
        };
        Self {
            quote: SwapQuote {
                source: "lifi".to_owned(),
                tool: "sushiswap".to_owned(),
                integrator: ask.integrator.clone(),
                from_chain_id: ask.chain_id,
                to_chain_id: ask.chain_id,
                from_token: ask.from_token,
                to_token: ask.to_token,
                from_amount: gross,
                sender: ask.account,
                receiver: ask.account,
                to_amount,
                to_amount_min: minimum,
                approval_address: ROUTER,
                call_to: ROUTER,
                call_from: Some(ask.account),
                call_chain_id: ask.chain_id,
                call_value: U256::ZERO,
                call_data: Vec::new().into(),
                from_usd: None,
                to_usd: None,
                read_at: UtcSeconds::from_unix(NOW),
            },
            call: swapTokensMultipleV3ERC20ToERC20Call {
                _transactionId: B256::repeat_byte(0x7a),
                _integrator: ask.integrator.clone(),
                _referrer: "0x0000000000000000000000000000000000000000".to_owned(),
                _receiver: ask.account,
                _minAmountOut: minimum,
                _swapData: vec![
                    leg(FORWARDER, ask.from_token, ask.from_token, gross, true),
                    leg(
                        SUSHI,
                        ask.from_token,
                        ask.to_token,
                        gross - own - theirs,
                        false,
                    ),
                ],
            },
            fees: forwardERC20FeesCall {
                _token: ask.from_token,
                _distributions: vec![
                    FeeDistribution {
                        recipient: AGGREGATOR,
                        amount: theirs,
                    },
                    FeeDistribution {
                        recipient: OWN,
                        amount: own,
                    },
                ],
            },
            suffix: Vec::new(),
            fee_suffix: Vec::new(),
        }
    }

    pub(crate) fn finish(mut self) -> SwapQuote {
        if let Some(fee_leg) = self.call._swapData.first_mut() {
            fee_leg.callData = [self.fees.abi_encode(), self.fee_suffix].concat().into();
        }
        self.quote.call_data = [self.call.abi_encode(), self.suffix].concat().into();
        self.quote
    }

    /// Gives the quote its own id, and an exchange leg that the embedded exchange can execute.
    #[allow(dead_code, reason = "the tests that send plans use it")]
    pub(crate) fn execute(&mut self, number: u8) {
        self.call._transactionId = B256::repeat_byte(number);
        let leg = &mut self.call._swapData[1];
        leg.callData = snwapCall {
            tokenIn: leg.sendingAssetId,
            amountIn: leg.fromAmount,
            recipient: Address::ZERO,
            tokenOut: leg.receivingAssetId,
            amountOutMin: U256::ZERO,
            executor: Address::ZERO,
            executorData: Bytes::new(),
        }
        .abi_encode()
        .into();
    }
}

pub(crate) fn policy() -> Policy {
    policy_with(|_| {})
}

/// Makes the policy after an edit of its fee document.
pub(crate) fn policy_with(edit: impl FnOnce(&mut Value)) -> Policy {
    let mut document = json!({
        "version": "2026-11-01",
        "fee_model": "B/forwarder-v2",
        "integrator": "svc",
        "aggregate_cap_bps": 60,
        "rounding": "floor",
        "recipients": [
            {"role": "own", "address": OWN, "bps": 30},
            {"role": "aggregator", "address": AGGREGATOR, "bps": 25},
        ],
        "chains": [{
            "chain_id": BASE,
            "router": ROUTER,
            "forwarder": FORWARDER,
            "selectors": ["0x5fd9ae2e"],
            "legs": [{"contract": SUSHI, "selectors": ["0x5f3bd1c8"]}],
        }],
    });
    edit(&mut document);
    let document: FeeDocument = serde_json::from_value(document).unwrap();
    let mut policy = Policy::new(document.review().unwrap());
    policy.validity.swap = LifeSeconds::new(60).unwrap();
    policy
}

pub(crate) const fn moment() -> Moment {
    Moment {
        now_millis: NOW * 1000 + 250,
        entropy: [0x5e; 32],
    }
}

pub(crate) const fn now() -> UtcSeconds {
    UtcSeconds::from_unix(NOW)
}

/// Builds a plan with a quote that `edit` changed.
pub(crate) fn build(
    arguments: &Value,
    edit: impl Fn(&mut Draft) + Send + Sync,
) -> Result<Sealed, Refusal> {
    let request = parse(arguments)?;
    let quotes = Aggregator::new(edit);
    ready(swap::build(
        &request,
        &quotes,
        &NoSimulator,
        &policy(),
        &moment(),
    ))
}

/// A plan for [`arguments`].
pub(crate) fn sealed() -> Sealed {
    build(&arguments(), |_| {}).unwrap()
}

/// Verifies a plan for [`arguments`].
pub(crate) fn verified(plan: &str) -> Result<Verified, Refusal> {
    let request = Request::Swap(parse(&arguments()).unwrap());
    verify(&request, plan, now(), &policy())
}

/// The output of a future that never waits.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits"),
    }
}

/// A port that always fails with this error.
pub(crate) struct Failing(pub(crate) PortError);

impl SwapQuotes for Failing {
    async fn quote(&self, _: &SwapAsk) -> Result<SwapQuote, PortError> {
        Err(self.0.clone())
    }
}
