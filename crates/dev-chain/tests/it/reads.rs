//! Blocks, receipts, logs, state and fees, in the shapes that alloy reads.

use alloy_primitives::{Address, B256, Bloom, BloomInput, Bytes, U64, U256};
use alloy_rpc_types_eth::{Block, FeeHistory, Log, Transaction, TransactionReceipt};
use alloy_sol_types::{SolCall, SolEvent};
use dev_chain::{BUYER, DEV_ACCOUNTS, DevChain, GAS_PAYER, PAYEE, USDC, USDG, USDT0, xlayer};
use serde_json::{Value, json};

use crate::support::{
    Token, TransferWithAuthorization, ask, builder, chain, get, payment, refused, settle, signed,
};

/// Three payments, one of each asset, in blocks 1 to 3.
fn paid() -> (DevChain, Vec<TransactionReceipt>) {
    let chain = chain();
    let receipts = [USDT0, USDC, USDG]
        .map(|token| settle(&chain, token, signed(token, &payment())))
        .to_vec();
    (chain, receipts)
}

#[test]
fn blocks_receipts_and_transactions_belong_together() {
    let (chain, receipts) = paid();
    let mut parent =
        get::<Block>(&chain, "eth_getBlockByNumber", json!(["earliest", false])).header;
    assert_eq!(parent.number, 0);
    for (number, receipt) in (1..).zip(receipts) {
        let block: Block = get(
            &chain,
            "eth_getBlockByNumber",
            json!([format!("{number:#x}"), true]),
        );
        assert_eq!(block.header.parent_hash, parent.hash);
        assert_eq!(block.header.inner.hash_slow(), block.header.hash);
        assert_eq!(block.header.logs_bloom, *receipt.inner.logs_bloom());
        assert!(block.header.size.unwrap() > U256::from(500));
        let transaction = &block.transactions.as_transactions().unwrap()[0];
        let alone: Transaction = get(
            &chain,
            "eth_getTransactionByHash",
            json!([receipt.transaction_hash]),
        );
        assert_eq!(*transaction, alone);
        assert_eq!(transaction.block_hash, receipt.block_hash);
        assert_eq!(transaction.inner.signer(), GAS_PAYER.address);
        assert_eq!(receipt.effective_gas_price, 21_000_000);
        assert_eq!(block.header.gas_used, receipt.gas_used);
        let by_hash: Block = get(
            &chain,
            "eth_getBlockByHash",
            json!([block.header.hash, false]),
        );
        assert_eq!(
            by_hash.transactions.as_hashes().unwrap(),
            [receipt.transaction_hash]
        );
        let all: Vec<TransactionReceipt> =
            get(&chain, "eth_getBlockReceipts", json!([block.header.hash]));
        assert_eq!(all, [receipt]);
        parent = block.header;
    }
    assert_eq!(
        get::<U64>(&chain, "eth_blockNumber", json!([])),
        U64::from(3)
    );
    let next: Block = get(&chain, "eth_getBlockByNumber", json!(["pending", false]));
    assert_eq!(
        (next.header.number, next.header.parent_hash),
        (4, parent.hash)
    );
}

#[test]
fn the_bloom_holds_address_and_topics() {
    let (_, receipts) = paid();
    let bloom: &Bloom = receipts[0].inner.logs_bloom();
    assert!(bloom.contains_input(BloomInput::Raw(USDT0.as_slice())));
    assert!(bloom.contains_input(BloomInput::Raw(Token::Transfer::SIGNATURE_HASH.as_slice())));
    assert!(!bloom.contains_input(BloomInput::Raw(USDC.as_slice())));
}

#[test]
fn logs_are_filtered_by_address_topics_and_range() {
    let (chain, receipts) = paid();
    let check = |filter: Value, expected: &[(Address, u64)]| {
        let logs: Vec<Log> = get(&chain, "eth_getLogs", json!([filter]));
        let found: Vec<_> = logs
            .iter()
            .map(|log| (log.address(), log.block_number.unwrap()))
            .collect();
        assert_eq!(found, expected, "{filter}");
    };
    let transfer = Token::Transfer::SIGNATURE_HASH;
    let payee = PAYEE.address.into_word();
    let all = "0x0";
    check(json!({}), &[(USDG, 3), (USDG, 3)]);
    check(
        json!({ "fromBlock": all, "topics": [transfer] }),
        &[(USDT0, 1), (USDC, 2), (USDG, 3)],
    );
    check(
        json!({ "fromBlock": all, "topics": [transfer, null, payee], "address": USDC }),
        &[(USDC, 2)],
    );
    check(
        json!({ "fromBlock": all, "topics": [transfer, payee] }),
        &[],
    );
    check(
        json!({ "fromBlock": all, "toBlock": "0x1", "address": [USDT0, USDG] }),
        &[(USDT0, 1), (USDT0, 1)],
    );
    check(
        json!({ "fromBlock": all, "topics": [[transfer, B256::ZERO], payment().from.into_word()] }),
        &[(USDT0, 1), (USDC, 2), (USDG, 3)],
    );
    check(
        json!({ "fromBlock": "0x2", "toBlock": "0xffff", "topics": [transfer] }),
        &[(USDC, 2), (USDG, 3)],
    );
    check(json!({ "fromBlock": "0x9", "toBlock": "0x10" }), &[]);
    check(
        json!({ "blockHash": receipts[1].block_hash, "topics": [transfer] }),
        &[(USDC, 2)],
    );

    let logs: Vec<Log> = get(
        &chain,
        "eth_getLogs",
        json!([{ "blockHash": receipts[0].block_hash }]),
    );
    assert_eq!(logs, receipts[0].inner.logs());
    assert_eq!(
        logs.iter()
            .map(|log| log.log_index.unwrap())
            .collect::<Vec<_>>(),
        [0, 1]
    );
    let backwards = json!([{ "fromBlock": "0x3", "toBlock": "0x1" }]);
    assert_eq!(
        refused(&chain, "eth_getLogs", backwards),
        "invalid block range params"
    );
    let nowhere = json!([{ "blockHash": B256::repeat_byte(9) }]);
    assert_eq!(refused(&chain, "eth_getLogs", nowhere), "unknown block");
}

