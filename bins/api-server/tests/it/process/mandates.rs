//! Kills the server around the creation of a yield mandate: one payment makes one mandate, and the
//! audit continues.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use yield_watch::verify;

use crate::process::buyer::{Answer, Payment};
use crate::process::server::{Server, start_server};
use crate::process::tripwire::{At, Moment};
use crate::process::world::World;

pub(crate) const FAMILY: &str = "/yield-watch";

/// The settings of the yields. Nothing listens at their address, so checks run and find none.
const GATHERING: [(&str, &str); 5] = [
    ("SVC__DATASETS__YIELDS", "true"),
    ("SVC__UPSTREAMS__DEFILLAMA__ENABLED", "true"),
    ("SVC__UPSTREAMS__DEFILLAMA__BASE_URL", "http://127.0.0.1:9"),
    (
        "SVC__UPSTREAMS__DEFILLAMA__YIELDS_URL",
        "http://127.0.0.1:9",
    ),
    ("SVC__UPSTREAMS__DEFILLAMA__COINS_URL", "http://127.0.0.1:9"),
];

async fn start(world: &World) -> Server {
    start_with(world, "").await
}

/// Starts a server with further lines in its configuration.
pub(crate) async fn start_with(world: &World, further: &str) -> Server {
    start_server(&world.config(further), &GATHERING).await
}

pub(crate) fn terms() -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let expires_at = u64::try_from(now.as_millis()).unwrap() + 86_400_000;
    json!({
        "rules": {
            "min_apy_delta_bps": 50,
            "max_slippage_bps": 50,
            "max_move_usd": "1000",
            "allowed_protocols": ["aave-v3"],
            "check_interval": 3_600,
        },
        "mode": "notify",
        "expires_at": expires_at,
    })
}

pub(crate) async fn offer(world: &World, server: &Server, body: &Value) -> Payment {
    let unpaid = world.buyer.try_post(&server.url(FAMILY), body, None).await;
    world.buyer.sign_offer(&unpaid.unwrap(), FAMILY, 0)
}

pub(crate) async fn create(
    world: &World,
    server: &Server,
    body: &Value,
    payment: &Payment,
) -> Option<Answer> {
    let url = server.url(FAMILY);
    world
        .buyer
        .try_post(&url, body, Some(&payment.header))
        .await
}

pub(crate) async fn buy(world: &World, server: &Server, target: &str) -> Value {
    let payment = world.buyer.sign(server, target, 0).await;
    let answer = world.buyer.present(server, &payment).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body()["data"].clone()
}

#[tokio::test]
async fn a_killed_server_leaves_one_mandate_for_one_payment() {
    // Killed before the settlement, after it, and long after the answer.
    for moment in [Some(Moment::Before), Some(Moment::After), None] {
        let world = World::new(dev_chain::Mining::Auto).await;
        let server = start(&world).await;
        let body = terms();
        let payment = offer(&world, &server, &body).await;
        if let Some(moment) = moment {
            let at = At::Name("eth_sendRawTransaction");
            world.wire.arm(at, moment, server.killer());
        }
        let answer = create(&world, &server, &body, &payment).await;
        assert_eq!(answer.is_none(), moment.is_some(), "{moment:?}");
        world.wire.disarm();
        drop(server);

        let server = start(&world).await;
        let again = crate::process::eventually("the answer", async || {
            let answer = create(&world, &server, &body, &payment).await.unwrap();
            (answer.status == 201).then_some(answer)
        });
        let again = again.await;
        if let Some(answer) = answer {
            assert_eq!(again.text, answer.text);
        }
        let id = again.body()["data"]["id"].clone();
        let listed = buy(&world, &server, FAMILY).await;
        let mandates = listed["mandates"].as_array().unwrap();
        assert_eq!((mandates.len(), &mandates[0]["id"]), (1, &id), "{moment:?}");
        let target = format!("{FAMILY}/audit?id={}", id.as_str().unwrap());
        let records = buy(&world, &server, &target).await["records"].clone();
        let records = records.as_array().unwrap();
        verify(records).unwrap();
        assert_eq!(records[0]["decision"], "created");
    }
}
