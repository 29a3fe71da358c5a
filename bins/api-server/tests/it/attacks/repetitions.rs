//! Attacks with second signatures for the same purchase, and with forged ones.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use x402_wire::header;

use crate::support::World;
use crate::support::buyer::{Buyer, header_of};
use crate::support::facilitator::{Facilitator, Say, success, valid};

const TX: &str = "0xabababababababababababababababababababababababababababababababab";

/// Far longer than a paid call takes on any machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// A payment of the world's buyer with an identifier, or none.
async fn payment(world: &World, target: &str, id: Option<&str>) -> Value {
    let draft = world.buyer.draft(Method::GET, target).await;
    let mut payment = world.buyer.signed(&draft);
    match id {
        Some(id) => {
            payment["extensions"] = json!({ "payment-identifier": { "info": { "id": id } } });
        }
        None => drop(payment.as_object_mut().unwrap().remove("extensions")),
    }
    payment
}

/// The same with a signature that only a chain or a facilitator can judge.
async fn forged(world: &World, target: &str, id: Option<&str>) -> String {
    let mut payment = payment(world, target, id).await;
    payment["payload"]["signature"] = json!(format!("0x{}", "ab".repeat(66)));
    header_of(&payment)
}

#[tokio::test]
async fn a_strangers_forged_authorization_neither_reads_nor_delays_a_purchase_nor_takes_its_identifier()
 {
    const ID: &str = "an-identifier-of-the-victim";
    for id in [Some(ID), None] {
        let invalid = Say::Json(
            200,
            r#"{"isValid":false,"invalidReason":"invalid_exact_evm_payload_signature"}"#.to_owned(),
        );
        // The facilitator is still judging the first forgery when the victim comes.
        let verify = vec![Say::Hang, valid(), invalid];
        let facilitator = Facilitator::start(verify, vec![success(TX)]).await;
        let url = facilitator.url.clone();
        let world = World::behind(&url).await;
        let target = world.price();
        let forgery = forged(&world, &target, id).await;
        let (client, base) = (world.buyer.client.clone(), world.buyer.base().to_owned());
        let asked = format!("{base}{target}");
        let stranger = tokio::spawn(async move {
            let request = client.get(asked).header(header::PAYMENT_SIGNATURE, forgery);
            request.send().await.unwrap().status().as_u16()
        });
        let began = Instant::now();
        while facilitator.verified().is_empty() {
            assert!(began.elapsed() < PATIENCE, "nothing is verified");
            tokio::task::yield_now().await;
        }
        let own = header_of(&payment(&world, &target, id).await);
        let bought = world.buyer.get_paid(&target, &own).await;
        assert_eq!(bought.status, 200, "{}", bought.text);
        assert!(!bought.headers.contains_key("purchase-repeated"));
        assert_eq!(stranger.await.unwrap(), 503);
        // A forgery after the purchase reads nothing.
        let forgery = forged(&world, &target, id).await;
        let read = world.buyer.get_paid(&target, &forgery).await;
        read.is_refused(402, "invalid_exact_evm_payload_signature");
        assert_eq!(facilitator.settled().len(), 1);
    }
}

/// Sends a payment, and closes the connection as soon as the server has it.
async fn lose(world: &World, target: &str, payment: &Value) {
    let head = format!(
        "GET {target} HTTP/1.1\r\nhost: {}\r\npayment-signature: {}\r\n\r\n",
        world.address,
        header_of(payment)
    );
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let began = Instant::now();
    while world.look_up(payment).await["state"] == "not_seen" {
        assert!(began.elapsed() < PATIENCE, "the call does not begin");
    }
}

