//! Tests of a facilitator whose statements are compared with the chain.

use alloy_primitives::U256;
use dev_chain::{
    BUYER, BadAnswer, DEV_ACCOUNTS, InjectedFault, PAYEE, RpcServer, USDC as USDC_ADDRESS,
};
use settlement::{
    ChainOptions, ChainReader, Facilitator, Readiness, Settlement, Settler, Verification, WithChain,
};
use x402_wire::{Network, Reason};

use crate::calls::{cancel, transfer, transfer_in_vain};
use crate::chain::{builder, invalid, reader, serve, wrap_6492};
use crate::facilitator::{HASH, not_sent, refused, settled, unknown};
use crate::facilitator_faults::unused_address;
use crate::onchain::rejection;
use crate::payments::{Draft, NOW, PRICE, USDC, USDG, USDT0, deferred, payment, terms, timeouts};
use crate::stage::{Stage, json};

/// Returns the reason of a refusal that leaves the authorization open.
fn still_open(outcome: Settlement) -> Reason {
    match outcome {
        Settlement::StillOpen { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

const VALID: &str = r#"{"isValid":true}"#;

fn composed(stage: &Stage, server: &RpcServer) -> WithChain<Facilitator> {
    let backend = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
    WithChain::new(backend, Some(reader(server)), timeouts())
}

/// The reference facilitator calls a used authorization of USDG valid, because that token does not
/// revert.
#[tokio::test]
async fn a_spent_authorization_is_invalid_whatever_the_facilitator_says() {
    for asset in [USDT0, USDC, USDG] {
        let chain = builder().build().unwrap();
        let server = serve(&chain).await;
        let stage = Stage::open().await;
        let vague = r#"{"isValid":false,"invalidReason":"invalid_exact_evm_transaction_simulation_failed"}"#;
        stage.plays("/verify", [json(VALID), json(VALID), json(vague)]);
        let composed = composed(&stage, &server);
        let draft = Draft::new(asset);
        assert_eq!(
            composed.verify(&draft.sign(), U256::ZERO, NOW).await,
            Verification::Valid
        );
        transfer(&chain, &draft, PAYEE.address);
        let verification = composed.verify(&draft.sign(), U256::ZERO, NOW).await;
        assert_eq!(
            verification,
            invalid(Reason::InvalidExactEvmNonceAlreadyUsed)
        );
    }
}

#[tokio::test]
async fn the_facilitator_and_the_chain_must_agree() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let composed = composed(&stage, &server);
    let refusal = r#"{"isValid":false,"invalidReason":"insufficient_funds"}"#;
    stage.plays("/verify", [json(refusal)]);
    assert_eq!(
        composed.verify(&payment(USDT0), U256::ZERO, NOW).await,
        invalid(Reason::InsufficientFunds)
    );

    stage.plays("/verify", [json("garbage")]);
    let verification = composed.verify(&payment(USDT0), U256::ZERO, NOW).await;
    assert!(
        matches!(verification, Verification::Unavailable { .. }),
        "{verification:?}"
    );

    // The chain cannot be read. It might refuse the payment, so the caller is not served.
    stage.plays("/verify", [json(VALID)]);
    chain.inject(InjectedFault::new("eth_call", BadAnswer::Close).times(2));
    let verification = composed.verify(&payment(USDT0), U256::ZERO, NOW).await;
    assert!(
        matches!(verification, Verification::Unavailable { .. }),
        "{verification:?}"
    );

    let poor = DEV_ACCOUNTS[4];
    let unfunded = Draft {
        key: poor.key,
        from: poor.address,
        ..Draft::new(USDC)
    }
    .sign();
    stage.plays("/verify", [json(VALID)]);
    assert_eq!(
        composed.verify(&unfunded, U256::ZERO, NOW).await,
        invalid(Reason::InsufficientFunds)
    );
}

#[tokio::test]
async fn a_receipt_is_compared_with_its_transaction() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let composed = composed(&stage, &server);
    let draft = Draft::new(USDC);
    let payment = draft.sign();

    // The receipt names the transaction of another payment.
    let foreign = transfer(&chain, &Draft::new(USDC).nonce(9), PAYEE.address).to_string();
    stage.plays("/settle", [json(settled().replace(HASH, &foreign))]);
    let outcome = composed.settle(&payment).await;
    assert_eq!(unknown(&outcome).0, Some(foreign.as_str()));

    let own = transfer(&chain, &draft, PAYEE.address).to_string();
    stage.plays("/settle", [json(settled().replace(HASH, &own))]);
    let Settlement::Settled(receipt) = composed.settle(&payment).await else {
        panic!()
    };
    assert_eq!((receipt.transaction, receipt.payer), (own, BUYER.address));
}

/// The facilitator has the authorization, whatever it answers, and only the chain ends it. The
/// server must not ask the buyer to pay again for a payment that the buyer has made or may still
/// make.
#[tokio::test]
async fn a_refusal_is_compared_with_the_chain() {
    for (reason, open) in [
        ("insufficient_funds", true),
        ("invalid_exact_evm_payload_signature", true),
        ("transaction_failed", true),
        ("invalid_transaction_state", true),
        ("unexpected_settle_error", false),
        ("confirmation_timed_out", false),
        ("invalid_exact_evm_nonce_already_used", false),
        ("invalid_exact_evm_transfer_event_mismatch", false),
    ] {
        let chain = builder().build().unwrap();
        let server = serve(&chain).await;
        let stage = Stage::open().await;
        let composed = composed(&stage, &server);
        stage.plays("/settle", vec![json(refused(reason, "")); 5]);

        // This node sees the authorization as unused. It may be behind the facilitator's node.
        let unused = Draft::new(USDC).nonce(1);
        let outcome = composed.settle(&unused.sign()).await;
        if open {
            assert_eq!(still_open(outcome).as_str(), reason);
        } else {
            let (hash, cause) = unknown(&outcome);
            assert_eq!((hash, cause.code()), (None, "refusal_inconclusive"));
        }

        let paid = Draft::new(USDC).nonce(2);
        let hash = transfer(&chain, &paid, PAYEE.address).to_string();
        let outcome = composed.settle(&paid.sign()).await;
        assert_eq!(unknown(&outcome).0, Some(hash.as_str()), "{reason}");

        let cancelled = Draft::new(USDC).nonce(3);
        cancel(&chain, &cancelled);
        let outcome = composed.settle(&cancelled.sign()).await;
        assert_eq!(rejection(outcome).as_str(), "cancelled");

        chain.inject(InjectedFault::new("eth_getBlockByNumber", BadAnswer::Close));
        let outcome = composed.settle(&unused.sign()).await;
        assert_eq!(unknown(&outcome).1.code(), "interrupted", "{reason}");

        chain.advance_time(330);
        chain.mine();
        let outcome = composed.settle(&unused.sign()).await;
        assert_eq!(rejection(outcome).as_str(), reason);
    }
}

/// A refused payment is open until the chain ends it, however often and for whatever reason it is
/// refused.
#[tokio::test]
async fn a_refusal_ends_nothing_while_the_authorization_can_be_used() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let composed = composed(&stage, &server);
    let refusals = [
        "invalid_exact_evm_payload_signature",
        "insufficient_funds",
        "invalid_exact_evm_nonce_already_used",
    ];
    stage.plays("/settle", refusals.map(|reason| json(refused(reason, ""))));
    let (sent_by_others, unused) = (Draft::new(USDC).nonce(1), Draft::new(USDC).nonce(2));
    for _ in refusals {
        let outcome = composed.reconcile(&unused.sign(), None, NOW).await;
        assert_eq!(outcome.outcome(), "undecided");
    }
    transfer(&chain, &sent_by_others, PAYEE.address);
    let outcome = composed.reconcile(&sent_by_others.sign(), None, NOW).await;
    assert_eq!(outcome.outcome(), "settled");
    chain.advance_time(330);
    chain.mine();
    let outcome = composed.reconcile(&unused.sign(), None, NOW).await;
    assert_eq!(outcome.outcome(), "not_settled");
    assert_eq!(stage.bodies("/settle").len(), refusals.len());
}

