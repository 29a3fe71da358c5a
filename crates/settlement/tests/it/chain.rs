//! Tests of the chain reader against an EVM in this process.

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::SolValue;
use dev_chain::{
    BUYER, BadAnswer, DEV_ACCOUNTS, DevChain, DevChainBuilder, InjectedFault, PAYEE, Reuse,
    RpcServer, TokenSpec, USDC as USDC_ADDRESS, USDG as USDG_ADDRESS, USDT0 as USDT0_ADDRESS,
};
use settlement::{
    AnySettler, Cause, ChainOptions, ChainReader, Clock, LogSearch, SettlementConfig, Timeouts,
    Verification,
};
use test_support::eventually;
use x402_wire::{Reason, Terms};

use crate::payments::{Draft, NOW, PRICE, USDC, USDG, USDT0, deferred, payment, terms, timeouts};

const WALLET: Address = address!("0x00000000000000000000000000000000000a11e7");

pub(crate) fn builder() -> DevChainBuilder {
    DevChain::builder().chain_196_assets().clock(|| NOW)
}

pub(crate) async fn serve(chain: &DevChain) -> RpcServer {
    chain.serve("127.0.0.1:0".parse().unwrap()).await.unwrap()
}

/// Waits until this many transactions wait for a block.
pub(crate) async fn waiting(chain: &DevChain, count: usize) {
    let waiting = async || (chain.waiting().len() >= count).then_some(());
    eventually(format_args!("{count} waiting transactions"), waiting).await;
}

/// Makes blocks until they contain this many transactions.
pub(crate) async fn mine_until(chain: &DevChain, count: usize) {
    let mined = async || {
        chain.mine();
        (chain.transactions().len() >= count).then_some(())
    };
    eventually(format_args!("{count} mined transactions"), mined).await;
}

pub(crate) fn reader_with(server: &RpcServer, timeouts: Timeouts, terms: &Terms) -> ChainReader {
    ChainReader::new(&server.url().into(), terms, timeouts, options()).unwrap()
}

/// Makes the options of the tests: ranges so small that every search needs several, and the clock
/// of the tests.
pub(crate) fn options() -> ChainOptions {
    ChainOptions {
        log_search: LogSearch {
            blocks_per_request: 3,
            seconds: 900,
        },
        clock: Clock::new(|| NOW),
        ..ChainOptions::default()
    }
}

pub(crate) fn reader(server: &RpcServer) -> ChainReader {
    reader_with(server, timeouts(), &terms())
}

pub(crate) fn invalid(reason: Reason) -> Verification {
    Verification::Invalid {
        reason,
        message: None,
    }
}

#[tokio::test]
async fn the_configured_assets_are_confirmed_once() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let reader = reader(&server);
    reader.confirm().await.unwrap();
    // From here on the node answers no such request.
    for method in ["eth_chainId", "eth_getCode", "eth_call"] {
        chain.inject(InjectedFault::new(method, BadAnswer::Close).times(100));
    }
    reader.confirm().await.unwrap();
}

#[tokio::test]
async fn a_wrong_name_is_refused_by_name_at_the_start() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    for (index, name, version) in [
        (USDG, "USDG", "1"),
        (USDC, "USD Coin", "1"),
        (USDT0, "USDT", "1"),
    ] {
        let mut terms = terms();
        terms.assets[index].name = name.to_owned();
        terms.assets[index].version = version.to_owned();
        let config = SettlementConfig {
            facilitator_url: Some("http://127.0.0.1:1".to_owned()),
            rpc_url: Some(server.url().into()),
            timeouts: timeouts(),
            ..SettlementConfig::default()
        };
        let error = AnySettler::connect(config, &terms).await.unwrap_err();
        assert_eq!(error.code(), "asset_mismatch");
        let text = error.to_string();
        assert!(
            text.contains(name) && text.contains(&terms.assets[index].address.to_string()),
            "{text}"
        );
    }
}