#[test]
fn every_block_keeps_its_state() {
    let (chain, receipts) = paid();
    let data = Bytes::from(
        Token::balanceOfCall {
            account: PAYEE.address,
        }
        .abi_encode(),
    );
    let balance = |block: Value| -> U256 {
        let call = json!([{ "to": USDC, "data": data }, block]);
        let output: Bytes = get(&chain, "eth_call", call);
        U256::from_be_slice(&output)
    };
    assert_eq!(balance(json!("0x1")), U256::ZERO);
    assert_eq!(balance(json!("0x2")), U256::from(2000));
    assert_eq!(balance(json!("latest")), U256::from(2000));
    assert_eq!(
        balance(json!({ "blockHash": receipts[0].block_hash })),
        U256::ZERO
    );
    let nonce = |block: &str| -> U64 {
        get(
            &chain,
            "eth_getTransactionCount",
            json!([GAS_PAYER.address, block]),
        )
    };
    assert_eq!(
        [nonce("0x0"), nonce("0x2"), nonce("latest")],
        [0, 2, 3].map(U64::from)
    );
    let wei =
        |block: &str| -> U256 { get(&chain, "eth_getBalance", json!([GAS_PAYER.address, block])) };
    let fee = |receipt: &TransactionReceipt| {
        U256::from(receipt.gas_used) * U256::from(receipt.effective_gas_price)
    };
    assert_eq!(wei("0x0") - wei("0x1"), fee(&receipts[0]));
    assert_eq!(wei("latest"), chain.native_balance(GAS_PAYER.address));
    assert_eq!(
        refused(&chain, "eth_getBalance", json!([USDC, "0x9"])),
        "header not found"
    );
}

#[test]
fn code_and_storage_are_readable() {
    let delegated = Address::repeat_byte(0x70);
    let delegation: Bytes = [&[0xef, 1, 0][..], USDC.as_slice()].concat().into();
    let chain = builder()
        .code(delegated, delegation.clone())
        .build()
        .unwrap();
    assert_eq!(
        get::<Bytes>(&chain, "eth_getCode", json!([delegated, "latest"])),
        delegation
    );
    assert_eq!(
        get::<Bytes>(&chain, "eth_getCode", json!([BUYER.address])),
        Bytes::new()
    );
    assert!(get::<Bytes>(&chain, "eth_getCode", json!([USDC])).len() > 5000);
    // Slot 2 is the version; a short string is in its slot with twice its length at the end.
    let mut version = [0; 32];
    (version[0], version[31]) = (b'2', 2);
    let slot: B256 = get(&chain, "eth_getStorageAt", json!([USDC, "0x2", "latest"]));
    assert_eq!(slot, B256::from(version));
}

#[test]
fn failed_calls_state_the_reason() {
    let chain = chain();
    let check = |request: Value, code: i64, expected: &str| {
        let error = ask(&chain, "eth_call", json!([request, "latest"])).unwrap_err();
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(code), &json!(expected))
        );
        error["data"].clone()
    };
    let data = signed(
        USDC,
        &TransferWithAuthorization {
            to: Address::ZERO,
            ..payment()
        },
    );
    let reason = "execution reverted: ERC20: transfer to the zero address";
    let revert = check(json!({ "to": USDC, "input": data }), 3, reason);
    assert!(revert.as_str().unwrap().starts_with("0x08c379a0"));
    // A selector that the token does not have: a revert without data.
    let revert = check(
        json!({ "to": USDC, "input": "0xdeadbeef" }),
        3,
        "execution reverted",
    );
    assert_eq!(revert, "0x");
    check(
        json!({ "input": "0xfe" }),
        -32000,
        "invalid opcode: INVALID",
    );
    check(json!({ "input": "0x5b600056" }), -32000, "out of gas");
    check(
        json!({ "to": USDC, "gas": "0x5208", "input": "0xdeadbeef" }),
        -32000,
        "err: intrinsic gas too low: have 21000, want 21064 (supplied gas 21000)",
    );
    check(
        json!({ "to": USDC, "chainId": "0x1" }),
        -32000,
        "chainId does not match node's (have=1, want=196)",
    );
    check(
        json!({ "from": Address::repeat_byte(5), "to": PAYEE.address, "value": "0x1" }),
        -32000,
        "insufficient funds for gas * price + value: have 0 want 1",
    );
    let overrides = json!([{ "to": USDC }, "latest", { BUYER.address.to_string(): {} }]);
    assert_eq!(
        refused(&chain, "eth_call", overrides),
        "overrides are not supported"
    );
    // An address without code answers nothing.
    assert_eq!(
        get::<Bytes>(&chain, "eth_call", json!([{ "to": PAYEE.address }])),
        Bytes::new()
    );
}

