//! Sends plans step by step to anvil. The plans do there what they say, and what anvil's
//! `eth_simulateV1` predicted.

use alloy_primitives::{Address, B256, Bytes, U64, U256};
use alloy_sol_types::{SolCall, sol};
use dev_chain::base::{
    CHAIN_ID, EXCHANGE, FORWARDER, ROUTER, TOKEN_MESSENGER, USDC, WEI_PER_USDC_UNIT, WETH,
};
use judges::{Anvil, Rpc, Toolchain, TransactionReceipt};
use plan_builder::ports::NoSimulator;
use serde_json::{Value, json};

use crate::base_chain::{self, Simulation, TRADER, balance};
use crate::rails::bridge::BridgeCase;
use crate::rails::swap::{Leg, SwapCase};
use crate::rails::{Case, Plan, bytes, policy};
use crate::world::events;

sol! {
    function allowance(address owner, address spender) external view returns (uint256);
    function approve(address spender, uint256 amount) external returns (bool);
    function snwap(address tokenIn, uint256 amountIn, address recipient, address tokenOut, uint256 amountOutMin, address executor, bytes executorData) external returns (uint256 amountOut);
    function extractGenericSwapParameters(bytes data) external view returns (address sendingAssetId, uint256 amount, address receiver, address receivingAssetId, uint256 receivingAmount);

    #[derive(Debug)]
    event DepositForBurn(address indexed burnToken, uint256 amount, address indexed depositor, bytes32 mintRecipient, uint32 destinationDomain, bytes32 destinationTokenMessenger, bytes32 destinationCaller, uint256 maxFee, uint32 indexed minFinalityThreshold, bytes hookData);
}

/// 1,000 USDC.
const GROSS: u64 = 1_000_000_000;

/// A swap whose quote promises `promised` thousandths of the venue's output.
fn swap(promised: u64) -> SwapCase {
    let from_amount = U256::from(GROSS);
    let distributions: Vec<_> = policy()
        .fees
        .recipients
        .iter()
        .map(|recipient| {
            (
                recipient.address,
                recipient.bps.floor_of(from_amount).unwrap(),
            )
        })
        .collect();
    let net = from_amount
        - distributions
            .iter()
            .map(|(_, amount)| *amount)
            .sum::<U256>();
    let output = net * U256::from(WEI_PER_USDC_UNIT) * U256::from(promised) / U256::from(1_000);
    let venue = snwapCall {
        tokenIn: USDC,
        amountIn: net,
        recipient: ROUTER,
        tokenOut: WETH,
        amountOutMin: U256::ZERO,
        executor: Address::ZERO,
        executorData: Bytes::new(),
    };
    SwapCase {
        account: TRADER.address,
        kind: "eoa",
        chain_id: CHAIN_ID,
        from_token: USDC,
        to_token: WETH,
        from_amount,
        max_bps: 50,
        min_amount_out: None,
        to_amount: output,
        to_amount_min: output * U256::from(995) / U256::from(1_000),
        transaction_id: B256::repeat_byte(0x11),
        referrer: "",
        distributions,
        legs: vec![Leg {
            target: EXCHANGE,
            spender: EXCHANGE,
            sending: USDC,
            receiving: WETH,
            amount: net,
            data: venue.abi_encode().into(),
        }],
    }
}

fn bridge(forward: bool, fast: bool) -> BridgeCase {
    BridgeCase {
        account: TRADER.address,
        from: 2,
        to: 3,
        amount: 25_000_000,
        fast,
        forward,
        names_address: false,
        fast_bps: 100,
        forward_fee: 203_000,
    }
}

/// Sends the steps of a plan, each one when the previous one is in a block.
async fn execute(chain: &Anvil, plan: &Plan) -> Vec<TransactionReceipt> {
    let mut receipts = Vec::new();
    for step in plan.payload()["steps"].as_array().unwrap() {
        assert_eq!(step["value"], "0");
        let to = step["to"].as_str().unwrap().parse().unwrap();
        let data = bytes(&step["data"]).into();
        receipts.push(chain.transact(TRADER, to, &data).await.unwrap());
    }
    receipts
}

fn statuses(receipts: &[TransactionReceipt]) -> Vec<u64> {
    receipts.iter().map(|receipt| receipt.status.to()).collect()
}

/// The changes of the account's balances that the simulation predicted: token, direction, amount.
fn foretold(plan: &Plan) -> Vec<(String, String, U256)> {
    let simulation = &plan.json["simulation"];
    assert_eq!(simulation["outcome"], "as_planned", "{simulation}");
    assert_eq!(simulation["method"], "eth_simulateV1");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    simulation["balance_changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            let amount = text(&change["amount"]).parse().unwrap();
            (text(&change["token"]), text(&change["direction"]), amount)
        })
        .collect()
}

fn check_gas(plan: &Plan, receipts: &[TransactionReceipt]) {
    let used: Vec<u64> = receipts
        .iter()
        .map(|receipt| receipt.gas_used.to())
        .collect();
    assert_eq!(plan.json["simulation"]["gas_used"], json!(used));
}

async fn allowance(rpc: &Rpc, spender: Address) -> U256 {
    let owner = TRADER.address;
    rpc.view(USDC, &allowanceCall { owner, spender })
        .await
        .unwrap()
}

