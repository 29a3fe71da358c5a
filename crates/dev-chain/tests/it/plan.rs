//! Plans of three steps, and a wallet that submits them as wallets do: it asks the node for chain,
//! nonce, fees and gas, signs, sends, and reads the receipt.

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, B256, Bytes, Selector, TxKind, U64, U256, address};
use alloy_rpc_types_eth::{FeeHistory, TransactionReceipt};
use alloy_sol_types::{SolCall, sol};
use dev_chain::{
    BUYER, DevAccount, DevChain, DevChainBuilder,
    base::{EXCHANGE, FORWARDER, ROUTER, USDC, WETH},
};
use serde_json::{Value, json};

use crate::support::{NOW, ask, get, sign};

sol! {
    #[derive(Debug, PartialEq)]
    struct SwapData {
        address callTo;
        address approveTo;
        address sendingAssetId;
        address receivingAssetId;
        uint256 fromAmount;
        bytes callData;
        bool requiresDeposit;
    }

    #[derive(Debug, PartialEq)]
    struct FeeDistribution {
        address recipient;
        uint256 amount;
    }

    #[derive(Debug)]
    interface Router {
        event LiFiGenericSwapCompleted(bytes32 indexed transactionId, string integrator, string referrer, address receiver, address fromAssetId, address toAssetId, uint256 fromAmount, uint256 toAmount);
        event AssetSwapped(bytes32 transactionId, address dex, address fromAssetId, address toAssetId, uint256 fromAmount, uint256 toAmount, uint256 timestamp);
        error CumulativeSlippageTooHigh(uint256 minAmount, uint256 receivedAmount);
        error ContractCallNotAllowed();
        error InvalidReceiver();
        function swapTokensMultipleV3ERC20ToERC20(bytes32 transactionId, string integrator, string referrer, address receiver, uint256 minAmountOut, SwapData[] swapData) external;
        function extractGenericSwapParameters(bytes data) external view returns (address sendingAssetId, uint256 amount, address receiver, address receivingAssetId, uint256 receivingAmount);
        function setAllowed(address target, bytes4 selector, bool isAllowed) external;
    }

    #[derive(Debug)]
    interface Forwarder {
        event FeesForwarded(address indexed token, FeeDistribution[] distributions);
        function forwardERC20Fees(address token, FeeDistribution[] distributions) external;
    }

    interface Exchange {
        function setRate(address tokenIn, address tokenOut, uint256 numerator, uint256 denominator) external;
        function snwap(address tokenIn, uint256 amountIn, address recipient, address tokenOut, uint256 amountOutMin, address executor, bytes executorData) external returns (uint256 amountOut);
    }

    interface Erc20 {
        function approve(address spender, uint256 value) external;
        function transferFrom(address from, address to, uint256 value) external;
        function balanceOf(address account) external view returns (uint256);
    }
}

/// The account that executes the plans.
pub(crate) const HOLDER: DevAccount = BUYER;

/// The recipients of the fees.
pub(crate) const OWN: Address = address!("00000000000000000000000000000000000051fC");
pub(crate) const AGGREGATOR: Address = address!("C06ebbefD94032B85424D51906e2A335EFAe264B");

/// 1,000 USDC, of which 0.30 % and 0.25 % are fees.
pub(crate) const GROSS: u64 = 1_000_000_000;
pub(crate) const OWN_FEE: u64 = 3_000_000;
pub(crate) const AGGREGATOR_FEE: u64 = 2_500_000;
pub(crate) const NET: u64 = 994_500_000;

/// The output of the net amount at 2,500 USDC for one WETH, and 0.5 % less.
pub(crate) const OUTPUT: u64 = 397_800_000_000_000_000;
pub(crate) const MINIMUM: u64 = 395_811_000_000_000_000;

pub(crate) fn stage() -> DevChainBuilder {
    DevChain::builder().base_stage().clock(|| NOW)
}

/// A step of a plan: the called contract and the calldata.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) to: Address,
    pub(crate) data: Bytes,
}

impl Step {
    pub(crate) fn new(to: Address, call: &impl SolCall) -> Self {
        Self {
            to,
            data: call.abi_encode().into(),
        }
    }

    /// The step as a call of the account.
    pub(crate) fn request(&self) -> Value {
        json!({ "from": HOLDER.address, "to": self.to, "data": self.data })
    }
}

pub(crate) fn approve(token: Address, spender: Address, amount: u64) -> Step {
    let value = U256::from(amount);
    Step::new(token, &Erc20::approveCall { spender, value })
}

/// Reset, approve, call.
pub(crate) fn three_steps(token: Address, spender: Address, amount: u64, call: Step) -> [Step; 3] {
    [
        approve(token, spender, 0),
        approve(token, spender, amount),
        call,
    ]
}

/// A swap call, which tests then break.
pub(crate) fn swap(receiver: Address, minimum: u64, legs: Vec<SwapData>) -> Step {
    Step::new(
        ROUTER,
        &Router::swapTokensMultipleV3ERC20ToERC20Call {
            transactionId: B256::repeat_byte(0x11),
            integrator: "svc".to_owned(),
            referrer: "0x0000000000000000000000000000000000000000".to_owned(),
            receiver,
            minAmountOut: U256::from(minimum),
            swapData: legs,
        },
    )
}

