//! `eth_simulateV1`: the effects of a plan, without executing it.

use alloy_primitives::{Address, Bytes, U64, U256, bytes};
use alloy_rpc_types_eth::simulate::{SimCallResult, SimulatedBlock};
use alloy_sol_types::SolCall;
use dev_chain::{
    DevChain, GAS_PAYER, SafeSpec,
    base::{self, ROUTER, USDC, WETH},
};
use serde_json::{Value, json};

use crate::{
    plan::{
        Erc20, GROSS, HOLDER, MINIMUM, OUTPUT, Step, approve, balance, execute, honest_legs,
        honest_plan, stage, swap, three_steps,
    },
    support::{NOW, ask, get},
};

fn payload(calls: &[Value]) -> Value {
    json!({
        "blockStateCalls": [{ "calls": calls, "stateOverrides": {} }],
        "validation": false,
        "traceTransfers": false,
    })
}

/// The outcomes of calls in one block.
fn simulated(chain: &DevChain, calls: &[Value]) -> Vec<SimCallResult> {
    let answer =
        get::<Vec<SimulatedBlock>>(chain, "eth_simulateV1", json!([payload(calls), "latest"]));
    let [block] = &answer[..] else {
        panic!("{answer:?}")
    };
    assert_eq!(block.calls.len(), calls.len());
    block.calls.clone()
}

fn balance_of(token: Address) -> Value {
    let account = HOLDER.address;
    Step::new(token, &Erc20::balanceOfCall { account }).request()
}

fn word(result: &SimCallResult) -> U256 {
    assert!(
        result.status && result.return_data.len() == 32,
        "{result:?}"
    );
    U256::from_be_slice(&result.return_data)
}

/// The plan between readings of both balances: input before and after, output before and after.
fn deltas(chain: &DevChain, plan: &[Step; 3]) -> (Vec<SimCallResult>, [U256; 4]) {
    let mut calls = vec![balance_of(USDC), balance_of(WETH)];
    calls.extend(plan.iter().map(Step::request));
    calls.extend([balance_of(USDC), balance_of(WETH)]);
    let results = simulated(chain, &calls);
    let balances = [0, 5, 1, 6].map(|index| word(&results[index]));
    (results, balances)
}

#[test]
fn a_simulation_matches_the_execution_and_leaves_no_trace() {
    let chain = stage().build().unwrap();
    let trace = |chain: &DevChain| {
        let nonce: U64 = get(
            chain,
            "eth_getTransactionCount",
            json!([HOLDER.address, "pending"]),
        );
        (
            chain.block_number(),
            chain.transactions(),
            chain.waiting(),
            nonce,
            chain.native_balance(HOLDER.address),
            balance(chain, USDC, HOLDER.address),
            balance(chain, WETH, HOLDER.address),
            chain.allowance(USDC, HOLDER.address, ROUTER).unwrap(),
            get::<Vec<Value>>(chain, "eth_getLogs", json!([{ "fromBlock": "0x0" }])),
        )
    };
    let before = trace(&chain);
    let (results, [usdc, usdc_then, weth, weth_then]) = deltas(&chain, &honest_plan());
    assert_eq!(trace(&chain), before);
    // It does not depend on earlier requests either.
    let again = deltas(&chain, &honest_plan());
    assert_eq!(again.1, [usdc, usdc_then, weth, weth_then]);

    assert_eq!(
        (usdc - usdc_then, weth_then - weth),
        (U256::from(GROSS), U256::from(OUTPUT))
    );
    // The router's logs tell the time; a simulated block is one second younger than its parent.
    chain.advance_time(1);
    let receipts = execute(&chain, &honest_plan());
    assert_eq!(balance(&chain, USDC, HOLDER.address), usdc_then);
    assert_eq!(balance(&chain, WETH, HOLDER.address), weth_then);
    for (result, receipt) in results[2..5].iter().zip(&receipts) {
        assert_eq!((result.status, result.gas_used), (true, receipt.gas_used));
        let simulated: Vec<_> = result.logs.iter().map(|log| &log.inner).collect();
        let mined: Vec<_> = receipt.inner.logs().iter().map(|log| &log.inner).collect();
        assert_eq!(simulated, mined);
    }
}