#[tokio::test]
async fn an_address_without_a_token_is_refused() {
    let chain = builder()
        .code(WALLET, Bytes::from_static(&[0x00]))
        .build()
        .unwrap();
    let server = serve(&chain).await;
    for (address, code) in [
        (PAYEE.address, "asset_without_code"),
        (WALLET, "asset_without_domain_separator"),
    ] {
        let mut terms = terms();
        terms.assets[USDC].address = address;
        let cause = reader_with(&server, timeouts(), &terms)
            .confirm()
            .await
            .unwrap_err();
        assert_eq!(cause.code(), code);
    }
}

#[tokio::test]
async fn another_chain_is_refused_at_the_start() {
    let chain = builder().chain_id(195).build().unwrap();
    let server = serve(&chain).await;
    let config = SettlementConfig {
        facilitator_url: Some("http://127.0.0.1:1".to_owned()),
        rpc_url: Some(server.url().into()),
        timeouts: timeouts(),
        ..SettlementConfig::default()
    };
    let error = AnySettler::connect(config, &terms()).await.unwrap_err();
    assert_eq!(error.code(), "settlement_chain_mismatch");
}

#[tokio::test]
async fn an_endpoint_that_is_down_at_the_start_is_asked_again() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    chain.inject(InjectedFault::new("eth_chainId", BadAnswer::Close));
    let reader = reader(&server);
    assert_eq!(reader.confirm().await.unwrap_err().code(), "interrupted");
    assert_eq!(
        reader.verify(&payment(USDT0), U256::ZERO).await,
        Verification::Valid
    );
}

#[tokio::test]
async fn a_covered_unused_payment_is_valid_in_every_asset() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    for asset in [USDT0, USDC, USDG] {
        assert_eq!(
            reader(&server).verify(&payment(asset), U256::ZERO).await,
            Verification::Valid
        );
    }
    assert_eq!(
        reader(&server).verify(&deferred(USDT0), U256::ZERO).await,
        Verification::Valid
    );
}

#[tokio::test]
async fn a_payer_without_the_money_is_refused() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let poor = DEV_ACCOUNTS[4];
    let payment = Draft {
        key: poor.key,
        from: poor.address,
        ..Draft::new(USDC)
    }
    .sign();
    let verification = reader(&server).verify(&payment, U256::ZERO).await;
    assert_eq!(verification, invalid(Reason::InsufficientFunds));
}

