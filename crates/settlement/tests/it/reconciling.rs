//! Tests that decide a payment whose outcome was lost from the chain.

use alloy_primitives::U256;
use dev_chain::{BadAnswer, DEV_ACCOUNTS, DevChain, InjectedFault, PAYEE, RpcServer};
use settlement::{
    ChainOptions, ChainReader, DECISION_MARGIN_SECONDS, Facilitator, Finding, LogSearch,
    Reconciliation, Settler, WithChain,
};
use x402_wire::{Network, Reason};

use crate::calls::{cancel, transfer};
use crate::chain::{builder, options, reader, serve};
use crate::facilitator::{HASH, refused};
use crate::onchain::settler;
use crate::payments::{Draft, NOW, PRICE, USDC, USDG, USDT0, terms, timeouts};
use crate::stage::{Act, Stage, json};

fn composed(stage: &Stage, server: &RpcServer) -> WithChain<Facilitator> {
    let backend = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
    WithChain::new(backend, Some(reader(server)), timeouts())
}

fn transaction(outcome: &Reconciliation) -> &str {
    match outcome {
        Reconciliation::Settled(receipt) => &receipt.transaction,
        other => panic!("expected a settled payment, observed {other:?}"),
    }
}

fn reason(outcome: Reconciliation) -> Reason {
    match outcome {
        Reconciliation::NotSettled { reason } => reason,
        other => panic!("expected an unsettled payment, observed {other:?}"),
    }
}

/// Adds blocks with unrelated transactions, so that a search must go back.
fn pass_blocks(chain: &DevChain, count: usize) {
    for _ in 0..count {
        chain.mine();
    }
}

#[tokio::test]
async fn a_payment_that_went_through_is_found_without_asking_the_facilitator() {
    for (asset, hint) in [(USDT0, true), (USDC, false), (USDG, false)] {
        let chain = builder().build().unwrap();
        let server = serve(&chain).await;
        let stage = Stage::open().await;
        let draft = Draft::new(asset);
        let sent = transfer(&chain, &draft, PAYEE.address).to_string();
        pass_blocks(&chain, 20);
        let hint = hint.then_some(sent.as_str());
        let outcome = composed(&stage, &server)
            .reconcile(&draft.sign(), hint, NOW)
            .await;
        assert_eq!(transaction(&outcome), sent);
        assert!(stage.seen().is_empty());
    }
}

/// A facilitator may name the hash of any transaction.
#[tokio::test]
async fn a_wrong_hash_is_only_a_hint() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let (ours, other) = (Draft::new(USDC), Draft::new(USDC).nonce(2));
    let sent = transfer(&chain, &ours, PAYEE.address).to_string();
    let foreign = transfer(&chain, &other, PAYEE.address).to_string();
    for hint in [foreign.as_str(), HASH, "not a hash", ""] {
        let outcome = composed(&stage, &server)
            .reconcile(&ours.sign(), Some(hint), NOW)
            .await;
        assert_eq!(transaction(&outcome), sent);
    }
}

#[tokio::test]
async fn a_cancelled_authorization_has_not_paid() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let draft = Draft::new(USDC);
    cancel(&chain, &draft);
    pass_blocks(&chain, 7);
    let outcome = composed(&stage, &server)
        .reconcile(&draft.sign(), None, NOW)
        .await;
    assert_eq!(reason(outcome), Reason::Cancelled);
    assert!(stage.seen().is_empty());
}

/// The payer signs two transfers with one nonce, and uses the second one to pay somebody else.
#[tokio::test]
async fn a_nonce_that_paid_somebody_else_has_not_paid_us() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let draft = Draft::new(USDG);
    let hash = transfer(&chain, &draft, DEV_ACCOUNTS[7].address).to_string();
    for hint in [None, Some(hash.as_str())] {
        let outcome = composed(&stage, &server)
            .reconcile(&draft.sign(), hint, NOW)
            .await;
        assert_eq!(reason(outcome), Reason::Cancelled);
    }
}

#[tokio::test]
async fn a_use_that_the_logs_do_not_show_is_undecidable_in_the_end() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let draft = Draft::new(USDC);
    transfer(&chain, &draft, PAYEE.address);
    // The search covers only the blocks of the authorization's last minute, and of the time after
    // it.
    for _ in 0..300 {
        chain.advance_time(1);
        chain.mine();
    }
    let options = ChainOptions {
        log_search: LogSearch {
            blocks_per_request: 7,
            seconds: 60,
        },
        ..options()
    };
    let url = server.url().into();
    let reader = ChainReader::new(&url, &terms(), timeouts(), options).unwrap();
    let backend = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
    let composed = WithChain::new(backend, Some(reader), timeouts());
    let payment = draft.sign();
    let end = NOW + 300 + DECISION_MARGIN_SECONDS;
    for (now, expected) in [(end - 1, "undecided"), (end, "undecidable")] {
        let outcome = composed.reconcile(&payment, None, now).await;
        assert_eq!(outcome.outcome(), expected);
        let (Reconciliation::Undecided { cause, .. } | Reconciliation::Undecidable { cause, .. }) =
            outcome
        else {
            panic!("{outcome:?}")
        };
        assert_eq!(cause.code(), "transaction_not_located");
    }
}

