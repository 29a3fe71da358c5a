//! Raw transactions that the pool refuses, and those that wait in it.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEip2930, TxEnvelope, TxLegacy};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U64, U256, uint};
use alloy_rpc_types_eth::{Transaction, TransactionReceipt};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use dev_chain::{DevChain, GAS_PAYER, Mining, PAYEE};
use serde_json::{Value, json};

use crate::support::{ask, builder, chain, get, refused, sign, signer, unsigned};

fn transfer(nonce: u64) -> TxEip1559 {
    unsigned(PAYEE.address, Bytes::new(), nonce)
}

fn push(chain: &DevChain, raw: Bytes) -> B256 {
    get(chain, "eth_sendRawTransaction", json!([raw]))
}

#[test]
fn the_reasons_are_those_of_go_ethereum() {
    let chain = chain();
    let check = |transaction: TxEip1559, expected: &str| {
        let text = refused(
            &chain,
            "eth_sendRawTransaction",
            json!([sign(GAS_PAYER, transaction)]),
        );
        assert_eq!(text, expected);
    };
    push(&chain, sign(GAS_PAYER, transfer(0)));
    check(transfer(0), "nonce too low: next nonce 1, tx nonce 0");
    check(
        TxEip1559 {
            chain_id: 1,
            ..transfer(1)
        },
        "invalid sender: invalid chain id for signer: have 1 want 196",
    );
    check(
        TxEip1559 {
            gas_limit: 20_999,
            ..transfer(1)
        },
        "intrinsic gas too low: gas 20999, minimum needed 21000",
    );
    check(
        TxEip1559 {
            input: vec![1; 100].into(),
            gas_limit: 24_000,
            ..transfer(1)
        },
        "insufficient gas for floor data gas cost: gas 24000, minimum needed 25000",
    );
    check(
        TxEip1559 {
            gas_limit: 30_000_001,
            ..transfer(1)
        },
        "exceeds block gas limit",
    );
    check(
        TxEip1559 {
            max_priority_fee_per_gas: 100_000_001,
            ..transfer(1)
        },
        "max priority fee per gas higher than max fee per gas",
    );
    check(
        TxEip1559 {
            max_fee_per_gas: 7,
            max_priority_fee_per_gas: 0,
            ..transfer(1)
        },
        "max fee per gas less than block base fee: address \
         0x70997970C51812dc3A010C7d01b50e0d17dc79C8, maxFeePerGas: 7, baseFee: 20000000",
    );
    let poor = PrivateKeySigner::from_bytes(&B256::repeat_byte(0x11)).unwrap();
    let signature = poor.sign_hash_sync(&transfer(0).signature_hash()).unwrap();
    let raw: Bytes = TxEnvelope::from(transfer(0).into_signed(signature))
        .encoded_2718()
        .into();
    assert_eq!(
        refused(&chain, "eth_sendRawTransaction", json!([raw])),
        "insufficient funds for gas * price + value: balance 0, tx cost 30000000000000, \
         overshot 30000000000000"
    );
    assert_eq!(chain.transactions().len(), 1);
}

#[test]
fn a_signature_has_one_form() {
    let order = uint!(0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141_U256);
    let chain = chain();
    let good = signer(GAS_PAYER)
        .sign_hash_sync(&transfer(0).signature_hash())
        .unwrap();
    let high = Signature::new(good.r(), order - good.s(), !good.v());
    let raw: Bytes = TxEnvelope::from(transfer(0).into_signed(high))
        .encoded_2718()
        .into();
    assert_eq!(
        refused(&chain, "eth_sendRawTransaction", json!([raw])),
        "invalid sender: invalid transaction v, r, s values"
    );
    let unprotected = TxLegacy {
        gas_limit: 21_000,
        gas_price: 1 << 30,
        ..TxLegacy::default()
    };
    assert_eq!(
        refused(
            &chain,
            "eth_sendRawTransaction",
            json!([sign(GAS_PAYER, unprotected)])
        ),
        "only replay-protected (EIP-155) transactions allowed over RPC"
    );
}

