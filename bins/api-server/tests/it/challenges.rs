//! Tests of 402 answers as they are on the wire: the length of the head, the words for people, and
//! the resource that a payment names.

use api_server::config::SettlementMode;
use reqwest::Method;
use route_catalog::Operation;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::buyer::header_of;
use crate::support::facilitator::{Facilitator, Say, success, valid};
use crate::support::{TOKEN, World};

/// Proxies with default buffers turn an answer with a longer head into a 502. They need some of the
/// 4,096 bytes for themselves.
const LONGEST_HEAD: usize = 4_000;

const TX: &str = "0xabababababababababababababababababababababababababababababababab";

/// A public URL of 60 characters.
fn public_url() -> String {
    let url = format!("https://{}.example.test", "a".repeat(39));
    assert_eq!(url.len(), 60);
    url
}

/// An answer as it arrived.
struct Answer {
    head: usize,
    status: u16,
    body: Value,
}

/// Sends a request as a page in a browser does, which gets the most headers.
async fn send(world: &World, method: &str, target: &str, payment: Option<&str>) -> Answer {
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let payment = payment.map_or_else(String::new, |payment| {
        format!("payment-signature: {payment}\r\n")
    });
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: api.example.test\r\norigin: https://shop.example.test\r\n\
         connection: close\r\n{payment}content-length: 0\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let head = end.unwrap() + 4;
    let status = std::str::from_utf8(&answer[9..12]).unwrap();
    Answer {
        head,
        status: status.parse().unwrap(),
        body: serde_json::from_slice(&answer[head..]).unwrap_or_default(),
    }
}

#[track_caller]
fn is_short_and_says_what_was_charged(answer: &Answer, place: &str) {
    assert_eq!(answer.status, 402, "{place}: {}", answer.body);
    assert!(answer.head < LONGEST_HEAD, "{place}: {}", answer.head);
    let error = answer.body["error"].as_str().unwrap();
    assert!(error.starts_with("Nothing was charged"), "{place}: {error}");
    assert_eq!(answer.body["refusal"]["charged"], false, "{place}");
}

#[tokio::test]
async fn the_whole_head_of_every_402_is_short() {
    let world = World::start(|config, _rpc| config.server.public_url = Some(public_url())).await;
    let draft = world.buyer.draft(Method::GET, &world.price()).await;
    let mut payment = world.buyer.signed(&draft);
    payment["accepted"]["network"] = json!("\u{20ae}".repeat(300));
    let declined = header_of(&payment);
    let mut unserved = 0;
    for operation in Operation::ALL {
        let (route, method) = (operation.route(), operation.route().method.as_str());
        let targets = [
            route.path.to_owned(),
            route.example_call().target,
            format!("{}?{}", route.path, "q".repeat(120)),
            format!("{}?{}", route.path, "q".repeat(250)),
            format!("{}?{}", route.path, "q".repeat(1_000)),
        ];
        for target in &targets {
            for payment in [
                None,
                Some("!!!"),
                Some("bm90IGpzb24="),
                Some(declined.as_str()),
            ] {
                let answer = send(&world, method, target, payment).await;
                is_short_and_says_what_was_charged(&answer, &format!("{method} {target}"));
                unserved += u32::from(answer.body["extensions"].get("availability").is_some());
            }
        }
    }
    assert!(
        unserved > 0,
        "the longest challenges are those of unserved routes"
    );
    assert_eq!(world.paid(), 0);
}

/// The answer to a refused settlement has a receipt beside the challenge.
#[tokio::test]
async fn the_head_of_a_refused_settlement_is_short() {
    let refused = json!({
        "success": false,
        "errorReason": "insufficient_funds",
        "errorMessage": "\u{20ae} refused ".repeat(100),
        "transaction": "",
        "network": "eip155:196",
    });
    let refused = vec![Say::Json(200, refused.to_string())];
    let facilitator = Facilitator::start(vec![valid()], refused).await;
    let url = facilitator.url.clone();
    let world = World::start(move |config, _rpc| {
        config.server.public_url = Some(public_url());
        config.settlement.mode = SettlementMode::Facilitator;
        config.settlement.facilitator_url = Some(url);
        config.settlement.rpc_url = None;
        config.settlement.private_key = None;
    })
    .await;
    let payment = world.buyer.payment(&world.price()).await;
    let answer = send(&world, "GET", &world.price(), Some(&payment)).await;
    is_short_and_says_what_was_charged(&answer, "a refused settlement");
    assert_eq!(facilitator.settled().len(), 1);
}

#[tokio::test]
async fn a_resource_without_its_query_or_null_is_the_same_resource() {
    let world = World::onchain().await;
    let target = world.price();
    let queried = format!("{target}&max_age=9999999");
    for (resource, call) in [
        // A buyer that got its challenge before it knew the parameters.
        (
            json!({"url": format!("{}/price", world.buyer.base())}),
            &target,
        ),
        (json!({"url": "/price"}), &queried),
        (Value::Null, &target),
    ] {
        let draft = world.buyer.draft(Method::GET, call).await;
        let mut payment = world.buyer.signed(&draft);
        payment["resource"] = resource.clone();
        let payment = header_of(&payment);
        let paid = world.buyer.get_paid(call, &payment).await;
        assert_eq!(paid.status, 200, "{resource}: {}", paid.text);
        // The ledger binds the payment to the whole request.
        let other = format!("/price?token={TOKEN}&max_age=5");
        let refused = world.buyer.get_paid(&other, &payment).await;
        refused.is_refused(409, "payment_bound_elsewhere");
        let url = refused.next()["url"].as_str().unwrap().to_owned();
        let message = refused.body()["error"]["message"].clone();
        assert!(message.as_str().unwrap().contains(&url), "{message}");
    }
    assert_eq!(world.paid(), 3 * 2_000);

    let draft = world.buyer.draft(Method::GET, &target).await;
    let mut payment = world.buyer.signed(&draft);
    for elsewhere in ["/price?token=0x12", "/all-tokens", ""] {
        payment["resource"] = json!({ "url": elsewhere });
        let refused = world.buyer.get_paid(&target, &header_of(&payment)).await;
        refused.is_refused(402, "resource_mismatch");
    }
}

/// Registries read it at the facilitator. Payers echo what they like.
#[tokio::test]
async fn a_facilitator_that_lists_bazaar_gets_our_own_declaration() {
    for echoed in [
        json!(null),
        json!({"bazaar": {"info": {}}, "other": {"info": [1]}}),
    ] {
        let facilitator = Facilitator::start(vec![valid()], vec![success(TX)]).await;
        facilitator.list_bazaar();
        let world = World::behind(&facilitator.url).await;
        // The readiness check asks for the list.
        assert_eq!(world.buyer.get("/readyz").await.status, 200);
        let unpaid = world.buyer.get(&world.price()).await;
        assert_eq!(unpaid.challenge().extensions.get("bazaar"), None);
        let ours = unpaid.body()["extensions"]["bazaar"].clone();
        assert!(ours["info"]["input"].is_object(), "{}", unpaid.text);

        let draft = world.buyer.draft(Method::GET, &world.price()).await;
        let mut payment = world.buyer.signed(&draft);
        payment["extensions"] = echoed.clone();
        let header = header_of(&payment);
        let paid = world.buyer.get_paid(&world.price(), &header).await;
        assert_eq!(paid.status, 200, "{}", paid.text);
        if echoed.is_null() {
            payment["extensions"] = json!({});
        }
        payment["extensions"]["bazaar"] = ours;
        for body in [facilitator.verified(), facilitator.settled()].concat() {
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["paymentPayload"], payment);
        }
    }
}
