//! Tests of a burn on Base, its attestation by the replay, and the mint on Arbitrum.

use std::net::SocketAddr;

use alloy_primitives::{B256, Bytes, U256};
use alloy_sol_types::SolCall;
use data_sources::{
    Mode, VenueConfig,
    circle::{Circle, CircleConfig},
    transport::Transport,
};
use dev_chain::{
    BUYER, DevChain, GAS_PAYER,
    abi::{MessageTransmitter, TokenMessenger},
    arbitrum, base, cctp,
    iris::Iris,
};
use plan_builder::ports::BridgeFees;
use replay::{Live, LiveReply, Recordings, ReplayServer};
use serde_json::Value;

use crate::execution::{NOW, approve, clock, held, send};

#[tokio::test]
async fn a_burn_is_attested_through_the_replay_and_minted() {
    let source = DevChain::builder()
        .base_stage()
        .clock(|| NOW)
        .build()
        .unwrap();
    let destination = DevChain::builder()
        .arbitrum_stage()
        .clock(|| NOW)
        .build()
        .unwrap();
    let iris = Iris::new(cctp::ATTESTER)
        .unwrap()
        .watching(base::DOMAIN, &source);
    let service = iris.clone();
    let live = Live::new("iris-api.circle.com", move |method, path| {
        // The recordings have the fees, so this responder leaves other paths to them.
        let path = path.starts_with("/v2/messages/").then_some(path)?;
        let reply = service.answer(method, path)?;
        Some(LiveReply {
            status: reply.status,
            body: reply.body,
        })
    });
    let recordings = Recordings::embedded().unwrap();
    let replay = ReplayServer::start_with(recordings, vec![live])
        .await
        .unwrap();
    let config = CircleConfig {
        base_url: replay.base_url("iris-api.circle.com"),
        common: VenueConfig {
            mode: Mode::Replay,
            ..VenueConfig::default()
        },
    };
    let circle = Circle::new(&Transport::new().unwrap(), config, clock()).unwrap();
    let fees = circle
        .fees(base::DOMAIN, arbitrum::DOMAIN, false)
        .await
        .unwrap();
    assert_eq!(fees.fast_bps.unwrap().to_string(), "1.3");
    assert!(replay.served_of("circle") > 0);

    let (user, value) = (BUYER.address, U256::from(25_000_000));
    approve(&source, user, base::USDC, cctp::TOKEN_MESSENGER, value);
    let burn = TokenMessenger::depositForBurnCall {
        amount: value,
        destinationDomain: arbitrum::DOMAIN,
        mintRecipient: user.into_word(),
        burnToken: base::USDC,
        destinationCaller: B256::ZERO,
        // 1.3 basis points of the amount, and a tenth more.
        maxFee: U256::from(3_575),
        minFinalityThreshold: 1000,
    };
    let hash = send(
        &source,
        user,
        cctp::TOKEN_MESSENGER,
        &burn.abi_encode().into(),
    )
    .unwrap();
    let url = circle_url(&replay, hash);
    iris.miss_first(1);
    assert_eq!(
        test_support::http_client()
            .get(&url)
            .send()
            .await
            .unwrap()
            .status(),
        404
    );
    let answer: Value = serde_json::from_slice(
        &test_support::http_client()
            .get(&url)
            .send()
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap(),
    )
    .unwrap();
    let field = |name: &str| -> Bytes {
        answer["messages"][0][name]
            .as_str()
            .unwrap()
            .parse()
            .unwrap()
    };
    let mint = MessageTransmitter::receiveMessageCall {
        message: field("message"),
        attestation: field("attestation"),
    };
    let before = held(&destination, arbitrum::USDC, user);
    let data = mint.abi_encode().into();
    send(
        &destination,
        GAS_PAYER.address,
        cctp::MESSAGE_TRANSMITTER,
        &data,
    )
    .unwrap();
    let minted = held(&destination, arbitrum::USDC, user) - before;
    assert_eq!(minted, value - U256::from(3_250));
}

fn circle_url(replay: &ReplayServer, transaction: B256) -> String {
    let base = replay.base_url("iris-api.circle.com");
    format!(
        "{base}/v2/messages/{}?transactionHash={transaction}",
        base::DOMAIN
    )
}

#[tokio::test]
async fn the_attestation_service_also_works_alone() {
    let chain = DevChain::builder()
        .base_stage()
        .clock(|| NOW)
        .build()
        .unwrap();
    let iris = Iris::new(cctp::ATTESTER)
        .unwrap()
        .watching(base::DOMAIN, &chain);
    let server = iris
        .serve(SocketAddr::from(([127, 0, 0, 1], 0)))
        .await
        .unwrap();
    let config = CircleConfig {
        base_url: server.url(),
        ..CircleConfig::default()
    };
    let circle = Circle::new(&Transport::new().unwrap(), config, clock()).unwrap();
    iris.set_fast_fee(205);
    let fees = circle.fees(6, 3, true).await.unwrap();
    assert_eq!(fees.fast_bps.unwrap().to_string(), "2.05");
    assert_eq!(fees.forward_fee, Some(U256::from(231_005)));
    assert_eq!(circle.fees(7, 3, false).await.unwrap().fast_bps, None);
    let allowance = circle.fast_allowance().await.unwrap();
    assert_eq!(allowance, U256::from(52_455_615_650_179_u64));
}