/// A facilitator reports success when it broadcasts, and then the transaction fails.
#[tokio::test]
async fn a_receipt_of_a_failed_transaction_is_no_payment() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let composed = composed(&stage, &server);
    let spent = Draft::new(USDC).nonce(9);
    transfer(&chain, &spent, PAYEE.address);
    let failed = transfer_in_vain(&chain, &spent).to_string();
    stage.plays("/settle", vec![json(settled().replace(HASH, &failed)); 2]);

    let payment = payment(USDC);
    let outcome = composed.settle(&payment).await;
    let (hash, cause) = unknown(&outcome);
    assert_eq!((hash, cause.code()), (Some(failed.as_str()), "malformed"));
    // The facilitator repeats its answer, but the payment has not happened.
    let outcome = composed.reconcile(&payment, hash, NOW).await;
    assert_eq!(outcome.outcome(), "undecided");
    chain.advance_time(330);
    chain.mine();
    let outcome = composed.reconcile(&payment, hash, NOW).await;
    assert_eq!(outcome.outcome(), "not_settled");
}

#[tokio::test]
async fn an_unreachable_facilitator_is_sent_nothing() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let backend = Facilitator::new(&unused_address().await, Network::evm(196), timeouts()).unwrap();
    let composed = WithChain::new(backend, Some(reader(&server)), timeouts());
    let outcome = composed.settle(&payment(USDC)).await;
    assert_eq!(not_sent(&outcome).code(), "unreachable");
}