#[test]
fn a_hostile_plan_shows_in_the_balances() {
    let chain = stage().build().unwrap();
    let plan = |receiver, minimum| {
        let call = swap(receiver, minimum, honest_legs(USDC));
        three_steps(USDC, ROUTER, GROSS, call)
    };
    // Another receiver: the input goes, and no output comes.
    let (_, [usdc, usdc_then, weth, weth_then]) =
        deltas(&chain, &plan(Address::repeat_byte(0xba), MINIMUM));
    assert_eq!((usdc - usdc_then, weth_then), (U256::from(GROSS), weth));

    // A minimum that is not reached: the call fails with its reason; the approval before it and the
    // readings after it succeed.
    let (results, [usdc, usdc_then, ..]) = deltas(&chain, &plan(HOLDER.address, OUTPUT + 1));
    assert_eq!(usdc, usdc_then);
    let statuses: Vec<bool> = results.iter().map(|result| result.status).collect();
    assert_eq!(statuses, [true, true, true, true, false, true, true]);
    let error = results[4].error.as_ref().unwrap();
    assert_eq!(
        (error.code, error.message.as_str()),
        (3, "execution reverted")
    );
    assert_eq!(error.data.as_ref().unwrap()[..4], [0x27, 0x5c, 0x27, 0x3c]);
    assert_eq!(results[4].return_data, *error.data.as_ref().unwrap());
    assert!(results[4].logs.is_empty());
}

#[test]
fn each_call_sees_the_effects_of_the_calls_before_it() {
    let chain = stage().build().unwrap();
    let take = |value: u64| {
        let call = Erc20::transferFromCall {
            from: HOLDER.address,
            to: GAS_PAYER.address,
            value: U256::from(value),
        };
        json!({ "from": GAS_PAYER.address, "to": USDC, "data": Bytes::from(call.abi_encode()) })
    };
    let blocks = json!({ "blockStateCalls": [
        { "calls": [take(1), approve(USDC, GAS_PAYER.address, 5).request(), take(2)] },
        { "blockOverrides": {}, "calls": [] },
        { "calls": [take(3), take(1)] },
    ]});
    let answer: Vec<SimulatedBlock> = get(&chain, "eth_simulateV1", json!([blocks]));
    let statuses: Vec<Vec<bool>> = answer
        .iter()
        .map(|block| block.calls.iter().map(|call| call.status).collect())
        .collect();
    assert_eq!(
        statuses,
        [vec![false, true, true], vec![], vec![true, false]]
    );
    let why = answer[2].calls[1].error.as_ref().unwrap();
    let text = "execution reverted: ERC20: transfer amount exceeds allowance";
    assert_eq!(why.message, text);

    let head: alloy_rpc_types_eth::Block =
        get(&chain, "eth_getBlockByNumber", json!(["latest", false]));
    let mut parent = head.header;
    for (age, block) in (1..).zip(&answer) {
        let header = &block.inner.header;
        assert_eq!((header.number, header.timestamp), (age, NOW + age));
        assert_eq!(header.parent_hash, parent.hash);
        assert_eq!(header.inner.hash_slow(), header.hash);
        let gas: u64 = block.calls.iter().map(|call| call.gas_used).sum();
        assert_eq!(header.gas_used, gas);
        let logs: Vec<_> = block.calls.iter().flat_map(|call| &call.logs).collect();
        for (index, log) in (0..).zip(logs) {
            assert_eq!(log.block_hash, Some(header.hash));
            assert_eq!(log.log_index, Some(index));
            assert!(
                header
                    .logs_bloom
                    .contains_raw_log(log.address(), log.topics())
            );
        }
        parent = header.clone();
    }
    let places: Vec<_> = answer[0].calls.iter().flat_map(|call| &call.logs).collect();
    let places: Vec<_> = places
        .iter()
        .map(|log| log.transaction_index.unwrap())
        .collect();
    assert_eq!(places, [1, 2]);
}

#[test]
fn the_past_and_contract_accounts_can_be_simulated() {
    let safe = Address::repeat_byte(0x5a);
    let chain = stage()
        .safe(SafeSpec {
            address: safe,
            owners: vec![HOLDER.address],
            threshold: 1,
            version: "1.4.1".to_owned(),
        })
        .holder(USDC, safe, U256::from(GROSS))
        .build()
        .unwrap();
    let call = swap(safe, MINIMUM, honest_legs(USDC));
    let plan = three_steps(USDC, ROUTER, GROSS, call);
    let calls = plan.map(|step| json!({ "from": safe, "to": step.to, "data": step.data }));
    assert!(simulated(&chain, &calls).iter().all(|result| result.status));

    execute(&chain, &honest_plan());
    let funds = U256::from(base::USDC_FUNDS);
    let read = |block: Value| -> U256 {
        let request = json!([payload(&[balance_of(USDC)]), block]);
        let answer: Vec<SimulatedBlock> = get(&chain, "eth_simulateV1", request);
        word(&answer[0].calls[0])
    };
    assert_eq!(read(json!("0x0")), funds);
    assert_eq!(read(json!("latest")), funds - U256::from(GROSS));
    assert_eq!(read(json!("pending")), funds - U256::from(GROSS));
}