/// A leg that pays fees; the router deposits for it.
pub(crate) fn fee_leg(token: Address, gross: u64, fees: &[(Address, u64)]) -> SwapData {
    let distributions = fees.iter().map(|&(recipient, amount)| FeeDistribution {
        recipient,
        amount: U256::from(amount),
    });
    let call = Forwarder::forwardERC20FeesCall {
        token,
        distributions: distributions.collect(),
    };
    SwapData {
        callTo: FORWARDER,
        approveTo: FORWARDER,
        sendingAssetId: token,
        receivingAssetId: token,
        fromAmount: U256::from(gross),
        callData: call.abi_encode().into(),
        requiresDeposit: true,
    }
}

/// A leg on the venue that buys WETH for `recipient`.
pub(crate) fn venue_leg(token: Address, amount: u64, recipient: Address) -> SwapData {
    let call = Exchange::snwapCall {
        tokenIn: token,
        amountIn: U256::from(amount),
        recipient,
        tokenOut: WETH,
        amountOutMin: U256::ZERO,
        executor: Address::ZERO,
        executorData: Bytes::new(),
    };
    SwapData {
        callTo: EXCHANGE,
        approveTo: EXCHANGE,
        sendingAssetId: token,
        receivingAssetId: WETH,
        fromAmount: U256::from(amount),
        callData: call.abi_encode().into(),
        requiresDeposit: false,
    }
}

/// The legs of an honest swap of 1,000 of a token at the price of a dollar.
pub(crate) fn honest_legs(token: Address) -> Vec<SwapData> {
    vec![
        fee_leg(
            token,
            GROSS,
            &[(AGGREGATOR, AGGREGATOR_FEE), (OWN, OWN_FEE)],
        ),
        venue_leg(token, NET, ROUTER),
    ]
}

/// The honest swap of 1,000 USDC.
pub(crate) fn honest_plan() -> [Step; 3] {
    let call = swap(HOLDER.address, MINIMUM, honest_legs(USDC));
    three_steps(USDC, ROUTER, GROSS, call)
}

/// The result of `eth_estimateGas` for a step of the account.
pub(crate) fn estimate(chain: &DevChain, account: DevAccount, step: &Step) -> Result<U64, Value> {
    let request = json!({ "from": account.address, "to": step.to, "data": step.data });
    ask(chain, "eth_estimateGas", json!([request, "latest"]))
        .map(|gas| serde_json::from_value(gas).unwrap())
}

/// The reason with which a call of the account reverts.
pub(crate) fn refusal(chain: &DevChain, to: Address, call: &impl SolCall) -> String {
    let error = estimate(chain, HOLDER, &Step::new(to, call)).unwrap_err();
    let text = error["message"].as_str().unwrap();
    text.strip_prefix("execution reverted: ")
        .unwrap_or(text)
        .to_owned()
}

/// Signs and sends a step with this much gas.
pub(crate) fn send_with(
    chain: &DevChain,
    account: DevAccount,
    step: &Step,
    gas: U64,
) -> TransactionReceipt {
    let chain_id: U64 = get(chain, "eth_chainId", json!([]));
    let nonce: U64 = get(
        chain,
        "eth_getTransactionCount",
        json!([account.address, "pending"]),
    );
    let fees: FeeHistory = get(chain, "eth_feeHistory", json!(["0x1", "latest", []]));
    let tip: U64 = get(chain, "eth_maxPriorityFeePerGas", json!([]));
    let transaction = TxEip1559 {
        chain_id: chain_id.to(),
        nonce: nonce.to(),
        gas_limit: gas.to(),
        max_fee_per_gas: fees.latest_block_base_fee().unwrap() * 2 + tip.to::<u128>(),
        max_priority_fee_per_gas: tip.to(),
        to: TxKind::Call(step.to),
        input: step.data.clone(),
        ..TxEip1559::default()
    };
    let raw = sign(account, transaction);
    let hash: B256 = get(chain, "eth_sendRawTransaction", json!([raw]));
    get(chain, "eth_getTransactionReceipt", json!([hash]))
}

/// Estimates, signs and sends a step, which has to succeed.
pub(crate) fn submit(chain: &DevChain, account: DevAccount, step: &Step) -> TransactionReceipt {
    let gas = estimate(chain, account, step).unwrap();
    let receipt = send_with(chain, account, step, gas);
    assert!(receipt.status(), "{step:?}");
    receipt
}

/// Submits every step in turn.
pub(crate) fn execute(chain: &DevChain, steps: &[Step]) -> Vec<TransactionReceipt> {
    steps
        .iter()
        .map(|step| submit(chain, HOLDER, step))
        .collect()
}

pub(crate) fn balance(chain: &DevChain, token: Address, account: Address) -> U256 {
    chain.balance_of(token, account).unwrap()
}

pub(crate) fn selector_of<C: SolCall>() -> Selector {
    C::SELECTOR.into()
}
