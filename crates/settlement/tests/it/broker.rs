//! Tests of the OKX broker: its envelope, its credentials, and the meaning of its answers.

use alloy_primitives::U256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dev_chain::BUYER;
use hmac::{Hmac, KeyInit, Mac};
use settlement::{
    Okx, OkxCredentials, Readiness, Settlement, SettlementError, Settler, Timeouts, Verification,
};
use sha2::Sha256;
use x402_wire::{Network, Reason, facilitator};

use crate::facilitator::{HASH, not_sent, unknown};
use crate::facilitator_faults::unused_address;
use crate::payments::{NOW, USDC, USDT0, deferred, impatient, payment, timeouts};
use crate::stage::{Act, Seen, Stage, json, with_status};

pub(crate) const VERIFY: &str = "/api/v6/pay/x402/verify";
pub(crate) const SETTLE: &str = "/api/v6/pay/x402/settle";
pub(crate) const STATUS: &str = "/api/v6/pay/x402/settle/status";
pub(crate) const SUPPORTED: &str = "/api/v6/pay/x402/supported";

fn credentials() -> OkxCredentials {
    OkxCredentials {
        api_key: "the-key".into(),
        secret_key: "the-secret".into(),
        passphrase: "the passphrase".into(),
    }
}

pub(crate) fn broker(stage: &Stage, timeouts: Timeouts) -> Okx {
    Okx::new(&stage.url(), credentials(), Network::evm(196), timeouts).unwrap()
}