#[test]
fn an_estimate_is_the_least_sufficient_gas() {
    let chain = chain();
    let data = signed(USDC, &payment());
    let request = json!({ "from": GAS_PAYER.address, "to": USDC, "data": data });
    let estimate: U64 = get(&chain, "eth_estimateGas", json!([request.clone()]));
    let call = |gas: U64| {
        let mut request = request.clone();
        request["gas"] = json!(gas);
        ask(&chain, "eth_call", json!([request, "latest"]))
    };
    assert!(call(estimate).is_ok());
    assert!(call(estimate - U64::from(1)).is_err());
    let plain = json!([{ "from": BUYER.address, "to": PAYEE.address, "value": "0x1" }]);
    assert_eq!(
        get::<U64>(&chain, "eth_estimateGas", plain),
        U64::from(21_000)
    );
    let receipt = settle(&chain, USDC, data);
    assert!(receipt.gas_used <= estimate.to());

    let error = ask(&chain, "eth_estimateGas", json!([request])).unwrap_err();
    assert_eq!(error["code"], 3);
    let poor = json!([{ "from": USDC, "to": PAYEE.address, "gasPrice": "0x77359400" }]);
    let text = refused(&chain, "eth_estimateGas", poor);
    assert_eq!(text, "gas required exceeds allowance (0)");
}

#[test]
fn fees_are_suggested() {
    let (chain, _) = paid();
    assert_eq!(
        get::<U64>(&chain, "eth_gasPrice", json!([])),
        U64::from(21_000_000)
    );
    assert_eq!(
        get::<U64>(&chain, "eth_maxPriorityFeePerGas", json!([])),
        U64::from(1_000_000)
    );
    let history: FeeHistory = get(
        &chain,
        "eth_feeHistory",
        json!(["0x2", "latest", [10.0, 50]]),
    );
    assert_eq!(history.oldest_block, 2);
    assert_eq!(history.base_fee_per_gas, [20_000_000; 3]);
    assert_eq!(history.reward.unwrap(), [[1_000_000; 2]; 2]);
    assert!(
        history
            .gas_used_ratio
            .iter()
            .all(|ratio| (0.001..0.01).contains(ratio))
    );
    let first: FeeHistory = get(&chain, "eth_feeHistory", json!([1, "earliest", [99.999]]));
    assert_eq!(first.reward.unwrap(), [[0]]);
    for wrong in [json!([50.0, 10.0]), json!([100.5]), json!([-1])] {
        let text = refused(&chain, "eth_feeHistory", json!([1, "latest", wrong]));
        assert_eq!(text, "invalid reward percentile");
    }
}

#[test]
fn the_chain_states_its_identity() {
    let chain = chain();
    let check = |method: &str, expected: Value| {
        assert_eq!(ask(&chain, method, json!([])).unwrap(), expected);
    };
    check("eth_chainId", json!("0xc4"));
    check("net_version", json!("196"));
    check(
        "eth_accounts",
        json!(DEV_ACCOUNTS.map(|account| account.address)),
    );
    check("eth_syncing", json!(false));
    check("web3_clientVersion", json!("dev-chain/v0.1.0"));
}

#[test]
fn an_export_matches_the_nodes_answers() {
    let chain = DevChain::with_xlayer_stage().unwrap();
    let accounts = chain.accounts();
    let token = accounts.iter().find(|it| it.address == xlayer::USDG);
    let token = token.unwrap();
    assert!(!token.code.is_empty() && !token.storage.is_empty());
    let code: Bytes = get(&chain, "eth_getCode", json!([token.address, "latest"]));
    assert_eq!(code, token.code);
    for (slot, word) in &token.storage {
        let params = json!([token.address, slot, "latest"]);
        assert_eq!(get::<B256>(&chain, "eth_getStorageAt", params), *word);
    }
    let payer = accounts.iter().find(|it| it.address == BUYER.address);
    assert_eq!(payer.unwrap().balance, chain.native_balance(BUYER.address));
}
