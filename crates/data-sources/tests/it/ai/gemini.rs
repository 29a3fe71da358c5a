use data_sources::gemini::Gemini;
use serde_json::{Value, json as value};

use super::{
    PROMPT, adapter, blocked, failed, json, made, recorded, request_bodies, server, with_options,
};

fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = recorded("gemini/generate_image.json");
    change(&mut body);
    body
}

#[tokio::test]
async fn an_image_comes_inside_the_answer() {
    let server = server(json(200, &recorded("gemini/generate_image.json"))).await;
    let picture = made(adapter(&server, Gemini::new).image(PROMPT).await);
    assert_eq!(
        (picture.image.width(), picture.model.as_str()),
        (1024, "gemini-3-pro-image")
    );
    let requests = server.received_requests().await.unwrap();
    assert_eq!(
        requests[0].url.path(),
        "/v1beta/models/gemini-3-pro-image:generateContent"
    );
    assert_eq!(
        requests[0].url.query(),
        None,
        "a key or a prompt in an address"
    );
    assert_eq!(requests[0].headers["x-goog-api-key"], "key-1");
}

/// Intermediate sketches are not the image, and the claimed type is not trusted.
#[tokio::test]
async fn a_sketch_is_not_taken_for_the_image() {
    let body = changed(|body| {
        let parts = body["candidates"][0]["content"]["parts"]
            .as_array_mut()
            .unwrap();
        parts[1]["inlineData"]["mimeType"] = "text/html".into();
        parts.insert(
            0,
            value!({"thought": true, "inlineData": {"mimeType": "image/png", "data": "AAAA"}}),
        );
    });
    let server = server(json(200, &body)).await;
    let picture = made(adapter(&server, Gemini::new).image(PROMPT).await);
    assert_eq!(picture.image.format().media_type(), "image/png");
}

#[tokio::test]
async fn a_blocked_prompt_is_an_answer() {
    for body in [
        recorded("gemini/image_safety.json"),
        value!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
        changed(|body| body["candidates"][0]["finishReason"] = "PROHIBITED_CONTENT".into()),
    ] {
        let server = server(json(200, &body)).await;
        blocked(adapter(&server, Gemini::new).image(PROMPT).await);
    }
}

#[tokio::test]
async fn an_answer_without_an_image_is_a_failure() {
    for (body, expect) in [
        (
            changed(|body| body["candidates"] = value!([])),
            "upstream_malformed",
        ),
        (
            changed(|body| body["candidates"][0]["content"]["parts"] = value!([{"text": PROMPT}])),
            "upstream_business_no_image",
        ),
        (
            changed(|body| body["candidates"][0]["finishReason"] = "MAX_TOKENS".into()),
            "upstream_business_max_tokens",
        ),
        (
            changed(|body| body["candidates"][0]["finishReason"] = PROMPT.into()),
            "upstream_business_unnamed",
        ),
    ] {
        let server = server(json(200, &body)).await;
        let kind = failed(adapter(&server, Gemini::new).image(PROMPT).await);
        assert_eq!(kind.reason(), expect);
        assert_eq!(request_bodies(&server).await.len(), 1);
    }
}

#[tokio::test]
async fn a_model_does_not_change_the_path() {
    let server = server(json(200, &recorded("gemini/generate_image.json"))).await;
    let gemini = with_options(
        &server,
        &[("image_model", "../../v1/files?x=")],
        Gemini::new,
    );
    assert_eq!(
        failed(gemini.image(PROMPT).await).code(),
        "upstream_disabled"
    );
    assert!(request_bodies(&server).await.is_empty());
}
