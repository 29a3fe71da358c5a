//! Tests of a facilitator that fails: unknown does not mean failed, and unavailable does not mean
//! invalid.

use alloy_primitives::U256;
use settlement::{
    AnySettler, Cause, Facilitator, Readiness, Reconciliation, SettlementConfig, Settler,
    Verification,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use x402_wire::Network;

use crate::facilitator::{HASH, not_sent, refused, settle_with, settled, unknown};
use crate::payments::{NOW, USDT0, deferred, impatient, payment, terms, timeouts};
use crate::stage::{Act, Stage, json, with_status};

fn html(status: u16) -> Act {
    let body = "<!doctype html><title>Bad gateway</title>".to_owned();
    Act::Answer {
        status,
        content_type: "text/html",
        body,
    }
}

/// Makes an answer that is larger than any message.
fn oversize() -> Act {
    json(format!(
        r#"{{"success":true,"transaction":"{}"}}"#,
        "a".repeat(300 * 1024)
    ))
}

fn broken() -> Vec<(Act, &'static str)> {
    vec![
        (Act::Close, "interrupted"),
        (Act::CutOff(settled()), "interrupted"),
        (html(200), "malformed"),
        (html(502), "http_status"),
        (
            with_status(401, r#"{"error":"unauthorized"}"#),
            "http_status",
        ),
        (with_status(429, ""), "http_status"),
        (with_status(503, "{}"), "http_status"),
        (json(""), "malformed"),
        (json("null"), "malformed"),
        (json("[]"), "malformed"),
        (json(r#"{"isValid":"true","success":"true"}"#), "malformed"),
        (json(r#"{"isValid":1,"success":1}"#), "malformed"),
        (oversize(), "oversize"),
    ]
}

#[tokio::test]
async fn a_broken_settlement_is_unknown() {
    for (act, code) in broken() {
        let outcome = settle_with(act.clone()).await;
        assert_eq!(unknown(&outcome).1.code(), code, "{act:?}");
    }
}

#[tokio::test]
async fn a_broken_verification_is_unavailable() {
    for (act, code) in broken() {
        let stage = Stage::open().await;
        stage.plays("/verify", [act.clone()]);
        let client = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
        match client.verify(&payment(USDT0), U256::ZERO, NOW).await {
            Verification::Unavailable { cause } => assert_eq!(cause.code(), code, "{act:?}"),
            other => panic!("{act:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_facilitator_that_stays_silent_is_a_time_out() {
    let stage = Stage::open().await;
    for path in ["/verify", "/settle", "/supported"] {
        stage.plays(path, [Act::Hang]);
    }
    let client = Facilitator::new(&stage.url(), Network::evm(196), impatient()).unwrap();
    let outcome = client.settle(&payment(USDT0)).await;
    assert_eq!(unknown(&outcome).1.code(), "timeout");
    let verification = client.verify(&payment(USDT0), U256::ZERO, NOW).await;
    assert!(
        matches!(
            verification,
            Verification::Unavailable {
                cause: Cause::Timeout { .. }
            }
        ),
        "{verification:?}"
    );
    let deferred = client.verify(&deferred(USDT0), U256::ZERO, NOW).await;
    assert!(
        matches!(
            deferred,
            Verification::Unavailable {
                cause: Cause::Timeout { .. }
            }
        ),
        "{deferred:?}"
    );
}

#[tokio::test]
async fn an_answer_about_another_payment_decides_nothing() {
    let stranger = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
    for (body, code) in [
        (
            settled().replace("eip155:196", "eip155:8453"),
            "contradiction",
        ),
        (settled().replace("eip155:196", ""), "contradiction"),
        (
            format!(
                r#"{{"success":true,"transaction":"{HASH}","network":"eip155:196","payer":"{stranger}"}}"#
            ),
            "contradiction",
        ),
        (
            format!(
                r#"{{"success":true,"transaction":"{HASH}","network":"eip155:196","amount":"1"}}"#
            ),
            "contradiction",
        ),
        (
            r#"{"success":false,"errorReason":"insufficient_funds","network":"base"}"#.to_owned(),
            "contradiction",
        ),
        (settled().replace(HASH, ""), "malformed"),
        (settled().replace(HASH, "0x1234"), "malformed"),
    ] {
        let outcome = settle_with(json(body.clone())).await;
        assert_eq!(unknown(&outcome).1.code(), code, "{body}");
    }

    let stage = Stage::open().await;
    stage.plays(
        "/verify",
        [json(format!(r#"{{"isValid":true,"payer":"{stranger}"}}"#))],
    );
    let client = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
    let verification = client.verify(&payment(USDT0), U256::ZERO, NOW).await;
    assert!(
        matches!(
            verification,
            Verification::Unavailable {
                cause: Cause::Contradiction { .. }
            }
        ),
        "{verification:?}"
    );
}

#[tokio::test]
async fn a_success_with_an_error_status_is_unknown_with_its_hash() {
    for status in [402, 500] {
        let outcome = settle_with(with_status(status, settled())).await;
        let (hash, cause) = unknown(&outcome);
        assert_eq!((hash, cause.code()), (Some(HASH), "malformed"), "{status}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Stage::open().await;
    elsewhere.plays("/settle", [json(settled())]);
    let location = format!("{}/settle", elsewhere.url());
    let outcome = settle_with(Act::Redirect(location)).await;
    assert_eq!(unknown(&outcome).1.code(), "http_status");
    assert!(elsewhere.seen().is_empty());
}

/// Returns the address of a port without a listener: the listener is bound and dropped at once.
pub(crate) async fn unused_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// No byte was sent, so the authorization is untouched. Every failure after that is unknown.
#[tokio::test]
async fn without_a_connection_nothing_is_sent() {
    let down = Facilitator::new(&unused_address().await, Network::evm(196), timeouts()).unwrap();
    let outcome = down.settle(&payment(USDT0)).await;
    assert_eq!(not_sent(&outcome).code(), "unreachable");
    assert_eq!(outcome.outcome(), "not_sent");

    // An earlier attempt may have been sent, so the reconciliation stays open.
    let outcome = down.reconcile(&payment(USDT0), Some(HASH), NOW).await;
    let Reconciliation::Undecided { transaction, cause } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(
        (transaction.as_deref(), cause.code()),
        (Some(HASH), "unreachable")
    );
}

/// The other side accepts the connection and stays silent, so the TLS handshake does not end.
#[tokio::test]
async fn a_connection_that_is_not_established_in_time_has_sent_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let hasty = settlement::Timeouts {
        connect: impatient().settle,
        ..timeouts()
    };
    let client = Facilitator::new(&url, Network::evm(196), hasty).unwrap();
    let outcome = client.settle(&payment(USDT0)).await;
    assert_eq!(not_sent(&outcome).code(), "unreachable");
}

/// The second request of a pending settlement finds no server. The first one was sent nevertheless.
#[tokio::test]
async fn a_pending_settlement_stays_open_when_the_facilitator_goes_down() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let client = Facilitator::new(&url, Network::evm(196), timeouts()).unwrap();
    let once = async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        drop(listener);
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            stream.read_buf(&mut request).await.unwrap();
        }
        let body = refused("settlement_pending", HASH);
        let head = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
    };
    let payment = payment(USDT0);
    let (outcome, ()) = tokio::join!(client.settle(&payment), once);
    let (hash, cause) = unknown(&outcome);
    assert_eq!((hash, cause.code()), (Some(HASH), "pending"));
}

#[tokio::test]
async fn a_server_starts_while_its_facilitator_is_down() {
    let config = SettlementConfig {
        facilitator_url: Some(unused_address().await),
        timeouts: timeouts(),
        ..SettlementConfig::default()
    };
    let settler = AnySettler::connect(config, &terms()).await.unwrap();
    let outcome = settler.settle(&payment(USDT0)).await;
    assert_eq!(not_sent(&outcome).code(), "unreachable");
    assert!(matches!(
        settler.verify(&payment(USDT0), U256::ZERO, NOW).await,
        Verification::Unavailable { .. }
    ));
    let Readiness::NotReady { reason } = settler.readiness().await else {
        panic!()
    };
    assert_eq!(reason.code(), "unreachable");
}

#[tokio::test]
async fn no_cause_repeats_the_url() {
    let config = SettlementConfig {
        facilitator_url: Some("http://user:s3cret@127.0.0.1:1/s3cret".to_owned()),
        timeouts: timeouts(),
        ..SettlementConfig::default()
    };
    let settler = AnySettler::connect(config, &terms()).await.unwrap();
    let outcome = settler.settle(&payment(USDT0)).await;
    let cause = not_sent(&outcome);
    let text = format!("{cause} {cause:?} {outcome:?}");
    assert!(!text.contains("s3cret"), "{text}");
}
