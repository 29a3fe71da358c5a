//! Tests of the limits of our own settlements' cost: payers whose code burns gas, an empty account,
//! and a full queue.

use alloy_primitives::{Address, Bytes, U256, address, hex};
use dev_chain::{
    BUYER, BadAnswer, DEV_ACCOUNTS, DevChain, GAS_PAYER, InjectedFault, RpcServer,
    USDC as USDC_ADDRESS,
};
use serde_json::json;
use settlement::{
    GasPolicy, OnchainSettler, Readiness, Reconciliation, Settlement, Settler, Verification,
};
use test_support::eventually;
use x402_wire::{Payment, Reason};

use crate::chain::{builder, invalid, reader_with, serve, waiting, wrap_6492};
use crate::onchain::{FEE, alone, settler};
use crate::payments::{Draft, NOW, PRICE, USDC, USDT0, payment, terms, timeouts};
use crate::stage::{Stage, json};

const WALLET: Address = address!("0x00000000000000000000000000000000000a11e7");

/// Makes the code of a wallet that accepts every signature when the expression is zero, and
/// otherwise burns all gas: `if (expression == 0) return EIP1271_MAGIC; while (true) {}`.
fn wallet_by(expression: &[u8]) -> Bytes {
    let endless = u8::try_from(expression.len()).unwrap() + 4;
    let mut code = expression.to_vec();
    code.extend([0x15, 0x60, endless + 4, 0x57]); // ISZERO PUSH1 valid JUMPI
    code.extend([0x5b, 0x60, endless, 0x56]); // endless: JUMPDEST PUSH1 endless JUMP
    code.extend(hex!("5b631626ba7e60e01b60005260206000f3")); // valid: return the magic value
    code.into()
}

/// The gas price as the expression.
const GASPRICE: [u8; 1] = [0x3a];

/// The expression `TIMESTAMP > NOW`, which depends on the time of the block.
const LATER: [u8; 7] = hex!("636b00df004211");

fn chain_with(wallet: Bytes) -> DevChain {
    builder()
        .code(WALLET, wallet)
        .holder(USDC_ADDRESS, WALLET, U256::from(100 * PRICE))
        .build()
        .unwrap()
}

/// Makes two payments that only the wallet can judge: one with a long signature, one with 65 bytes.
fn payments_of_the_wallet(first_nonce: u8) -> [Payment; 2] {
    let draft = |nonce| Draft {
        from: WALLET,
        ..Draft::new(USDC).nonce(nonce)
    };
    let (long, short) = (draft(first_nonce), draft(first_nonce + 1));
    [
        long.with_signature(&[7; 130]),
        short.with_signature(&short.signature()),
    ]
}

fn settler_by(server: &RpcServer, policy: GasPolicy) -> OnchainSettler {
    let reader = reader_with(server, timeouts(), &terms());
    alone(reader, GAS_PAYER.key, timeouts(), policy)
}

fn unavailable(verification: Verification) -> &'static str {
    match verification {
        Verification::Unavailable { cause } => cause.code(),
        other => panic!("{other:?}"),
    }
}

/// A call that pays nothing for its gas can have another result than the settlement.
#[tokio::test]
async fn a_wallet_that_is_valid_only_when_gas_is_free_costs_nothing() {
    let chain = chain_with(wallet_by(&GASPRICE));
    let server = serve(&chain).await;
    let before = chain.native_balance(GAS_PAYER.address);
    let settler = settler(&server);
    for payment in payments_of_the_wallet(1) {
        let verification = settler.verify(&payment, U256::ZERO, NOW).await;
        assert!(
            matches!(verification, Verification::Invalid { .. }),
            "{verification:?}"
        );
        let outcome = settler.settle(&payment).await;
        assert!(
            matches!(outcome, Settlement::Rejected { .. }),
            "{outcome:?}"
        );
    }
    assert!(chain.transactions().is_empty());
    assert_eq!(chain.native_balance(GAS_PAYER.address), before);
}

