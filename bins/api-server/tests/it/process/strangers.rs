//! Strangers that pay nothing, against the real binary: they leave nothing behind.

use std::time::{Duration, Instant};

use alloy_primitives::{Address, U256};
use alloy_sol_types::sol;
use dev_chain::{BUYER, xlayer};

use crate::process::actions::desk::{Desk, invest, swap, withdraw};
use crate::process::buyer::Buyer;

sol! {
    function transfer(address to, uint256 amount) external returns (bool);
}

/// How many payers there are, each of which calls once.
const CROWD: usize = 45;

/// Each of many throw-away payers has the price of one action, and asks for one. Nobody is charged,
/// and nobody gets a wallet. A payer with a wallet is served meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn throw_away_payers_that_are_charged_nothing_make_no_wallet() {
    let (desk, server) = Desk::open().await;
    let folder = desk.world.folder.path().join("wallets");
    let wallets = || {
        let files = std::fs::read_dir(&folder).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("eip155-")).count()
    };
    assert_eq!(wallets(), 1, "the buyer's");
    let received = || {
        let payee = crate::process::world::PAYEE;
        let held = |token: Address| desk.world.chain.balance_of(token, payee).unwrap();
        held(xlayer::USDT0) + held(xlayer::USDG) + held(xlayer::USDC)
    };
    let before = received();
    let mut crowd = Vec::new();
    for number in 0..CROWD {
        let stranger = Buyer::stranger();
        let give = transferCall {
            to: stranger.address(),
            amount: U256::from(50_000),
        };
        let chain = &desk.world.chain;
        chain.call_as(BUYER.address, xlayer::USDT0, &give).unwrap();
        let act = [invest(), swap(), withdraw()][number % 3].clone();
        let url = server.url(act.route);
        crowd.push(tokio::spawn(async move {
            let unpaid = stranger.try_post(&url, &act.body, None).await.unwrap();
            let payment = stranger.sign_offer(&unpaid, act.route, 0);
            let answer = stranger.try_post(&url, &act.body, Some(&payment.header));
            answer.await.unwrap()
        }));
    }
    let started = Instant::now();
    let payment = desk.world.buyer.sign(&server, "/sub-wallet", 0).await;
    let own = desk.world.buyer.present(&server, &payment).await;
    assert_eq!(own.status, 200, "{}", own.text);
    let waited = started.elapsed();
    assert!(waited < Duration::from_secs(20), "{waited:?}");
    for task in crowd {
        let answer = task.await.unwrap();
        assert_eq!(answer.status, 404, "{}", answer.text);
        assert_eq!(answer.error("code"), "no_sub_wallet", "{}", answer.text);
    }
    assert_eq!(wallets(), 1);
    assert_eq!(received() - before, U256::from(10_000), "the buyer's call");
    server.stop().await;
}