/// Makes an answer with `data` in an envelope whose code is a string.
pub(crate) fn envelope(data: &str) -> Act {
    json(format!(r#"{{"code":"0","msg":"success","data":{data}}}"#))
}

pub(crate) fn settled(status: &str) -> String {
    format!(
        r#"{{"success":true,"transaction":"{HASH}","network":"eip155:196","payer":"{}","status":"{status}"}}"#,
        BUYER.address
    )
}

/// Computes the signature of a received request again.
fn signature(seen: &Seen) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(b"the-secret").unwrap();
    let message = [
        &seen.headers["ok-access-timestamp"],
        &seen.method,
        &seen.target,
        &seen.body,
    ]
    .map(String::as_str);
    mac.update(message.concat().as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

#[tokio::test]
async fn every_request_is_signed_over_the_bytes_that_arrive() {
    let stage = Stage::open().await;
    stage.plays(VERIFY, [envelope(r#"{"isValid":true}"#)]);
    stage.plays(SETTLE, [envelope(&settled("timeout"))]);
    stage.plays(STATUS, [envelope(&settled("success"))]);
    stage.plays(SUPPORTED, [envelope(r#"{"kinds":[]}"#)]);
    let broker = broker(&stage, timeouts());
    let payment = payment(USDT0);
    assert_eq!(
        broker.verify(&payment, U256::ZERO, NOW).await,
        Verification::Valid
    );
    assert!(matches!(
        broker.settle(&payment).await,
        Settlement::Settled(_)
    ));
    assert!(matches!(
        broker.readiness().await,
        Readiness::NotReady { .. }
    ));

    let seen = stage.seen();
    let targets: Vec<_> = seen.iter().map(|seen| seen.target.as_str()).collect();
    assert_eq!(
        targets,
        [
            VERIFY,
            SETTLE,
            &format!("{STATUS}?txHash={HASH}"),
            SUPPORTED
        ]
    );
    for seen in &seen {
        assert_eq!(
            seen.headers["ok-access-sign"],
            signature(seen),
            "{}",
            seen.target
        );
        assert_eq!(seen.headers["ok-access-key"], "the-key");
        assert_eq!(seen.headers["ok-access-passphrase"], "the passphrase");
    }
    assert_eq!(seen[0].body, facilitator::request_body(&payment, None));
    assert_eq!(
        seen[1].body,
        facilitator::request_body(&payment, Some(true))
    );
}

#[tokio::test]
async fn the_code_is_a_string_or_an_integer() {
    for code in [r#""0""#, "0"] {
        let stage = Stage::open().await;
        let answer = format!(
            r#"{{"code":{code},"msg":"","data":{}}}"#,
            settled("success")
        );
        stage.plays(SETTLE, [json(answer)]);
        let outcome = broker(&stage, timeouts()).settle(&payment(USDC)).await;
        let Settlement::Settled(receipt) = outcome else {
            panic!("{code}: {outcome:?}")
        };
        assert_eq!(receipt.into_response().status.as_deref(), Some("success"));
    }
}

#[tokio::test]
async fn a_refused_call_is_not_a_refused_payment() {
    for (status, body) in [
        (
            429,
            r#"{"code":"50011","msg":"Too Many Requests","data":null}"#,
        ),
        (500, r#"{"code":50026,"msg":"System error","data":null}"#),
        (
            401,
            r#"{"code":"50111","msg":"Invalid OK-ACCESS-KEY","data":null}"#,
        ),
        (200, r#"{"code":"0","msg":"","data":null}"#),
        (
            200,
            r#"{"success":true,"transaction":"0x00","network":"eip155:196"}"#,
        ),
        (502, "<html>"),
    ] {
        let stage = Stage::open().await;
        stage.plays(SETTLE, [with_status(status, body)]);
        stage.plays(VERIFY, [with_status(status, body)]);
        let broker = broker(&stage, timeouts());
        let outcome = broker.settle(&payment(USDT0)).await;
        assert_eq!(unknown(&outcome).0, None, "{body}");
        let verification = broker.verify(&payment(USDT0), U256::ZERO, NOW).await;
        assert!(
            matches!(verification, Verification::Unavailable { .. }),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_refused_payment_has_its_reason() {
    let stage = Stage::open().await;
    let refusal = r#"{"success":false,"errorReason":"insufficient_balance","transaction":""}"#;
    let named =
        r#"{"code":"1","msg":"","data":null,"error_code":"payer_blocked","error_message":"m"}"#;
    stage.plays(SETTLE, [envelope(refusal), with_status(400, named)]);
    stage.plays(
        VERIFY,
        [envelope(
            r#"{"isValid":false,"invalidReason":"param_mismatch"}"#,
        )],
    );
    let broker = broker(&stage, timeouts());
    let reasons = [
        broker.settle(&payment(USDT0)).await,
        broker.settle(&payment(USDT0)).await,
    ]
    .map(|outcome| match outcome {
        Settlement::Rejected { reason, .. } => reason.as_str().to_owned(),
        other => panic!("{other:?}"),
    });
    assert_eq!(reasons, ["insufficient_balance", "payer_blocked"]);
    let expected = Verification::Invalid {
        reason: Reason::from("param_mismatch"),
        message: None,
    };
    assert_eq!(
        broker.verify(&payment(USDT0), U256::ZERO, NOW).await,
        expected
    );
}

#[tokio::test]
async fn deferred_payments_are_settled_without_a_transaction() {
    let stage = Stage::open().await;
    let kinds = r#"{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:196"},
        {"x402Version":2,"scheme":"aggr_deferred","network":"eip155:196"}]}"#;
    stage.plays(SUPPORTED, [envelope(kinds)]);
    stage.plays(VERIFY, [envelope(r#"{"isValid":true}"#)]);
    let stored = r#"{"success":true,"transaction":"","network":"eip155:196","status":"success"}"#;
    stage.plays(SETTLE, [envelope(stored)]);
    let broker = broker(&stage, timeouts());
    let payment = deferred(USDT0);
    assert_eq!(
        broker.verify(&payment, U256::ZERO, NOW).await,
        Verification::Valid
    );
    let Settlement::Settled(receipt) = broker.settle(&payment).await else {
        panic!()
    };
    assert_eq!(
        (receipt.transaction.as_str(), receipt.status.as_deref()),
        ("", Some("success"))
    );
    // The broker broadcast nothing, so there was nothing to wait for.
    assert_eq!(
        stage.bodies(SETTLE),
        [facilitator::request_body(&payment, None)]
    );
}

#[tokio::test]
async fn deferred_payments_are_refused_when_they_are_not_listed() {
    let stage = Stage::open().await;
    stage.plays(SUPPORTED, [envelope(r#"{"kinds":[]}"#)]);
    let expected = Verification::Invalid {
        reason: Reason::UnsupportedScheme,
        message: None,
    };
    assert_eq!(
        broker(&stage, timeouts())
            .verify(&deferred(USDT0), U256::ZERO, NOW)
            .await,
        expected
    );
}

#[tokio::test]
async fn a_broker_that_stays_silent_is_a_time_out() {
    let stage = Stage::open().await;
    stage.plays(SETTLE, [Act::Hang]);
    let outcome = broker(&stage, impatient()).settle(&payment(USDT0)).await;
    assert_eq!(unknown(&outcome).1.code(), "timeout");
}

#[tokio::test]
async fn without_a_connection_nothing_is_sent() {
    let network = Network::evm(196);
    let down = Okx::new(&unused_address().await, credentials(), network, timeouts()).unwrap();
    let outcome = down.settle(&payment(USDT0)).await;
    assert_eq!(not_sent(&outcome).code(), "unreachable");
    let outcome = down.reconcile(&payment(USDT0), None, NOW).await;
    assert_eq!(outcome.outcome(), "undecided");
}

#[test]
fn no_secret_is_printed_and_bad_credentials_are_refused() {
    let network = Network::evm(196);
    let broker = Okx::new("https://u:the-secret@h", credentials(), network, timeouts()).unwrap();
    assert!(!format!("{broker:?}").contains("the-"), "{broker:?}");
    let bad = OkxCredentials {
        api_key: "a\r\nx: y".into(),
        ..credentials()
    };
    let error = Okx::new("https://h", bad, network, timeouts()).unwrap_err();
    assert_eq!(
        error,
        SettlementError::Credential {
            key: "settlement.okx_api_key"
        }
    );
}