#[test]
fn unsupported_simulations_are_refused() {
    let chain = stage().build().unwrap();
    let check = |payload: Value, code: i64, text: &str| {
        let error = ask(&chain, "eth_simulateV1", json!([payload, "latest"])).unwrap_err();
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(code), &json!(text))
        );
    };
    let one = |call: Value| json!({ "blockStateCalls": [{ "calls": [call] }] });
    let block = |key: &str, overrides: Value| json!({ "blockStateCalls": [{ key: overrides, "calls": [] }] });
    let me = HOLDER.address;
    check(json!({}), -32602, "empty input");
    let many = vec![json!({ "calls": [] }); 257];
    check(
        json!({ "blockStateCalls": many }),
        -38026,
        "too many blocks",
    );
    for flag in ["validation", "traceTransfers", "returnFullTransactions"] {
        let payload = json!({ "blockStateCalls": [{ "calls": [] }], flag: true });
        check(payload, -32602, &format!("{flag} is not supported"));
    }
    let balance = json!({ me.to_string(): { "balance": "0x0" } });
    let text = "overrides are not supported";
    check(block("stateOverrides", balance), -32602, text);
    check(
        block("blockOverrides", json!({ "number": "0x9" })),
        -32602,
        text,
    );
    let poor = json!({ "from": USDC, "to": me, "value": "0x1" });
    let text = "insufficient funds for gas * price + value: have 0 want 1";
    check(one(poor), -38014, text);
    let big = json!({ "from": me, "to": me, "gas": "0x1c9c381" });
    check(
        one(big),
        -38015,
        "block gas limit reached: 30000001 > 30000000",
    );
    let error = ask(
        &chain,
        "eth_simulateV1",
        json!([one(json!({ "gas": "0x1" }))]),
    )
    .unwrap_err();
    assert_eq!(error["code"], -38013);
    let error = ask(&chain, "eth_simulateV1", json!([one(json!({})), "0x9"])).unwrap_err();
    assert_eq!(error["message"], "header not found");
}

#[test]
fn gas_is_limited_and_running_out_of_gas_is_an_outcome() {
    let chain = stage().build().unwrap();
    // Reads more memory than any gas could pay for.
    let endless = json!({ "from": HOLDER.address, "input": "0x63ffffffff51", "gas": "0x989680" });
    let results = simulated(
        &chain,
        &[endless.clone(), endless.clone(), balance_of(USDC)],
    );
    let error = results[0].error.as_ref().unwrap();
    assert_eq!((error.code, error.message.as_str()), (-32015, "out of gas"));
    assert_eq!(results[1].gas_used, 10_000_000);
    assert_eq!(word(&results[2]), U256::from(base::USDC_FUNDS));
    let four = payload(&vec![endless.clone(); 4]);
    let text = ask(&chain, "eth_simulateV1", json!([four])).unwrap_err()["message"].clone();
    assert_eq!(text, "block gas limit reached: 10000000 > 0");
    // Several blocks share the budget of one request: none is left for the sixth.
    let block = json!({ "calls": [endless] });
    let six = json!({ "blockStateCalls": vec![block; 6] });
    let error = ask(&chain, "eth_simulateV1", json!([six])).unwrap_err();
    assert_eq!(error["code"], -38013, "{error}");
}

#[test]
fn created_contracts_can_be_called() {
    let chain = stage().build().unwrap();
    // Its code returns 42.
    let init = bytes!("69602a60005260206000f3600052600a6016f3");
    let create = json!({ "from": HOLDER.address, "input": init });
    let next = HOLDER.address.create(1);
    let results = simulated(&chain, &[create.clone(), create, json!({ "to": next })]);
    assert_eq!(word(&results[2]), U256::from(42));
    let code: Bytes = get(&chain, "eth_getCode", json!([next, "latest"]));
    assert_eq!(code, Bytes::new());
}
