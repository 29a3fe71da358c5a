//! A node with injected failures.

use alloy_primitives::{B256, Bytes};
use dev_chain::{BadAnswer, DevChain, GAS_PAYER, InjectedFault, PAYEE, Reply, USDC};
use serde_json::{Value, json};

use crate::support::{ask, ask_raw, builder, chain, get, payment, refused, sign, signed, unsigned};

fn request(method: &str, params: Value) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
        .to_string()
        .into()
}

fn transfer(nonce: u64) -> Bytes {
    sign(GAS_PAYER, unsigned(PAYEE.address, Bytes::new(), nonce))
}

fn send(chain: &DevChain) -> Reply {
    chain.answer(&request("eth_sendRawTransaction", json!([transfer(0)])))
}

#[test]
fn an_answer_can_be_lost_after_the_effect() {
    let chain = chain();
    chain.inject(InjectedFault::new("eth_sendRawTransaction", BadAnswer::Close).after());
    assert_eq!(send(&chain), Reply::Close);
    assert_eq!(chain.transactions().len(), 1);
    let again = refused(&chain, "eth_sendRawTransaction", json!([transfer(0)]));
    assert_eq!(again, "nonce too low: next nonce 1, tx nonce 0");
}

#[test]
fn a_request_can_be_lost_before_the_effect() {
    let chain = chain();
    chain.inject(InjectedFault::new(
        "eth_sendRawTransaction",
        BadAnswer::Close,
    ));
    chain.inject(InjectedFault::new(
        "eth_sendRawTransaction",
        BadAnswer::Never,
    ));
    assert_eq!(send(&chain), Reply::Close);
    assert_eq!(send(&chain), Reply::Never);
    assert!(chain.transactions().is_empty());
    assert!(matches!(send(&chain), Reply::Http { status: 200, .. }));
    assert_eq!(chain.transactions().len(), 1);
}

#[test]
fn a_number_of_sends_can_be_refused() {
    let chain = chain();
    let error = BadAnswer::Error {
        code: -32005,
        message: "limit exceeded".to_owned(),
    };
    chain.inject(InjectedFault::new("eth_sendRawTransaction", error).times(2));
    for _ in 0..2 {
        let text = refused(&chain, "eth_sendRawTransaction", json!([transfer(0)]));
        assert_eq!(text, "limit exceeded");
    }
    assert!(ask(&chain, "eth_sendRawTransaction", json!([transfer(0)])).is_ok());
}

#[test]
fn an_answer_can_be_garbage() {
    let chain = chain();
    let garbage = BadAnswer::Raw {
        status: 502,
        body: b"<html>".to_vec(),
    };
    chain.inject(InjectedFault::new("eth_chainId", garbage.clone()).times(9));
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber" },
        { "jsonrpc": "2.0", "id": 2, "method": "eth_chainId" },
    ]);
    let expected = Reply::Http {
        status: 502,
        body: b"<html>".to_vec(),
    };
    assert_eq!(chain.answer(&request("eth_chainId", json!([]))), expected);
    assert_eq!(chain.answer(batch.to_string().as_bytes()), expected);
    chain.clear_faults();
    assert_eq!(
        ask_raw(&chain, &batch.to_string())
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn a_receipt_can_come_late() {
    let chain = builder().receipt_delay(2).build().unwrap();
    let raw = sign(GAS_PAYER, unsigned(USDC, signed(USDC, &payment()), 0));
    let hash: B256 = get(&chain, "eth_sendRawTransaction", json!([raw]));
    let receipt = || ask(&chain, "eth_getTransactionReceipt", json!([hash])).unwrap();
    assert_eq!(receipt(), Value::Null);
    assert_eq!(receipt(), Value::Null);
    assert_eq!(receipt()["status"], "0x1");
    chain.delay_receipts(5);
    assert_eq!(receipt(), Value::Null);
    assert_eq!(receipt(), Value::Null);
    assert_eq!(receipt()["status"], "0x1");
}
