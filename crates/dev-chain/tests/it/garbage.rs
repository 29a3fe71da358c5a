//! The JSON-RPC envelope, and malformed ones.

use dev_chain::{
    Contract, DevChain, DevChainError, ExchangeSpec, Rate, Reply, Reuse, SafeSpec, TokenSpec, USDC,
};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

use crate::support::{ask_raw, builder, chain};

#[test]
fn every_kind_of_request_gets_its_answer() {
    let chain = chain();
    let check = |request: &str, expected: Value| {
        let answer = ask_raw(&chain, request);
        let summary = match &answer["error"] {
            Value::Null => answer,
            error => json!([answer["id"], error["code"], error["message"]]),
        };
        assert_eq!(summary, expected, "{request}");
    };
    let ok = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "result": "0xc4" });
    check(
        r#"{"jsonrpc":"2.0","id":"a","method":"eth_chainId"}"#,
        ok(json!("a")),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":null}"#,
        ok(json!(1)),
    );
    check(
        r#"{"jsonrpc":"2.0","id":null,"method":"eth_chainId","params":[]}"#,
        ok(json!(null)),
    );
    check(
        r#"[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},{"jsonrpc":"2.0","method":"eth_chainId"}]"#,
        json!([ok(json!(1))]),
    );
    check("", json!([null, -32700, "parse error"]));
    check("{", json!([null, -32700, "parse error"]));
    check(&"[".repeat(100_000), json!([null, -32700, "parse error"]));
    check("[]", json!([null, -32600, "empty batch"]));
    check("3", json!([null, -32600, "invalid request"]));
    check(
        r#"{"id":1,"method":"eth_chainId"}"#,
        json!([null, -32600, "invalid request"]),
    );
    check(
        r#"{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}"#,
        json!([null, -32600, "invalid request"]),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_mine"}"#,
        json!([
            1,
            -32601,
            "the method eth_mine does not exist/is not available"
        ]),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{}}"#,
        json!([1, -32602, "non-array args"]),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[1]}"#,
        json!([1, -32602, "too many arguments, want at most 0"]),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[]}"#,
        json!([1, -32602, "missing value for required argument 0"]),
    );
}

#[test]
fn a_notification_gets_no_answer() {
    let chain = chain();
    let request = br#"{"jsonrpc":"2.0","method":"eth_chainId"}"#;
    assert_eq!(
        chain.answer(request),
        Reply::Http {
            status: 200,
            body: Vec::new()
        }
    );
}

#[test]
fn an_inconsistent_chain_is_not_built() {
    let token = TokenSpec {
        address: USDC,
        name: "x".to_owned(),
        symbol: "x".to_owned(),
        version: "1".to_owned(),
        reuse: Reuse::Reverts,
    };
    let check = |result: Result<DevChain, DevChainError>, code: &str| {
        assert_eq!(result.unwrap_err().code(), code);
    };
    check(builder().token(token).build(), "address_taken");
    check(
        builder().code(USDC, vec![0].into()).build(),
        "address_taken",
    );
    let nobody = dev_chain::PAYEE.address;
    let one = alloy_primitives::U256::ONE;
    check(builder().holder(nobody, nobody, one).build(), "call_failed");
    check(
        builder()
            .holder(USDC, nobody, alloy_primitives::U256::ZERO)
            .build(),
        "call_failed",
    );
    check(
        builder().code(nobody, vec![0xef, 1, 0, 1].into()).build(),
        "invalid_code",
    );
    let twice = builder().contract(USDC, Contract::FeeForwarder).build();
    check(twice, "address_taken");
    let rate = Rate {
        token_in: USDC,
        token_out: USDC,
        numerator: one,
        denominator: alloy_primitives::U256::ZERO,
    };
    let exchange = ExchangeSpec {
        address: nobody,
        rates: vec![rate],
    };
    check(builder().exchange(exchange).build(), "call_failed");
    let safe = SafeSpec {
        address: nobody,
        owners: vec![USDC],
        threshold: 2,
        version: "1.4.1".to_owned(),
    };
    check(builder().safe(safe).build(), "call_failed");
    let refused = builder().call(nobody, USDC, vec![0xde, 0xad].into());
    check(refused.build(), "call_failed");
    let chain = chain();
    assert_eq!(
        chain.balance_of(nobody, nobody).unwrap_err().code(),
        "answer_malformed"
    );
}

const METHODS: [&str; 25] = [
    "web3_clientVersion",
    "net_version",
    "eth_chainId",
    "eth_blockNumber",
    "eth_getBlockByNumber",
    "eth_getBlockByHash",
    "eth_getBlockReceipts",
    "eth_getBalance",
    "eth_getCode",
    "eth_getStorageAt",
    "eth_getTransactionCount",
    "eth_call",
    "eth_estimateGas",
    "eth_simulateV1",
    "eth_gasPrice",
    "eth_maxPriorityFeePerGas",
    "eth_feeHistory",
    "eth_sendRawTransaction",
    "eth_sendTransaction",
    "eth_getTransactionByHash",
    "eth_getTransactionReceipt",
    "eth_getLogs",
    "eth_accounts",
    "eth_syncing",
    "net_listening",
];

/// JSON that looks like parameters often enough to pass the first check.
fn value() -> impl Strategy<Value = Value> {
    let words = select(vec![
        "latest",
        "pending",
        "earliest",
        "safe",
        "0x",
        "0x0",
        "0x1",
        "0xffffffffffffffff",
        "0xB6CEceAB302E2E4948951eE7843FC24E92933061",
        "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        "0x5b600056",
        "0xfe",
        "0x02f8",
        "0xc0",
        "",
        "0xd591d9baf744328d9400b923cb02c9474d367d591ca1ab24d8c4068be527599d",
        "0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ]);
    let leaf = prop_oneof![
        words.prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        proptest::collection::vec(any::<u8>(), 0..80)
            .prop_map(|bytes| json!(alloy_primitives::Bytes::from(bytes))),
        Just(Value::Null),
    ];
    let keys = select(vec![
        "to",
        "from",
        "data",
        "input",
        "gas",
        "gasPrice",
        "maxFeePerGas",
        "maxPriorityFeePerGas",
        "value",
        "nonce",
        "chainId",
        "accessList",
        "authorizationList",
        "type",
        "fromBlock",
        "toBlock",
        "address",
        "topics",
        "blockHash",
        "blockNumber",
        "requireCanonical",
        "blockStateCalls",
        "calls",
    ]);
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(keys.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn answered(chain: &DevChain, body: &[u8]) -> Result<(), TestCaseError> {
    let Reply::Http { status: 200, body } = chain.answer(body) else {
        return Err(TestCaseError::fail("no answer"));
    };
    prop_assert!(body.is_empty() || serde_json::from_slice::<Value>(&body).is_ok());
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_answered(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        answered(&DevChain::builder().build().unwrap(), &body)?;
    }

    #[test]
    fn any_parameters_are_answered(
        calls in proptest::collection::vec(
            (select(METHODS.to_vec()), proptest::collection::vec(value(), 0..4)),
            1..8,
        ),
    ) {
        let chain = builder().build().unwrap();
        for (method, params) in calls {
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            answered(&chain, request.to_string().as_bytes())?;
        }
    }
}
