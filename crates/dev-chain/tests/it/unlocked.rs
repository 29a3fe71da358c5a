//! Transactions of accounts that need no signature.

use alloy_primitives::{Address, B256, Bytes, U64, U256, bytes};
use alloy_provider::{Provider, ProviderBuilder};
use alloy_rpc_types_eth::{Transaction, TransactionReceipt, TransactionRequest};
use alloy_sol_types::SolCall;
use dev_chain::{BUYER, DEV_ACCOUNTS, DevChain, GAS_PAYER, MINTER, PAYEE, USDC};
use serde_json::{Value, json};

use crate::support::{Token, ask, chain, get, refused, send};

fn transfer(value: u64) -> Bytes {
    let call = Token::transferCall {
        to: PAYEE.address,
        value: U256::from(value),
    };
    call.abi_encode().into()
}

fn push(chain: &DevChain, request: Value) -> TransactionReceipt {
    let hash: B256 = get(chain, "eth_sendTransaction", json!([request]));
    get(chain, "eth_getTransactionReceipt", json!([hash]))
}

fn refuse(chain: &DevChain, request: Value) -> String {
    refused(chain, "eth_sendTransaction", json!([request]))
}

#[test]
fn absent_fields_of_a_transaction_are_filled_in() {
    let chain = chain();
    let before = chain.balance_of(USDC, PAYEE.address).unwrap();
    let request = json!({ "from": BUYER.address, "to": USDC, "data": transfer(7) });
    let gas: U64 = get(&chain, "eth_estimateGas", json!([request]));
    for nonce in 0..3 {
        let receipt = push(&chain, request.clone());
        assert!(receipt.status());
        assert_eq!((receipt.from, receipt.to), (BUYER.address, Some(USDC)));
        let hash = receipt.transaction_hash;
        let sent: Value = get(&chain, "eth_getTransactionByHash", json!([hash]));
        assert_eq!(sent["nonce"], json!(U64::from(nonce)));
        assert_eq!(sent["from"], json!(BUYER.address));
        assert_eq!(sent["type"], "0x2");
        assert_eq!(sent["maxFeePerGas"], json!(U64::from(41_000_000)));
        // The first transfer pays for the storage it begins.
        assert!(nonce > 0 || sent["gas"] == json!(gas), "{sent}");
    }
    let after = chain.balance_of(USDC, PAYEE.address).unwrap();
    assert_eq!(after - before, U256::from(21));
}

#[test]
fn given_fields_of_a_transaction_are_kept() {
    let chain = chain();
    let list = json!([{ "address": USDC, "storageKeys": [] }]);
    for (nonce, kind, more) in [
        (0, 0, json!({ "gasPrice": "0x3b9aca00" })),
        (
            1,
            1,
            json!({ "gasPrice": "0x3b9aca00", "accessList": list }),
        ),
        (
            2,
            2,
            json!({ "maxFeePerGas": "0x3b9aca00", "accessList": list }),
        ),
        (
            3,
            2,
            json!({ "maxFeePerGas": "0x3b9aca00", "maxPriorityFeePerGas": "0x0" }),
        ),
    ] {
        let mut request = json!({
            "from": GAS_PAYER.address, "to": PAYEE.address, "value": "0x5", "gas": "0xc350",
            "nonce": U64::from(nonce), "input": "0xabcd", "chainId": "0xc4",
        });
        let more = more.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(more);
        let receipt = push(&chain, request);
        let sent: Transaction = get(
            &chain,
            "eth_getTransactionByHash",
            json!([receipt.transaction_hash]),
        );
        let sent = sent.inner;
        use alloy_consensus::Transaction as _;
        assert_eq!(u8::from(sent.inner().tx_type()), kind);
        assert_eq!(sent.signer(), GAS_PAYER.address);
        assert_eq!((sent.nonce(), sent.gas_limit()), (nonce, 50_000));
        assert_eq!(sent.value(), U256::from(5));
        assert_eq!(sent.input(), &bytes!("abcd"));
        assert_eq!(sent.max_fee_per_gas(), 1_000_000_000);
        assert_eq!(
            sent.access_list().is_some_and(|list| !list.is_empty()),
            nonce == 1 || nonce == 2
        );
    }
}