#[tokio::test]
async fn a_node_that_does_not_answer_makes_the_judgement_unavailable() {
    let raw = |status, body: &str| BadAnswer::Raw {
        status,
        body: body.as_bytes().to_vec(),
    };
    let limit = r#"{"code":-32005,"message":"limit exceeded"}"#;
    for (answer, code) in [
        (BadAnswer::Close, "interrupted"),
        (raw(502, "<html>"), "http_status"),
        (raw(502, r#"{"result":"0x"}"#), "http_status"),
        (raw(200, "<html>"), "malformed"),
        (raw(200, "{}"), "malformed"),
        (raw(200, r#"{"result":null}"#), "malformed"),
        (raw(200, r#"["0x"]"#), "malformed"),
        (
            raw(200, &format!(r#"{{"result":"0x","error":{limit}}}"#)),
            "malformed",
        ),
        (
            BadAnswer::Error {
                code: -32005,
                message: "limit exceeded".to_owned(),
            },
            "rpc_refused",
        ),
        (raw(429, &format!(r#"{{"error":{limit}}}"#)), "rpc_refused"),
        (raw(200, &format!(r#"{{"result":{limit}}}"#)), "rpc_refused"),
    ] {
        let chain = builder().build().unwrap();
        let server = serve(&chain).await;
        let reader = reader(&server);
        reader.confirm().await.unwrap();
        chain.inject(InjectedFault::new("eth_call", answer.clone()).times(2));
        let Verification::Unavailable { cause } = reader.verify(&payment(USDT0), U256::ZERO).await
        else {
            panic!("{answer:?}");
        };
        assert_eq!(cause.code(), code);
        assert!(!cause.to_string().contains("127.0.0.1"), "{cause}");
    }
}

/// Makes a payment of the wallet contract at [`WALLET`], whose owner is the buyer's key.
fn wallet_draft() -> Draft {
    Draft {
        from: WALLET,
        ..Draft::new(USDC)
    }
}

fn wallet_chain() -> DevChain {
    builder()
        .wallet(WALLET, BUYER.address)
        .holder(USDC_ADDRESS, WALLET, U256::from(PRICE))
        .build()
        .unwrap()
}

/// Wraps a signature by ERC-6492: the factory, its calldata and the inner signature, then the
/// suffix.
pub(crate) fn wrap_6492(inner: &[u8]) -> Vec<u8> {
    let parts = (
        PAYEE.address,
        Bytes::from_static(&[1, 2, 3]),
        Bytes::copy_from_slice(inner),
    );
    let suffix = [0x64, 0x92].repeat(16);
    [parts.abi_encode_params(), suffix].concat()
}

#[tokio::test]
async fn a_contract_wallet_is_asked_about_its_signature() {
    let chain = wallet_chain();
    let server = serve(&chain).await;
    let reader = reader(&server);
    let draft = wallet_draft();
    let good = draft.with_signature(&wrap_6492(&draft.signature()));
    assert_eq!(reader.verify(&good, U256::ZERO).await, Verification::Valid);

    let foreign = Draft {
        key: DEV_ACCOUNTS[5].key,
        ..wallet_draft()
    };
    let bad = foreign.with_signature(&wrap_6492(&foreign.signature()));
    assert_eq!(
        reader.verify(&bad, U256::ZERO).await,
        invalid(Reason::InvalidExactEvmPayloadSignature)
    );
    // The signature is too long for the wallet. Whether the wallet reverts or answers no, the
    // payment is refused.
    let long = draft.with_signature(&[7; 130]);
    assert_eq!(
        reader.verify(&long, U256::ZERO).await,
        invalid(Reason::InvalidExactEvmPayloadSignature)
    );
    let damaged = draft.with_signature(&[[0xff; 64].as_slice(), &[0x64, 0x92].repeat(16)].concat());
    assert_eq!(
        reader.verify(&damaged, U256::ZERO).await,
        invalid(Reason::InvalidExactEvmPayloadSignature)
    );
}

#[tokio::test]
async fn a_wallet_that_does_not_exist_is_not_deployed() {
    let chain = builder()
        .holder(USDC_ADDRESS, WALLET, U256::from(PRICE))
        .build()
        .unwrap();
    let server = serve(&chain).await;
    let draft = wallet_draft();
    let payment = draft.with_signature(&wrap_6492(&draft.signature()));
    let verification = reader(&server).verify(&payment, U256::ZERO).await;
    assert_eq!(
        verification,
        invalid(Reason::InvalidExactEvmPayloadUndeployedSmartWallet)
    );
}

#[tokio::test]
async fn an_asset_that_is_not_configured_cannot_be_judged() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let mut fewer = terms();
    fewer.assets.remove(USDT0);
    let reader = reader_with(&server, timeouts(), &fewer);
    let expected = Verification::Unavailable {
        cause: Cause::UnknownAsset {
            asset: USDT0_ADDRESS,
        },
    };
    assert_eq!(reader.verify(&payment(USDT0), U256::ZERO).await, expected);
}

#[tokio::test]
async fn one_wrong_asset_does_not_stop_the_others() {
    let chain = DevChain::builder()
        .clock(|| NOW)
        .token(TokenSpec {
            address: USDG_ADDRESS,
            name: "USDG".to_owned(),
            symbol: "USDG".to_owned(),
            version: "1".to_owned(),
            reuse: Reuse::Returns,
        })
        .token(TokenSpec {
            address: USDC_ADDRESS,
            name: "USD Coin".to_owned(),
            symbol: "USDC".to_owned(),
            version: "2".to_owned(),
            reuse: Reuse::Reverts,
        })
        .holder(USDC_ADDRESS, BUYER.address, U256::from(PRICE))
        .build()
        .unwrap();
    let server = serve(&chain).await;
    let reader = reader(&server);
    let Verification::Unavailable { cause } = reader.verify(&payment(USDG), U256::ZERO).await
    else {
        panic!()
    };
    assert_eq!(cause.code(), "asset_mismatch");
    assert_eq!(
        reader.verify(&payment(USDC), U256::ZERO).await,
        Verification::Valid
    );
}
