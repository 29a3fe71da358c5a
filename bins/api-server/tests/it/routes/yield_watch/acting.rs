//! Tests of mandates that act. The wallet is a stand-in that the test sets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use alloy_primitives::B256;
use api_server::{Config, config::Usd};
use readings::defi::market::Market;
use reqwest::Method;
use watch_server::{Holdings, MoveState, Mover, MoverFuture, Stop};
use yield_watch::{Mandate, MoveKey, MoveOutcome, Pool, Position, Proposal};

use super::{HOUR, audit, body, buy, create, decisions, recorded};
use test_support::ManualClock;

use crate::routes::shop::{Shop, clock_at};
use crate::support::weakly_stretched;

/// A wallet that holds a product without a yield. It signs a move at once, or never.
#[derive(Default)]
struct Wallet {
    signs: bool,
    moves: Mutex<BTreeMap<MoveKey, MoveState>>,
}

fn done<'a, T: Send + 'a>(answer: T) -> MoverFuture<'a, T> {
    Box::pin(std::future::ready(Ok(answer)))
}

impl Mover for Wallet {
    fn held<'a>(&'a self, _: &'a Mandate, markets: &'a [Market]) -> MoverFuture<'a, Holdings> {
        done(Holdings {
            position: Position::Held {
                pool: Pool {
                    pool: "a product of no yield".to_owned(),
                    project: "aave-v3".to_owned(),
                    chain: "X Layer".to_owned(),
                    symbol: "USDT0".to_owned(),
                    apy_pct: "0".parse().unwrap(),
                },
                amount_usd: "250".parse().unwrap(),
            },
            reachable: markets.iter().map(|market| market.pool.clone()).collect(),
            cost_usd: "0".parse().unwrap(),
        })
    }

    fn propose<'a>(&'a self, _: &'a Mandate, proposal: &'a Proposal) -> MoverFuture<'a, MoveState> {
        let state = match self.signs {
            true => MoveState::Ended(MoveOutcome::Moved {
                intent_id: "0f".repeat(16),
                tx_hash: B256::repeat_byte(9),
                moved_usd: "250".parse().unwrap(),
            }),
            false => MoveState::UnderWay,
        };
        let mut moves = self.moves.lock().unwrap();
        let state = moves.entry(proposal.key.clone()).or_insert(state);
        done(state.clone())
    }

    fn state<'a>(&'a self, key: &'a MoveKey) -> MoverFuture<'a, Option<MoveState>> {
        done(self.moves.lock().unwrap().get(key).cloned())
    }

    fn cancel<'a>(&'a self, _: &'a MoveKey) -> MoverFuture<'a, Stop> {
        done(match self.signs {
            true => Stop::TooLate,
            false => Stop::Stopped,
        })
    }
}

fn with_custody(config: &mut Config) {
    let ledger = config.storage.url().trim_start_matches("sqlite://");
    config.custody = Some(weakly_stretched(
        std::path::Path::new(ledger).with_extension("wallets"),
        "the operator's secret",
    ));
}