/// Anybody can invent the signature of a contract wallet. So the facilitator is asked only after
/// the chain agrees.
#[tokio::test]
async fn the_chain_judges_a_wallets_signature_before_the_facilitator() {
    let wallet = DEV_ACCOUNTS[5].address;
    let chain = builder()
        .wallet(wallet, BUYER.address)
        .holder(USDC_ADDRESS, wallet, U256::from(PRICE))
        .build()
        .unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let composed = composed(&stage, &server);
    let draft = Draft {
        from: wallet,
        ..Draft::new(USDC)
    };
    let forged = draft.with_signature(&[7; 130]);
    assert_eq!(
        composed.verify(&forged, U256::ZERO, NOW).await,
        invalid(Reason::InvalidExactEvmPayloadSignature)
    );
    chain.inject(InjectedFault::new("eth_call", BadAnswer::Close));
    let good = draft.with_signature(&wrap_6492(&draft.signature()));
    let verification = composed.verify(&good, U256::ZERO, NOW).await;
    assert!(
        matches!(verification, Verification::Unavailable { .. }),
        "{verification:?}"
    );
    assert!(stage.seen().is_empty());

    stage.plays("/verify", [json(VALID)]);
    assert_eq!(
        composed.verify(&good, U256::ZERO, NOW).await,
        Verification::Valid
    );
    assert_eq!(stage.bodies("/verify").len(), 1);
}

#[tokio::test]
async fn a_session_payment_costs_no_more_than_its_first_refusal() {
    let (stage, node) = (Stage::open().await, Stage::open().await);
    let rpc = ChainReader::new(
        &node.url().into(),
        &terms(),
        timeouts(),
        ChainOptions::default(),
    );
    let backend = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
    let unlisted = WithChain::new(backend, Some(rpc.unwrap()), timeouts());
    stage.plays("/supported", [json(r#"{"kinds":[]}"#)]);
    for _ in 0..2 {
        assert_eq!(
            unlisted.verify(&deferred(USDC), U256::ZERO, NOW).await,
            invalid(Reason::UnsupportedScheme)
        );
    }
    assert!(node.seen().is_empty());
    assert_eq!(stage.seen().len(), 1);

    // Now the scheme is listed, and the authorization is used.
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    transfer(&chain, &Draft::new(USDC), PAYEE.address);
    let listed = composed(&stage, &server);
    let kinds = r#"{"kinds":[{"x402Version":2,"scheme":"aggr_deferred","network":"eip155:196"}]}"#;
    stage.plays("/supported", [json(kinds)]);
    assert_eq!(
        listed.verify(&deferred(USDC), U256::ZERO, NOW).await,
        invalid(Reason::InvalidExactEvmNonceAlreadyUsed)
    );
    assert!(stage.bodies("/verify").is_empty());
}

#[tokio::test]
async fn the_facilitator_alone_decides_deferred_payments() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let kinds = r#"{"kinds":[{"x402Version":2,"scheme":"aggr_deferred","network":"eip155:196"}]}"#;
    let stored = r#"{"success":true,"transaction":"","network":"eip155:196"}"#;
    stage.plays("/supported", [json(kinds)]);
    stage.plays("/verify", [json(VALID)]);
    stage.plays("/settle", [json(stored), json(stored)]);
    let composed = composed(&stage, &server);
    let payment = deferred(USDC);
    assert_eq!(
        composed.verify(&payment, U256::ZERO, NOW).await,
        Verification::Valid
    );
    assert!(matches!(
        composed.settle(&payment).await,
        Settlement::Settled(_)
    ));
    assert_eq!(
        composed.reconcile(&payment, None, NOW).await.outcome(),
        "settled"
    );
}

#[tokio::test]
async fn readiness_needs_the_facilitator_and_the_chain() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let kinds = r#"{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:196"}]}"#;
    stage.plays("/supported", [json(kinds)]);
    let composed = composed(&stage, &server);
    chain.inject(InjectedFault::new("eth_chainId", BadAnswer::Close));
    assert!(matches!(
        composed.readiness().await,
        Readiness::NotReady { .. }
    ));
    assert_eq!(
        composed.readiness().await,
        Readiness::Ready {
            aggr_deferred: false,
            settlements_left: None,
        }
    );
}