#[test]
fn the_older_kinds_are_mined() {
    let chain = chain();
    let legacy = TxLegacy {
        chain_id: Some(196),
        nonce: 0,
        gas_price: 50_000_000,
        gas_limit: 21_000,
        to: TxKind::Call(PAYEE.address),
        value: U256::from(5),
        input: Bytes::new(),
    };
    let listed = TxEip2930 {
        chain_id: 196,
        nonce: 1,
        gas_price: 50_000_000,
        gas_limit: 21_000,
        to: TxKind::Call(PAYEE.address),
        ..TxEip2930::default()
    };
    for (raw, kind) in [
        (sign(GAS_PAYER, legacy), "0x0"),
        (sign(GAS_PAYER, listed), "0x1"),
    ] {
        let hash = push(&chain, raw);
        let receipt: Value = get(&chain, "eth_getTransactionReceipt", json!([hash]));
        assert_eq!(receipt["type"], kind);
        assert_eq!(receipt["status"], "0x1");
        assert_eq!(receipt["effectiveGasPrice"], "0x2faf080");
    }
    let before = uint!(10_000_000_000_000_000_000_000_U256);
    assert_eq!(chain.native_balance(PAYEE.address), before + U256::from(5));
}

#[test]
fn a_nonce_from_the_future_waits_its_turn() {
    let chain = chain();
    let second = push(&chain, sign(GAS_PAYER, transfer(1)));
    assert_eq!(chain.waiting(), [second]);
    let waiting: Transaction = get(&chain, "eth_getTransactionByHash", json!([second]));
    assert_eq!(waiting.block_number, None);
    assert_eq!(
        get::<Value>(&chain, "eth_getTransactionReceipt", json!([second])),
        Value::Null
    );

    let first = push(&chain, sign(GAS_PAYER, transfer(0)));
    let mined: Vec<B256> = chain
        .transactions()
        .iter()
        .map(|mined| mined.hash)
        .collect();
    assert_eq!(mined, [first, second]);
    assert_eq!(chain.block_number(), 2);
    assert!(chain.waiting().is_empty());
}

#[test]
fn a_block_is_made_by_hand() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let first = push(&chain, sign(GAS_PAYER, transfer(0)));
    push(&chain, sign(GAS_PAYER, transfer(1)));
    let count = |tag: &str| -> U64 {
        get(
            &chain,
            "eth_getTransactionCount",
            json!([GAS_PAYER.address, tag]),
        )
    };
    assert_eq!(
        (count("latest"), count("pending")),
        (U64::ZERO, U64::from(2))
    );
    assert_eq!(
        refused(
            &chain,
            "eth_sendRawTransaction",
            json!([sign(GAS_PAYER, transfer(0))])
        ),
        "already known"
    );
    assert_eq!(chain.block_number(), 0);
    assert_eq!(chain.mine(), 1);
    assert_eq!(count("latest"), U64::from(2));
    let receipt: TransactionReceipt = get(&chain, "eth_getTransactionReceipt", json!([first]));
    assert_eq!(receipt.block_number, Some(1));
    assert_eq!(chain.transactions().len(), 2);
    assert_eq!(chain.mine(), 2);
}

#[test]
fn a_replacement_pays_a_tenth_more() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let priced = |fee: u128, tip: u128| TxEip1559 {
        max_fee_per_gas: fee,
        max_priority_fee_per_gas: tip,
        ..transfer(0)
    };
    push(&chain, sign(GAS_PAYER, priced(100_000_000, 1_000_000)));
    let cheap = sign(GAS_PAYER, priced(109_000_000, 1_090_000));
    assert_eq!(
        refused(&chain, "eth_sendRawTransaction", json!([cheap])),
        "replacement transaction underpriced"
    );
    let dear = push(&chain, sign(GAS_PAYER, priced(110_000_000, 1_100_000)));
    assert_eq!(chain.waiting(), [dear]);
    assert!(chain.evict(dear));
    assert!(!chain.evict(dear));
    chain.mine();
    assert!(chain.transactions().is_empty());
}

#[test]
fn a_contract_can_be_created() {
    let chain = chain();
    // Returns one byte of code, STOP.
    let transaction = TxEip1559 {
        to: TxKind::Create,
        input: vec![0x60, 1, 0x60, 0, 0xf3].into(),
        ..transfer(0)
    };
    let hash = push(&chain, sign(GAS_PAYER, transaction));
    let receipt: TransactionReceipt = get(&chain, "eth_getTransactionReceipt", json!([hash]));
    let created: Address = GAS_PAYER.address.create(0);
    assert_eq!(receipt.contract_address, Some(created));
    assert_eq!(
        get::<Bytes>(&chain, "eth_getCode", json!([created])),
        Bytes::from([0])
    );
}

#[test]
fn malformed_transactions_are_refused() {
    let chain = chain();
    for raw in ["0x", "0x00", "0x02c0", "0xc0", "0x7f01", "0x03c0"] {
        let error = ask(&chain, "eth_sendRawTransaction", json!([raw])).unwrap_err();
        assert_eq!(error["code"], -32000, "{raw}: {error}");
    }
    let error = ask(&chain, "eth_sendRawTransaction", json!(["zz"])).unwrap_err();
    assert_eq!(error["code"], -32602);
}