/// The payment passes every check and burns gas in the block. That costs at most the cap, and it is
/// not tried again.
#[tokio::test]
async fn a_wallet_that_burns_gas_in_the_block_is_paid_for_once() {
    let chain = builder()
        .code(WALLET, wallet_by(&LATER))
        .holder(USDC_ADDRESS, WALLET, U256::from(PRICE))
        .mining(dev_chain::Mining::Manual)
        .build()
        .unwrap();
    let server = serve(&chain).await;
    let settler = settler(&server);
    let [payment, _] = payments_of_the_wallet(1);
    assert_eq!(
        settler.verify(&payment, U256::ZERO, NOW).await,
        Verification::Valid
    );
    let later = async {
        waiting(&chain, 1).await;
        chain.advance_time(1);
        chain.mine();
    };
    let (outcome, ()) = tokio::join!(settler.settle(&payment), later);
    let Settlement::Failed {
        transaction,
        reason,
    } = outcome
    else {
        panic!("{outcome:?}")
    };
    let [sent] = &chain.transactions()[..] else {
        panic!()
    };
    assert_eq!(transaction, sent.hash.to_string());
    assert!(!sent.success && sent.gas_used <= GasPolicy::default().gas_cap);
    assert_eq!(reason, Reason::InvalidExactEvmPayloadSignature);

    // It is not tried again after a crash in which only the hash was kept.
    for _ in 0..2 {
        let outcome = settler.reconcile(&payment, Some(&transaction), NOW).await;
        assert!(
            matches!(&outcome, Reconciliation::Failed { transaction: known, .. } if *known == transaction),
            "{outcome:?}"
        );
    }
    chain.advance_time(330);
    chain.mine();
    let outcome = settler.reconcile(&payment, Some(&transaction), NOW).await;
    assert_eq!(outcome.outcome(), "failed");
    assert_eq!(chain.transactions().len(), 1);
}

#[tokio::test]
async fn a_settlement_above_the_cap_is_refused_before_the_work_and_before_sending() {
    let chain = chain_with(wallet_by(&LATER));
    let server = serve(&chain).await;
    let policy = GasPolicy {
        gas_cap: 50_000,
        ..GasPolicy::default()
    };
    let settler = settler_by(&server, policy);
    let key_signed = payment(USDC);
    let [wallets, _] = payments_of_the_wallet(1);
    for payment in [key_signed, wallets] {
        let verification = settler.verify(&payment, U256::ZERO, NOW).await;
        let Verification::Invalid { reason, message } = verification else {
            panic!("{verification:?}")
        };
        assert_eq!(reason, Reason::InvalidExactEvmTransactionSimulationFailed);
        assert!(message.unwrap().contains("50000 gas"));
        let outcome = settler.settle(&payment).await;
        assert!(
            matches!(outcome, Settlement::Rejected { .. }),
            "{outcome:?}"
        );
    }
    assert!(chain.transactions().is_empty());
}

/// The settler adds a reserve to the estimate. The cap limits the sum.
#[tokio::test]
async fn no_transaction_may_use_more_than_the_cap() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    for nonce in [1, 2] {
        let payment = Draft::new(USDC).nonce(nonce).sign();
        let outcome = settler(&server).settle(&payment).await;
        assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
    }
    let used = chain.transactions()[1].gas_used;

    let policy = GasPolicy {
        gas_cap: used + used / 8,
        ..GasPolicy::default()
    };
    let next = Draft::new(USDC).nonce(3).sign();
    let outcome = settler_by(&server, policy).settle(&next).await;
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
    let hash = chain.transactions()[2].hash;
    let sent = chain.request("eth_getTransactionByHash", json!([hash]));
    let limit = format!("{:#x}", policy.gas_cap);
    assert_eq!(sent.unwrap()["gas"], limit);
}

#[tokio::test]
async fn payers_with_code_can_be_switched_off() {
    let delegation = [&[0xef, 0x01, 0x00], WALLET.as_slice()].concat();
    let chain = builder()
        .wallet(WALLET, BUYER.address)
        .code(BUYER.address, delegation.into())
        .holder(USDC_ADDRESS, WALLET, U256::from(PRICE))
        .holder(USDC_ADDRESS, DEV_ACCOUNTS[5].address, U256::from(PRICE))
        .build()
        .unwrap();
    let server = serve(&chain).await;
    let policy = GasPolicy {
        contract_wallets: false,
        ..GasPolicy::default()
    };
    let closed = settler_by(&server, policy);
    let draft = Draft {
        from: WALLET,
        ..Draft::new(USDC)
    };
    let refused = invalid(Reason::UnsupportedContractWallet);
    let other = draft.with_signature(&draft.signature());
    assert_eq!(
        closed.verify(&other, U256::ZERO, NOW).await,
        invalid(Reason::InvalidExactEvmPayloadSignature)
    );
    for payment in [
        draft.with_signature(&wrap_6492(&draft.signature())),
        // This is the account of a key that has delegated to a contract.
        payment(USDC),
    ] {
        assert_eq!(closed.verify(&payment, U256::ZERO, NOW).await, refused);
    }
    assert_eq!(closed.accepts_wallet(WALLET).await, Ok(false));
    assert_eq!(settler(&server).accepts_wallet(WALLET).await, Ok(true));
    let key = Draft {
        key: DEV_ACCOUNTS[5].key,
        from: DEV_ACCOUNTS[5].address,
        ..Draft::new(USDC)
    };
    assert_eq!(
        closed.verify(&key.sign(), U256::ZERO, NOW).await,
        Verification::Valid
    );
}