/// The authorization's time limits the search, however many blocks that time has.
#[tokio::test]
async fn a_use_is_found_by_its_time_whatever_number_of_blocks_follow() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let draft = Draft::new(USDC);
    pass_blocks(&chain, 100);
    let sent = transfer(&chain, &draft, PAYEE.address).to_string();
    pass_blocks(&chain, 900);
    chain.advance_time(100_000);
    pass_blocks(&chain, 1_000);
    let options = ChainOptions {
        log_search: LogSearch {
            blocks_per_request: 500,
            seconds: 400,
        },
        ..options()
    };
    let url = server.url().into();
    let reader = ChainReader::new(&url, &terms(), timeouts(), options).unwrap();
    let found = reader.find(&draft.sign(), None).await.unwrap();
    assert!(
        matches!(&found, Finding::Settled(receipt) if receipt.transaction == sent),
        "{found:?}"
    );
}

#[tokio::test]
async fn a_node_that_refuses_wide_searches_is_asked_for_fewer_blocks() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let draft = Draft::new(USDC);
    let sent = transfer(&chain, &draft, PAYEE.address).to_string();
    pass_blocks(&chain, 30);
    let options = ChainOptions::default();
    let url = server.url().into();
    let reader = ChainReader::new(&url, &terms(), timeouts(), options).unwrap();
    let wide = "query exceeds the range of blocks".to_owned();
    let refusal = BadAnswer::Error {
        code: -32005,
        message: wide,
    };
    chain.inject(InjectedFault::new("eth_getLogs", refusal.clone()).times(3));
    let found = reader.find(&draft.sign(), None).await.unwrap();
    assert!(
        matches!(&found, Finding::Settled(receipt) if receipt.transaction == sent),
        "{found:?}"
    );

    chain.inject(InjectedFault::new("eth_getLogs", refusal).times(50));
    assert_eq!(
        reader.find(&draft.sign(), None).await.unwrap_err().code(),
        "rpc_refused"
    );
}

#[tokio::test]
async fn an_unused_authorization_is_settled_through_the_backend() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let draft = Draft::new(USDC);
    // At first the facilitator has not sent the payment. Then it has.
    stage.plays(
        "/settle",
        [Act::Close, json(refused("transaction_failed", ""))],
    );
    let composed = composed(&stage, &server);
    for code in ["interrupted", "refusal_inconclusive"] {
        let outcome = composed.reconcile(&draft.sign(), Some(HASH), NOW).await;
        let Reconciliation::Undecided { transaction, cause } = outcome else {
            panic!()
        };
        assert_eq!((transaction.as_deref(), cause.code()), (Some(HASH), code));
    }
    let hash = transfer(&chain, &draft, PAYEE.address).to_string();
    let outcome = composed.reconcile(&draft.sign(), Some(HASH), NOW).await;
    assert_eq!(transaction(&outcome), hash);
    assert_eq!(stage.bodies("/settle").len(), 2);
}

#[tokio::test]
async fn an_unused_authorization_is_given_up_by_the_chains_clock() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    stage.plays("/settle", [Act::Close, Act::Close]);
    let composed = composed(&stage, &server);
    let payment = Draft::new(USDC).sign();
    // Our clock may be wrong, so the chain's clock decides. When the validity ends, there is still
    // a margin.
    for (advance, settles) in [(0, 1), (300, 2)] {
        chain.advance_time(advance);
        chain.mine();
        let outcome = composed.reconcile(&payment, None, NOW + 10_000).await;
        assert_eq!(outcome.outcome(), "undecided");
        assert_eq!(stage.bodies("/settle").len(), settles);
    }
    chain.advance_time(30);
    chain.mine();
    let outcome = composed.reconcile(&payment, None, NOW).await;
    assert_eq!(
        reason(outcome),
        Reason::InvalidExactEvmPayloadAuthorizationValidBefore
    );
    assert_eq!(stage.bodies("/settle").len(), 2);
}

#[tokio::test]
async fn our_own_settler_decides_in_the_same_way() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let settler = settler(&server);
    let unused = Draft::new(USDC).nonce(1);
    let outcome = settler.reconcile(&unused.sign(), Some(HASH), NOW).await;
    let sent = chain.transactions()[0].hash.to_string();
    assert_eq!(transaction(&outcome), sent);
    let again = settler.reconcile(&unused.sign(), None, NOW).await;
    assert_eq!(transaction(&again), sent);

    let cancelled = Draft::new(USDC).nonce(2);
    cancel(&chain, &cancelled);
    let outcome = settler.reconcile(&cancelled.sign(), None, NOW).await;
    assert_eq!(reason(outcome), Reason::Cancelled);

    let expired = Draft::new(USDC).nonce(3);
    chain.advance_time(330);
    chain.mine();
    let outcome = settler.reconcile(&expired.sign(), None, NOW).await;
    assert_eq!(
        reason(outcome),
        Reason::InvalidExactEvmPayloadAuthorizationValidBefore
    );
    let balance = chain
        .balance_of(unused.requirements().asset, PAYEE.address)
        .unwrap();
    assert_eq!(balance, U256::from(PRICE));
}

#[tokio::test]
async fn a_chain_that_cannot_be_read_decides_nothing() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let draft = Draft::new(USDC);
    transfer(&chain, &draft, PAYEE.address);
    let composed = composed(&stage, &server);
    composed.chain().unwrap().confirm().await.unwrap();
    for method in [
        "eth_getBlockByNumber",
        "eth_call",
        "eth_getLogs",
        "eth_getTransactionReceipt",
    ] {
        chain.inject(InjectedFault::new(method, BadAnswer::Close));
        let outcome = composed.reconcile(&draft.sign(), None, NOW).await;
        assert_eq!(outcome.outcome(), "undecided", "{method}");
    }
    assert!(stage.seen().is_empty());
    assert_eq!(
        composed.reconcile(&draft.sign(), None, NOW).await.outcome(),
        "settled"
    );
}