#[tokio::test]
async fn a_swap_does_what_its_plan_says() {
    let toolchain = Toolchain::from_env().unwrap();
    let chain = base_chain::start(&toolchain).await;
    let rpc = chain.rpc();
    // The account has an allowance from an earlier time.
    let stale = approveCall {
        spender: ROUTER,
        amount: U256::from(5),
    };
    chain.send(TRADER, USDC, &stale).await.unwrap();

    let case = swap(1_000);
    let plan = case.plan_on(&Simulation(rpc)).await.unwrap();
    let recipients: Vec<(Address, U256)> = plan.json["fee_attribution"]["recipients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| {
            let text = |name: &str| part[name].as_str().unwrap();
            (
                text("address").parse().unwrap(),
                text("amount").parse().unwrap(),
            )
        })
        .collect();
    assert_eq!(recipients.len(), 2);
    let mut fees_before = Vec::new();
    for (recipient, _) in &recipients {
        fees_before.push(balance(rpc, USDC, *recipient).await);
    }
    let before = (
        balance(rpc, USDC, TRADER.address).await,
        balance(rpc, WETH, TRADER.address).await,
    );

    let receipts = execute(&chain, &plan).await;
    assert_eq!(statuses(&receipts), [1, 1, 1]);
    check_gas(&plan, &receipts);

    let spent = before.0 - balance(rpc, USDC, TRADER.address).await;
    let received = balance(rpc, WETH, TRADER.address).await - before.1;
    assert_eq!(spent, case.from_amount);
    assert_eq!(received, case.to_amount);
    assert_eq!(
        foretold(&plan),
        [
            (USDC.to_string(), "spent".to_owned(), spent),
            (WETH.to_string(), "received".to_owned(), received),
        ]
    );
    for ((recipient, amount), before) in recipients.iter().zip(fees_before) {
        assert_eq!(balance(rpc, USDC, *recipient).await - before, *amount);
    }
    assert_eq!(allowance(rpc, ROUTER).await, U256::ZERO);
    for contract in [ROUTER, FORWARDER] {
        for token in [USDC, WETH] {
            assert_eq!(balance(rpc, token, contract).await, U256::ZERO);
        }
    }
}

/// The router's own decoder reads the same in the plan's bytes. The test calls it by `eth_call`.
#[tokio::test]
async fn the_router_reads_the_same_in_the_calldata() {
    let toolchain = Toolchain::from_env().unwrap();
    let chain = base_chain::start(&toolchain).await;
    let case = swap(1_000);
    let plan = case.plan();
    let call = extractGenericSwapParametersCall {
        data: plan.step_data(2).into(),
    };
    let read = chain.rpc().view(ROUTER, &call).await.unwrap();
    assert_eq!(read.sendingAssetId, case.from_token);
    assert_eq!(read.amount, case.from_amount);
    assert_eq!(read.receiver, case.account);
    assert_eq!(read.receivingAssetId, case.to_token);
    assert_eq!(read.receivingAmount, case.to_amount_min);
}

/// The quote promises more than its venue gives. The plan's bytes pass every check, and only an
/// execution shows the difference.
#[tokio::test]
async fn a_swap_that_would_revert_is_refused_by_its_simulation() {
    let toolchain = Toolchain::from_env().unwrap();
    let chain = base_chain::start(&toolchain).await;
    let case = swap(1_100);
    let refusal = case.plan_on(&Simulation(chain.rpc())).await.unwrap_err();
    assert_eq!(refusal.check, "simulation_as_planned", "{refusal:?}");

    let plan = case.plan_on(&NoSimulator).await.unwrap();
    assert_eq!(statuses(&execute(&chain, &plan).await), [1, 1, 0]);
}

async fn check_bridge(case: BridgeCase) {
    let toolchain = Toolchain::from_env().unwrap();
    let chain = base_chain::start(&toolchain).await;
    let rpc = chain.rpc();
    let plan = case.plan_on(&Simulation(rpc)).await.unwrap();
    let before = balance(rpc, USDC, TRADER.address).await;

    let receipts = execute(&chain, &plan).await;
    assert_eq!(statuses(&receipts), [1, 1, 1]);
    check_gas(&plan, &receipts);
    let spent = before - balance(rpc, USDC, TRADER.address).await;
    assert_eq!(spent, U256::from(case.amount));
    assert_eq!(
        foretold(&plan),
        [(USDC.to_string(), "spent".to_owned(), spent)]
    );
    assert_eq!(allowance(rpc, TOKEN_MESSENGER).await, U256::ZERO);

    let burns = events::<DepositForBurn>(&receipts[2], TOKEN_MESSENGER);
    let [burn] = &burns[..] else {
        panic!("one burn: {receipts:#?}")
    };
    assert_eq!(burn.burnToken, USDC);
    assert_eq!(burn.amount, spent);
    assert_eq!(burn.depositor, TRADER.address);
    assert_eq!(burn.mintRecipient, TRADER.address.into_word());
    assert_eq!(burn.destinationDomain, 3);
    assert_eq!(burn.destinationCaller, B256::ZERO);
    assert_eq!(
        burn.minFinalityThreshold,
        if case.fast { 1_000 } else { 2_000 }
    );
    assert_eq!(
        json!(burn.maxFee.to_string()),
        plan.payload()["quote"]["max_fee"]
    );
    assert_eq!(burn.hookData.is_empty(), !case.forward);
    assert_eq!(receipts[2].status, U64::ONE);
}

#[tokio::test]
async fn a_standard_bridge_does_what_its_plan_says() {
    check_bridge(bridge(false, false)).await;
}

#[tokio::test]
async fn a_fast_and_forwarded_bridge_does_what_its_plan_says() {
    check_bridge(bridge(true, true)).await;
}