#[test]
fn equal_transactions_of_two_accounts_have_different_hashes() {
    let chain = chain();
    let hashes = [BUYER, MINTER].map(|account| {
        let request = json!({ "from": account.address, "to": PAYEE.address, "value": "0x1" });
        push(&chain, request).transaction_hash
    });
    assert_ne!(hashes[0], hashes[1]);
}

#[test]
fn signed_and_unsigned_transactions_share_a_nonce() {
    let chain = chain();
    assert!(send(&chain, GAS_PAYER, PAYEE.address, Bytes::new()).status());
    push(
        &chain,
        json!({ "from": GAS_PAYER.address, "to": PAYEE.address }),
    );
    assert!(send(&chain, GAS_PAYER, PAYEE.address, Bytes::new()).status());
    let count: U64 = get(
        &chain,
        "eth_getTransactionCount",
        json!([GAS_PAYER.address]),
    );
    assert_eq!(count, U64::from(3));
}

#[test]
fn only_unlocked_accounts_send() {
    let chain = chain();
    let to = PAYEE.address;
    let others = [USDC, Address::ZERO, Address::repeat_byte(0x11)];
    for request in others.map(|from| json!({ "from": from, "to": to })) {
        assert_eq!(refuse(&chain, request), "unknown account");
    }
    assert_eq!(refuse(&chain, json!({ "to": to })), "unknown account");
    assert_eq!(chain.transactions(), []);
}

#[test]
fn unlocked_accounts_obey_the_rules_of_the_pool() {
    let chain = chain();
    let (from, to) = (BUYER.address, PAYEE.address);
    push(&chain, json!({ "from": from, "to": to }));
    let check = |more: Value, expected: &str| {
        let mut request = json!({ "from": from, "to": to });
        let more = more.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(more);
        let text = refuse(&chain, request);
        assert!(text.starts_with(expected), "{text}");
    };
    check(
        json!({ "nonce": "0x0" }),
        "nonce too low: next nonce 1, tx nonce 0",
    );
    check(json!({ "chainId": "0x1" }), "chainId does not match node's");
    check(json!({ "gas": "0x5207" }), "intrinsic gas too low");
    check(
        json!({ "gas": "0xffffffffffffffff" }),
        "exceeds block gas limit",
    );
    check(
        json!({ "gas": "0x5208", "gasPrice": "0x1" }),
        "max fee per gas less than block base fee",
    );
    check(
        json!({ "gasPrice": "0x1", "maxFeePerGas": "0x1" }),
        "both gasPrice and",
    );
    check(
        json!({ "data": "0x01", "input": "0x02" }),
        "both \"data\" and \"input\"",
    );
    check(
        json!({ "authorizationList": [] }),
        "transaction type not supported",
    );
    let all = U256::MAX;
    check(
        json!({ "value": all, "gas": "0x5208" }),
        "insufficient funds",
    );
    let too_much = json!({ "from": from, "to": USDC, "data": transfer(u64::MAX) });
    let error = ask(&chain, "eth_sendTransaction", json!([too_much])).unwrap_err();
    assert_eq!(error["code"], 3, "{error}");
    assert_eq!(chain.transactions().len(), 1);
}

#[tokio::test]
async fn alloy_sends_without_a_wallet() {
    let chain = chain();
    let server = chain.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
    let provider = ProviderBuilder::new()
        .connect_reqwest(test_support::http_client(), server.url().parse().unwrap());
    let accounts = provider.get_accounts().await.unwrap();
    assert_eq!(accounts, DEV_ACCOUNTS.map(|account| account.address));
    let request = TransactionRequest::default()
        .from(BUYER.address)
        .to(USDC)
        .input(transfer(1).into());
    let sent = provider.send_transaction(request).await.unwrap();
    assert!(sent.get_receipt().await.unwrap().status());
}
