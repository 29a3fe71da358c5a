//! Tests of malformed requests, and of headers that hold no payment.

use std::collections::HashSet;

use reqwest::Method;
use serde_json::json;
use x402_wire::header;

use crate::support::buyer::header_of;
use crate::support::{TOKEN, World};

#[tokio::test]
async fn bad_parameters_are_all_named_and_cost_nothing() {
    let world = World::onchain().await;
    assert_eq!(
        world.buyer.get("/price?token=nonsense").await.status,
        402,
        "unpaid: probes see the price"
    );
    let payment = world
        .buyer
        .payment("/approve?token=nonsense&amount=-1")
        .await;
    let answer = world
        .buyer
        .get_paid("/approve?token=nonsense&amount=-1", &payment)
        .await;
    answer.is_refused(400, "invalid_params");
    let paths: Vec<_> = answer.body()["error"]["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["path"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(paths, ["query.token", "query.amount"]);

    let draft = world.buyer.draft(Method::POST, "/swap").await;
    let payment = header_of(&world.buyer.signed(&draft));
    for (body, code) in [
        (json!({"fromToken": TOKEN}), 400),
        (json!([1]), 400),
        (json!({"padding": "x".repeat(70_000)}), 413),
    ] {
        let answer = world.buyer.post_paid("/swap", &body, &payment).await;
        assert_eq!(answer.status, code, "{}", answer.text);
    }
    assert_eq!(world.paid(), 0);
    assert_eq!(
        world.chain.transactions().len(),
        0,
        "nothing was verified or settled"
    );
}

#[tokio::test]
async fn a_body_in_another_form_is_refused_by_its_form() {
    let world = World::onchain().await;
    let draft = world.buyer.draft(Method::POST, "/swap").await;
    let payment = header_of(&world.buyer.signed(&draft));
    let send = async |name: &str, value: &str, body: &'static [u8]| {
        let request = world.buyer.request(Method::POST, "/swap");
        let request = request.header(header::PAYMENT_SIGNATURE, &payment);
        world
            .buyer
            .send(request.header(name, value).body(body))
            .await
    };
    for (name, value, body) in [
        ("content-encoding", "gzip", &[0x1f, 0x8b, 0x08][..]),
        ("content-encoding", "br", b"{}"),
        (
            "content-type",
            "application/x-www-form-urlencoded",
            b"amount=1",
        ),
        ("content-type", "text/plain; charset=utf-8", b""),
    ] {
        let answer = send(name, value, body).await;
        answer.is_refused(415, "unsupported_media_type");
    }
    // Many clients declare a JSON body as a form, or not at all. Its parameters are judged.
    for (name, value, body) in [
        (
            "content-type",
            "application/x-www-form-urlencoded",
            &b"{}"[..],
        ),
        ("content-encoding", "identity", b"{}"),
        ("content-type", "application/json", b"nonsense"),
    ] {
        let answer = send(name, value, body).await;
        answer.is_refused(400, "invalid_params");
    }
    assert_eq!(world.paid(), 0);
}

/// Only the depth of the nesting differs: the payment and the body are valid in every other way.
#[tokio::test]
async fn json_is_read_to_a_certain_depth() {
    let world = World::onchain().await;
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let target = world.price();
    // The limit is 32 levels, and the payment object is one of them.
    for (levels, status) in [(500, 402), (32, 402), (31, 200)] {
        let draft = world.buyer.draft(Method::GET, &target).await;
        let mut payment = world.buyer.signed(&draft);
        payment["unknown"] = nested(levels);
        let answer = world.buyer.get_paid(&target, &header_of(&payment)).await;
        assert_eq!(answer.status, status, "{levels}: {}", answer.text);
        if status == 402 {
            answer.is_refused(402, "invalid_payload");
        }
    }
    let draft = world.buyer.draft(Method::POST, "/swap").await;
    let payment = header_of(&world.buyer.signed(&draft));
    let body = json!({ "fromToken": nested(500) });
    let answer = world.buyer.post_paid("/swap", &body, &payment).await;
    answer.is_refused(400, "invalid_params");
    assert_eq!(world.paid(), 2000);
}