#[tokio::test]
async fn a_lost_answer_is_bought_once_and_a_delivered_one_is_bought_again() {
    let world = World::onchain().await;
    let mut paid = 0;
    // A call may end before its client goes. Then the next payment is a purchase of its own, and
    // the test tries again with another request.
    for attempt in 0..20 {
        let target = format!("{}&max_age={}", world.price(), 9_000_000 + attempt);
        let first = payment(&world, &target, None).await;
        lose(&world, &target, &first).await;
        let second = payment(&world, &target, None).await;
        let answer = world.buyer.get_paid(&target, &header_of(&second)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        if !answer.headers.contains_key("purchase-repeated") {
            paid += 4000;
            assert_eq!(world.paid(), paid, "two purchases");
            continue;
        }
        paid += 2000;
        assert_eq!(answer.headers["purchase-repeated"], "1");
        assert_eq!(answer.headers["x-served-again"], "true");
        assert_eq!(world.paid(), paid);
        let transaction = answer.receipt().unwrap().transaction;
        let settled = world.look_up(&first).await;
        assert_eq!(settled["transaction"], transaction.as_str());
        let repetition = world.look_up(&second).await;
        assert_eq!(repetition["state"], "released");
        assert_eq!(repetition["reason"], "repetition");
        assert_eq!(repetition["transaction"], transaction.as_str());
        // Sent again, it gets the same answer. It buys nothing else.
        let again = world.buyer.get_paid(&target, &header_of(&second)).await;
        assert_eq!((again.status, &again.text), (200, &answer.text));
        let mut moved = second.clone();
        moved.as_object_mut().unwrap().remove("resource");
        let elsewhere = world
            .buyer
            .get_paid("/all-tokens", &header_of(&moved))
            .await;
        elsewhere.is_refused(409, "payment_bound_elsewhere");
        // The answer was delivered, so the next one is a purchase of its own.
        let third = payment(&world, &target, None).await;
        let bought = world.buyer.get_paid(&target, &header_of(&third)).await;
        assert_eq!(bought.status, 200, "{}", bought.text);
        assert!(!bought.headers.contains_key("purchase-repeated"));
        assert_eq!(world.paid(), paid + 2000);
        return;
    }
    panic!("no answer was lost");
}

#[tokio::test]
async fn two_identifiers_are_two_purchases_and_one_is_one() {
    let world = World::onchain().await;
    let target = world.price();
    let mut texts = Vec::new();
    for (id, paid) in [("order-000000000001", 2000), ("order-000000000002", 4000)] {
        for repeats in [false, true] {
            let payment = header_of(&payment(&world, &target, Some(id)).await);
            let answer = world.buyer.get_paid(&target, &payment).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            assert_eq!(answer.headers.contains_key("purchase-repeated"), repeats);
            assert_eq!(world.paid(), paid);
            texts.push(answer.receipt().unwrap().transaction);
        }
    }
    assert_eq!((&texts[0], &texts[2]), (&texts[1], &texts[3]));
    assert_ne!(texts[0], texts[2]);
    let elsewhere = payment(&world, "/all-tokens", Some("order-000000000001")).await;
    let refused = world
        .buyer
        .get_paid("/all-tokens", &header_of(&elsewhere))
        .await;
    refused.is_refused(409, "identifier_taken");
    assert_eq!(refused.action(), "look_up");
    assert_eq!(refused.body()["error"]["retryable"], false);
}

/// The number of paid calls in flight in this process, by its metrics.
async fn in_flight(world: &World) -> f64 {
    let metrics = world.buyer.get("/metrics").await.text;
    let mut lines = metrics.lines();
    let line = lines.find_map(|line| line.strip_prefix("svc_paid_calls_in_flight "));
    line.map_or(0.0, |number| number.parse().unwrap())
}

#[tokio::test]
async fn sixty_waiting_signatures_of_one_payer_slow_nobody() {
    const WAITING: usize = 64;
    // The facilitator never answers about the first settlement.
    let facilitator = Facilitator::start(vec![valid()], vec![Say::Hang, success(TX)]).await;
    let url = facilitator.url.clone();
    let world = World::start(move |config, _rpc| {
        config.settlement.mode = api_server::config::SettlementMode::Facilitator;
        config.settlement.facilitator_url = Some(url);
        config.settlement.rpc_url = None;
        config.settlement.private_key = None;
        config.settlement.timeout_ms = 30_000;
    })
    .await;
    let target = world.price();
    let mut calls = JoinSet::new();
    let first = payment(&world, &target, None).await;
    for number in 0..=WAITING {
        let payment = match number {
            0 => header_of(&first),
            _ => header_of(&payment(&world, &target, None).await),
        };
        let (client, base) = (world.buyer.client.clone(), world.buyer.base().to_owned());
        let asked = format!("{base}{target}");
        calls.spawn(async move {
            let request = client.get(asked).header(header::PAYMENT_SIGNATURE, payment);
            request.send().await.map(|answer| answer.status())
        });
        let began = Instant::now();
        while number == 0 && facilitator.settled().is_empty() {
            assert!(began.elapsed() < PATIENCE, "nothing is settled");
            tokio::task::yield_now().await;
        }
    }
    let began = Instant::now();
    while in_flight(&world).await < 65.0 {
        assert!(began.elapsed() < PATIENCE, "the signatures do not wait");
    }
    // A further one is refused at once, and learns which payment it would repeat.
    let further = payment(&world, &target, None).await;
    let refused = world.buyer.get_paid(&target, &header_of(&further)).await;
    refused.is_refused(409, "purchase_undecided");
    assert_eq!(refused.body()["error"]["retryable"], true);
    assert_eq!(refused.action(), "look_up");
    let url = refused.next()["url"].as_str().unwrap().to_owned();
    let nonce = first["payload"]["authorization"]["nonce"].as_str().unwrap();
    assert!(url.to_lowercase().ends_with(&nonce.to_lowercase()), "{url}");
    assert!(
        refused.text.contains("payment-identifier"),
        "{}",
        refused.text
    );
    assert_eq!(world.look_up(&further).await["state"], "not_seen");
    let other = Buyer::stranger(world.buyer.base());
    let bought = other.get_paid(&target, &other.payment(&target).await).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    assert!(calls.try_join_next().is_none(), "one of them has ended");
    // Nobody was asked about the waiting ones.
    assert_eq!(facilitator.verified().len(), 2);
    assert_eq!(facilitator.settled().len(), 2);
}
