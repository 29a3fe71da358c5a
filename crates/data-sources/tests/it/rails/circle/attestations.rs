//! The attestation of a burn.

use alloy_primitives::B256;
use data_sources::circle::AttestedMessage;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::{circle, config, place};
use crate::rails::*;

const BURN: B256 = B256::repeat_byte(0xc1);

async fn attestation(response: ResponseTemplate) -> Result<Option<AttestedMessage>, PortError> {
    let server = answering(response).await;
    circle(config(server.uri())).attestation(6, BURN).await
}

/// The recorded answer with one member of its message changed.
fn changed(member: &str, value: Value) -> ResponseTemplate {
    let mut body = recorded("circle/messages_complete.json");
    body["messages"][0][member] = value;
    json(&body)
}

#[tokio::test]
async fn an_attestation_is_asked_for_by_domain_and_transaction() {
    let body = recorded("circle/messages_complete.json");
    let server = answering(json(&body)).await;
    let circle = circle(config(format!("{}/prefix", server.uri())));
    let found = circle.attestation(6, BURN).await.unwrap().unwrap();
    let row = &body["messages"][0];
    assert_eq!(found.message.to_string(), row["message"].as_str().unwrap());
    assert_eq!(
        found.attestation.to_string(),
        row["attestation"].as_str().unwrap()
    );
    assert_eq!((found.message.len(), found.attestation.len()), (376, 130));
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests[0].url.path(), "/prefix/v2/messages/6");
    let query = format!("transactionHash={BURN}");
    assert_eq!(requests[0].url.query(), Some(query.as_str()));
}

#[tokio::test]
async fn a_pending_attestation_is_no_failure() {
    let pending = json(&recorded("circle/messages_pending.json"));
    assert_eq!(attestation(pending).await, Ok(None));
    let unknown = recorded("circle/error_message_not_found.json");
    let unknown = ResponseTemplate::new(404).set_body_json(unknown);
    assert_eq!(attestation(unknown).await, Ok(None));
    assert_eq!(attestation(raw(r#"{"messages":[]}"#)).await, Ok(None));
    // Unread members may disappear and appear.
    for member in [
        "eventNonce",
        "decodedMessage",
        "cctpVersion",
        "delayReason",
        "new",
    ] {
        assert!(
            attestation(changed(member, json!(7)))
                .await
                .unwrap()
                .is_some()
        );
    }
}

#[tokio::test]
async fn a_gateways_page_says_nothing_about_a_burn() {
    let page = ResponseTemplate::new(404).set_body_string("<html>no such host</html>");
    let observed = reason(attestation(page).await, "circle");
    assert!(
        matches!(observed, PortErrorReason::Unavailable { .. }),
        "{observed}"
    );
}

#[tokio::test]
async fn an_attestation_of_another_form_is_malformed() {
    for (member, value, at) in [
        ("status", json!("finalized"), "$.messages[0].status"),
        ("status", json!(null), "$.messages[0].status"),
        ("attestation", json!("PENDING"), "$.messages[0].attestation"),
        ("attestation", json!("0x"), "$.messages[0].attestation"),
        ("attestation", json!("0x1234"), "$.messages[0].attestation"),
        ("message", json!("0x"), "$.messages[0].message"),
        // The message is from domain 7.
        (
            "message",
            json!("0x000000010000000700000003"),
            "$.messages[0].message",
        ),
    ] {
        let observed = place(attestation(changed(member, value.clone())).await);
        assert_eq!(observed, at, "{member} {value}");
    }
    let mut two = recorded("circle/messages_complete.json");
    let row = two["messages"][0].clone();
    two["messages"].as_array_mut().unwrap().push(row);
    assert_eq!(place(attestation(json(&two)).await), "$.messages");
    assert_eq!(place(attestation(raw("[]")).await), "$");
    assert_eq!(place(attestation(raw("{}")).await), "$.messages");
}