/// The balance alone shows that an account is empty. Callers that come soon after share the
/// reading.
#[tokio::test]
async fn an_empty_account_refuses_the_work_after_one_call() {
    let node = Stage::open().await;
    let balance = |wei: &str| json(format!(r#"{{"jsonrpc":"2.0","id":0,"result":"{wei}"}}"#));
    node.plays("/", [balance("0x0")]);
    let reader = settlement::ChainReader::new(
        &node.url().into(),
        &terms(),
        timeouts(),
        crate::chain::options(),
    );
    let policy = GasPolicy::default();
    let settler = alone(reader.unwrap(), [0x42; 32].into(), timeouts(), policy);
    for _ in 0..3 {
        let verification = settler.verify(&payment(USDT0), U256::ZERO, NOW).await;
        assert_eq!(unavailable(verification), "no_gas");
        let outcome = settler.settle(&payment(USDT0)).await;
        assert!(matches!(outcome, Settlement::NotSent { .. }), "{outcome:?}");
    }
    let methods: Vec<_> = node.seen().into_iter().map(|seen| seen.body).collect();
    assert!(
        methods.len() == 1 && methods[0].contains("eth_getBalance"),
        "{methods:?}"
    );
}

#[tokio::test]
async fn an_account_that_pays_for_one_settlement_begins_no_second() {
    let key = [0x43; 32];
    let account = alloy_signer_local::PrivateKeySigner::from_bytes(&key.into()).unwrap();
    let each = u128::from(GasPolicy::default().gas_cap) * FEE;
    let chain = builder()
        .account(account.address(), U256::from(each + each / 2))
        .mining(dev_chain::Mining::Manual)
        .build()
        .unwrap();
    let server = serve(&chain).await;
    let reader = reader_with(&server, timeouts(), &terms());
    let settler = alone(reader, key.into(), timeouts(), GasPolicy::default());
    let expected = Readiness::Ready {
        aggr_deferred: false,
        settlements_left: Some(1),
    };
    assert_eq!(settler.readiness().await, expected);

    let (first, second) = (Draft::new(USDC).nonce(1), Draft::new(USDC).nonce(2));
    assert_eq!(
        settler.verify(&second.sign(), U256::ZERO, NOW).await,
        Verification::Valid
    );
    let beside = async {
        waiting(&chain, 1).await;
        let verification = settler.verify(&second.sign(), U256::ZERO, NOW).await;
        let outcome = settler.settle(&second.sign()).await;
        chain.mine();
        (unavailable(verification), outcome.outcome())
    };
    let first = first.sign();
    let (outcome, refused) = tokio::join!(settler.settle(&first), beside);
    assert_eq!(refused, ("no_gas", "not_sent"));
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
}

/// The node takes settlements and does not answer.
#[tokio::test]
async fn a_queue_that_outlasts_the_payment_is_not_joined() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let settler = std::sync::Arc::new(settler(&server));
    chain.inject(InjectedFault::new("eth_sendRawTransaction", BadAnswer::Never).times(100));
    let ending = |seconds| {
        let draft = Draft {
            valid_before: NOW + 300,
            ..Draft::new(USDT0).nonce(0x77)
        };
        (draft.sign(), NOW + 300 - seconds)
    };
    let (payment, now) = ending(3);
    assert_eq!(
        settler.verify(&payment, U256::ZERO, now).await,
        Verification::Valid
    );
    let mut waiting = tokio::task::JoinSet::new();
    for nonce in 1..=8 {
        let (settler, payment) = (settler.clone(), Draft::new(USDC).nonce(nonce).sign());
        waiting.spawn(async move { settler.settle(&payment).await });
    }
    // Eight settlements wait, each for half a second.
    let refused = async || {
        let verification = settler.verify(&payment, U256::ZERO, now).await;
        Some(verification).filter(|verification| *verification != Verification::Valid)
    };
    let refused = eventually("a refusal", refused).await;
    assert_eq!(unavailable(refused), "settlement_queue_too_long");
    // A payment that is valid for longer has enough time.
    let (payment, now) = ending(60);
    assert_eq!(
        settler.verify(&payment, U256::ZERO, now).await,
        Verification::Valid
    );
}