/// A server with custody. If there is a wallet, the server is restarted with it.
async fn shop(clock: Arc<ManualClock>, wallet: Option<Wallet>) -> Shop {
    let mut shop = Shop::changed_by_the_clock(clock, |config, _replay| with_custody(config)).await;
    if let Some(wallet) = wallet {
        shop.world.mover = Some(Arc::new(wallet));
        shop.world.restart().await;
    }
    shop
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_wallet_a_mandate_that_acts_is_refused_by_name() {
    let shop = Shop::by_the_clock(clock_at(0)).await;
    let answer = create(&shop.world.buyer, &body("auto", 24 * HOUR)).await;
    answer.is_refused(503, "upstream_unavailable");
    assert_eq!(answer.body()["error"]["reason"], "no_custody_connected");
    let shop = self::shop(clock_at(0), None).await;
    let answer = create(&shop.world.buyer, &body("auto", 24 * HOUR)).await;
    answer.is_refused(503, "upstream_unavailable");
    assert_eq!(answer.body()["error"]["reason"], "no_chain_connected");
    // A mandate that only notifies needs no wallet.
    let answer = create(&shop.world.buyer, &body("notify", 24 * HOUR)).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_into_a_better_product_is_in_the_audit() {
    let clock = clock_at(0);
    let wallet = Wallet {
        signs: true,
        ..Wallet::default()
    };
    let shop = shop(clock.clone(), Some(wallet)).await;
    let buyer = &shop.world.buyer;
    let answer = create(buyer, &body("auto", 24 * HOUR)).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let id = answer.body()["data"]["id"].as_str().unwrap().to_owned();
    clock.set(90);
    recorded(&shop.world, &id, 4).await;
    let records = audit(buyer, &id).await;
    let expected = ["created", "opportunity", "move_asked", "moved"];
    assert_eq!(decisions(&records), expected);
    assert_eq!(records[3]["tx_hash"], B256::repeat_byte(9).to_string());
    assert_eq!(records[2]["action"]["inputs"]["max_move_usd"], "1000");
    let listed = buy(buyer, Method::GET, "/yield-watch").await;
    let shown = &listed["mandates"][0];
    assert_eq!(shown["last_move"]["outcome"]["moved"]["moved_usd"], "250");
    assert_eq!(shown["opportunity"]["seq"], 1);
    assert!(shown["open_move"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_stops_a_move_that_is_not_signed() {
    let clock = clock_at(0);
    let shop = shop(clock.clone(), Some(Wallet::default())).await;
    let buyer = &shop.world.buyer;
    let answer = create(buyer, &body("auto", 24 * HOUR)).await;
    let id = answer.body()["data"]["id"].as_str().unwrap().to_owned();
    clock.set(90);
    recorded(&shop.world, &id, 3).await;
    let target = format!("/yield-watch?id={id}");
    let cancelled = buy(buyer, Method::DELETE, &target).await;
    assert_eq!(
        (cancelled["state"].as_str(), cancelled["move"].as_str()),
        (Some("cancelled"), Some("stopped"))
    );
    let records = audit(buyer, &id).await;
    let expected = [
        "created",
        "opportunity",
        "move_asked",
        "cancelled",
        "move_stopped",
    ];
    assert_eq!(decisions(&records), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mandate_that_acts_keeps_to_the_operators_limits() {
    let shop = Shop::changed_by_the_clock(clock_at(0), |config, _replay| {
        with_custody(config);
        config.wallets.max_moves_per_day = 2;
        config.wallets.min_gain_usd = Usd::micro(2_500_000);
    })
    .await;
    let buyer = &shop.world.buyer;
    let before = shop.world.paid();
    let refused = create(buyer, &body("auto", 24 * HOUR)).await;
    refused.is_refused(400, "invalid_params");
    let problems = refused.body()["error"]["problems"].clone();
    let said: Vec<_> = problems.as_array().unwrap().iter().collect();
    let [moves, gain] = said.as_slice() else {
        panic!("{problems}");
    };
    assert_eq!(moves["path"], "body.rules.max_moves_per_day");
    assert_eq!(
        moves["message"],
        "expected at most 2, the limit of this server"
    );
    assert_eq!(gain["path"], "body.rules.min_gain_usd");
    assert_eq!(
        gain["message"],
        "expected at least 2.5, the limit of this server"
    );
    assert_eq!(shop.world.paid(), before);
    // A mandate that only notifies records the rules, and does not use them.
    assert_eq!(create(buyer, &body("notify", 24 * HOUR)).await.status, 201);
    let mut within = body("auto", 24 * HOUR);
    within["rules"]["max_moves_per_day"] = 2.into();
    within["rules"]["min_gain_usd"] = "2.5".into();
    // The limits hold, and this server has nothing that could move the wallet.
    let answer = create(buyer, &within).await;
    assert_eq!(answer.body()["error"]["reason"], "no_chain_connected");
}
