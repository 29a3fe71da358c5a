//! Tests that run computed swaps on chain 196, on Base and on Arbitrum.

use alloy_primitives::{Bytes, U256};
use calldata_checks::BasisPoints;
use data_sources::{
    Mode, ReviewedContracts, SourceToken, SwapRequest, VenueConfig,
    lifi::{Lifi, LifiConfig},
    okx::{Okx, OkxConfig},
    transport::Transport,
};
use dev_chain::{
    BUYER, DevChain, MINTER,
    abi::DexRouter,
    arbitrum, base,
    xlayer::{self, USDG, USDT0, WOKB},
};
use plan_builder::ports::{SwapAsk, SwapQuotes};
use replay::{Recordings, ReplayServer};

use crate::execution::{NOW, approve, clock, held, send, xlayer_stage};

async fn okx(reviewed: ReviewedContracts) -> (ReplayServer, Okx) {
    let recordings = Recordings::embedded().unwrap().at(NOW);
    let replay = ReplayServer::start(recordings).await.unwrap();
    let config = OkxConfig {
        base_url: replay.base_url("web3.okx.com"),
        mode: Mode::Replay,
        reviewed,
        ..OkxConfig::default()
    };
    let okx = Okx::new(&Transport::new().unwrap(), config, clock()).unwrap();
    (replay, okx)
}

/// The default set of reviewed contracts, with WOKB as one more token that swaps may start from.
fn reviewed() -> ReviewedContracts {
    let mut reviewed = ReviewedContracts::default();
    reviewed.source_tokens.push(SourceToken {
        address: WOKB,
        symbol: "WOKB".to_owned(),
        decimals: 18,
    });
    reviewed
}

#[tokio::test]
async fn every_quoted_swap_of_chain_196_executes_at_its_quote() {
    let (_replay, okx) = okx(reviewed()).await;
    let chain = xlayer_stage();
    let user = BUYER.address;
    for (from, to, amount, slippage) in [
        (USDG, WOKB, "100.000001", None),
        (USDT0, USDG, "50", Some("0.5")),
        (USDT0, WOKB, "0.000001", Some("50")),
        (USDG, USDT0, "12.345678", Some("0.1")),
        (WOKB, USDG, "0.123456789012345678", None),
        (WOKB, USDT0, "0.2", Some("3")),
    ] {
        let request = SwapRequest::parse(from, to, amount, user, slippage, &reviewed()).unwrap();
        let quote = okx.swap(&request).await.unwrap().value;
        let approval = okx.approval(from, request.amount).await.unwrap().value;
        let before = (held(&chain, from, user), held(&chain, to, user));
        send(&chain, user, from, &Bytes::from(approval.data.to_vec())).unwrap();
        send(&chain, user, quote.to, &quote.data).unwrap();
        assert_eq!(before.0 - held(&chain, from, user), request.amount);
        assert_eq!(
            held(&chain, to, user) - before.1,
            quote.amount_out,
            "{from} {to}"
        );
        assert!(quote.min_amount_out <= quote.amount_out);
    }
}

#[tokio::test]
async fn an_outdated_quote_reverts_and_a_hostile_router_does_not() {
    let (_replay, okx) = okx(ReviewedContracts::default()).await;
    let chain = xlayer_stage();
    let (user, amount) = (BUYER.address, U256::from(100_000_000));
    let reviewed = ReviewedContracts::default();
    let request = SwapRequest::parse(USDG, WOKB, "100", user, Some("1"), &reviewed).unwrap();
    let quote = okx.swap(&request).await.unwrap().value;
    approve(&chain, user, USDG, xlayer::DEX_APPROVE_PROXY, amount);
    let rate = |numerator: u64| DexRouter::setRateCall {
        tokenIn: USDG,
        tokenOut: WOKB,
        numerator: U256::from(numerator),
        denominator: U256::from(100_000_000),
    };
    let router = xlayer::DEX_ROUTER;
    chain
        .call_as(MINTER.address, router, &rate(800_000_000_000_000_000))
        .unwrap();
    let said = send(&chain, user, quote.to, &quote.data).unwrap_err();
    assert_eq!(said, "execution reverted: Min return not reached");
    let half = DexRouter::setShortfallCall {
        basisPoints: U256::from(5_000),
    };
    chain.call_as(MINTER.address, router, &half).unwrap();
    send(&chain, user, quote.to, &quote.data).unwrap();
    assert_eq!(
        held(&chain, WOKB, user),
        U256::from(400_000_000_000_000_000_u64)
    );
    // This call is mined after the deadline of its quote.
    let late = okx.swap(&request).await.unwrap().value;
    chain.advance_time(601);
    let said = send(&chain, user, late.to, &late.data).unwrap_err();
    assert_eq!(said, "execution reverted: Route: expired");
}

#[tokio::test]
async fn a_quote_on_base_or_arbitrum_executes_at_the_quote() {
    let replay = ReplayServer::start(Recordings::embedded().unwrap())
        .await
        .unwrap();
    let config = LifiConfig {
        base_url: format!("{}/v1", replay.base_url("li.quest")),
        common: VenueConfig {
            mode: Mode::Replay,
            ..VenueConfig::default()
        },
        ..LifiConfig::default()
    };
    let lifi = Lifi::new(&Transport::new().unwrap(), config, clock()).unwrap();
    let (user, value) = (BUYER.address, U256::from(1_234_567_890));
    let empty = || DevChain::builder().clock(|| NOW);
    for (chain, chain_id, usdc, weth) in [
        (empty().base_stage(), base::CHAIN_ID, base::USDC, base::WETH),
        (
            empty().arbitrum_stage(),
            arbitrum::CHAIN_ID,
            arbitrum::USDC,
            arbitrum::WETH,
        ),
    ] {
        let chain = chain.build().unwrap();
        let asked = SwapAsk {
            chain_id,
            from_token: usdc,
            to_token: weth,
            from_amount: value,
            account: user,
            max_slippage: BasisPoints::new(50).unwrap(),
            integrator: "svc".to_owned(),
            fee: BasisPoints::new(30).unwrap(),
            allow_tools: Vec::new(),
            deny_tools: Vec::new(),
            max_price_impact: None,
        };
        let quote = lifi.quote(&asked).await.unwrap();
        approve(&chain, user, usdc, base::ROUTER, value);
        send(
            &chain,
            user,
            base::ROUTER,
            &Bytes::from(quote.call_data.to_vec()),
        )
        .unwrap();
        assert_eq!(held(&chain, weth, user), quote.to_amount);
    }
}