#[tokio::test]
async fn headers_that_are_no_payment_are_declined_by_name() {
    let world = World::onchain().await;
    let target = world.price();
    let deep = x402_wire::encode_header(&format!("{}{}", "[".repeat(3000), "]".repeat(3000)));
    for garbage in ["!!!", "e30=", "bm90IGpzb24=", deep.as_str()] {
        world
            .buyer
            .get_paid(&target, garbage)
            .await
            .is_refused(402, "invalid_payload");
    }
    let payment = world.buyer.payment(&target).await;
    let twice = world
        .buyer
        .request(Method::GET, &target)
        .header(header::PAYMENT_SIGNATURE, &payment)
        .header(header::PAYMENT_SIGNATURE, &payment);
    let twice = world.buyer.send(twice).await;
    twice.is_refused(402, "duplicate_payment_header");
    // The payment may be settled already, so a new one could be a second charge.
    assert_eq!(twice.action(), "send_same_again", "{}", twice.text);
    let v1 = world
        .buyer
        .request(Method::GET, &target)
        .header(header::X_PAYMENT, &payment);
    world
        .buyer
        .send(v1)
        .await
        .is_refused(402, "unsupported_x402_v1");
    let huge = world.buyer.request(Method::GET, &target);
    let huge = huge.header(header::PAYMENT_SIGNATURE, "A".repeat(33 * 1024));
    world
        .buyer
        .send(huge)
        .await
        .is_refused(431, "headers_too_large");
    assert_eq!(world.paid(), 0);
    assert_eq!(world.buyer.get_paid(&target, &payment).await.status, 200);
}

/// The server caches encoded challenges for equal calls. No call may get the challenge of another
/// one.
#[tokio::test]
async fn header_and_body_of_a_402_agree_however_often_they_are_sent() {
    let world = World::onchain().await;
    let mut said = Vec::new();
    for _ in 0..3 {
        for target in [
            &*world.price(),
            "/price?token=other",
            "/price",
            "/all-tokens",
        ] {
            for payment in [None, Some("!!!"), Some("e30="), Some("bm90IGpzb24=")] {
                let answer = match payment {
                    None => world.buyer.get(target).await,
                    Some(payment) => world.buyer.get_paid(target, payment).await,
                };
                assert_eq!(answer.status, 402, "{}", answer.text);
                let (header, body) = (answer.challenge(), answer.body());
                assert_eq!(body["error"], json!(header.error));
                assert_eq!(body["resource"], json!(header.resource));
                assert!(body["resource"]["url"].as_str().unwrap().ends_with(target));
                said.push((target.to_owned(), payment, header.error));
            }
        }
    }
    let different = said.len() / 3;
    let (first, again) = said.split_at(different);
    assert!(again.chunks(different).all(|round| round == first));
    assert_eq!(said.into_iter().collect::<HashSet<_>>().len(), different);
    assert_eq!(world.paid(), 0);
}

#[tokio::test]
async fn methods_are_decided_before_payments() {
    let world = World::onchain().await;
    let payment = world.buyer.payment(&world.price()).await;
    for (method, target, allow) in [
        (Method::GET, "/swap", "POST"),
        (Method::DELETE, "/price", "GET"),
        (Method::PUT, "/yield-watch", "GET"),
    ] {
        let request = world
            .buyer
            .request(method, target)
            .header(header::PAYMENT_SIGNATURE, &payment);
        let answer = world.buyer.send(request).await;
        answer.is_refused(405, "method_not_allowed");
        assert!(
            answer.headers["allow"].to_str().unwrap().contains(allow),
            "{:?}",
            answer.headers
        );
        assert!(
            answer.body()["error"]["expected"]
                .to_string()
                .contains(allow)
        );
    }
    world
        .buyer
        .get_paid("/nowhere", &payment)
        .await
        .is_refused(404, "not_found");

    let head = world.buyer.request(Method::HEAD, &world.price());
    let head = world
        .buyer
        .send(head.header(header::PAYMENT_SIGNATURE, &payment))
        .await;
    assert_eq!((head.status, head.text.as_str()), (402, ""));
    assert_eq!(head.challenge().accepts.len(), 6);

    let preflight = world
        .buyer
        .request(Method::OPTIONS, "/price")
        .header("origin", "https://agent.example")
        .header("access-control-request-headers", "payment-signature");
    let preflight = world.buyer.send(preflight).await;
    assert_eq!(preflight.status, 204);
    let allowed = preflight.headers["access-control-allow-headers"]
        .to_str()
        .unwrap();
    for name in [
        "PAYMENT-SIGNATURE",
        "X-PAYMENT",
        "Access-Control-Expose-Headers",
    ] {
        assert!(allowed.contains(name), "{allowed}");
    }
    let unpaid = world
        .buyer
        .request(Method::GET, "/price")
        .header("origin", "https://agent.example");
    let unpaid = world.buyer.send(unpaid).await;
    assert!(
        unpaid.headers["access-control-expose-headers"]
            .to_str()
            .unwrap()
            .contains("PAYMENT-REQUIRED")
    );
    assert_eq!(unpaid.headers["cache-control"], "no-store");
    assert_eq!(world.paid(), 0);
}
