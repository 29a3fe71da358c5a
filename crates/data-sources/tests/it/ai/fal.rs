use data_sources::fal::Fal;
use serde_json::{Value, json as value};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

use super::{PROMPT, adapter, blocked, failed, json, made, recorded, request_bodies, with_options};

const REQUEST: &str = "/fal-ai/flux/requests/764cabcf-b745-4b3e-ae38-1200304cf45b";

/// A queue with these answers.
async fn queue(submitted: &Value, status: &Value, result: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    for (verb, place, answer) in [
        ("POST", "/fal-ai/flux/dev".to_owned(), json(200, submitted)),
        ("GET", format!("{REQUEST}/status"), json(200, status)),
        ("GET", REQUEST.to_owned(), result),
    ] {
        Mock::given(method(verb))
            .and(path(place))
            .respond_with(answer)
            .mount(&server)
            .await;
    }
    server
}

/// A queue that is done, with this result.
async fn done(result: ResponseTemplate) -> MockServer {
    let submitted = recorded("fal/queue_submit.json");
    let status = recorded("fal/queue_status.json");
    queue(&submitted, &status, result).await
}

fn changed(change: impl FnOnce(&mut Value)) -> ResponseTemplate {
    let mut body = recorded("fal/queue_result.json");
    change(&mut body);
    json(200, &body)
}

#[tokio::test]
async fn an_image_is_queued_once_and_fetched_from_our_own_address() {
    let server = done(changed(|_| ())).await;
    let picture = made(adapter(&server, Fal::new).image(PROMPT).await);
    assert_eq!(
        (picture.image.width(), picture.model.as_str()),
        (1024, "fal-ai/flux/dev")
    );
    assert_eq!(
        picture.revised_prompt.as_deref(),
        Some("a dog holding a coin")
    );
    let requests = server.received_requests().await.unwrap();
    let seen: Vec<_> = requests
        .iter()
        .map(|request| (request.method.as_str(), request.url.path()))
        .collect();
    assert_eq!(
        seen,
        [
            ("POST", "/fal-ai/flux/dev"),
            ("GET", format!("{REQUEST}/status").as_str()),
            ("GET", REQUEST),
        ]
    );
    for request in &requests {
        assert_eq!(request.headers["authorization"], "Key key-1");
    }
    assert_eq!(request_bodies(&server).await[0]["sync_mode"], true);
}

#[tokio::test]
async fn no_address_of_an_answer_is_followed() {
    let server = done(changed(|body| {
        body["images"][0]["url"] = "https://v3.fal.media/files/x/abc.png".into();
    }))
    .await;
    let kind = failed(adapter(&server, Fal::new).image(PROMPT).await);
    assert_eq!(kind.code(), "upstream_malformed");
    // An id cannot lead elsewhere either.
    let status = recorded("fal/queue_status.json");
    for id in ["../../../admin", "a?b", "", "a/b"] {
        let server = queue(&value!({"request_id": id}), &status, changed(|_| ())).await;
        let kind = failed(adapter(&server, Fal::new).image(PROMPT).await);
        assert_eq!(kind.code(), "upstream_malformed", "{id}");
        assert_eq!(request_bodies(&server).await.len(), 1, "{id}");
    }
}

#[tokio::test]
async fn a_blocked_prompt_is_an_answer() {
    let flagged = done(changed(|body| body["has_nsfw_concepts"] = value!([true]))).await;
    blocked(adapter(&flagged, Fal::new).image(PROMPT).await);
    let detail = value!({"detail": [{"type": "content_policy_violation", "msg": PROMPT}]});
    let refused = done(json(422, &detail)).await;
    blocked(adapter(&refused, Fal::new).image(PROMPT).await);
    let other = done(json(422, &value!({"detail": [{"type": "missing"}]}))).await;
    let kind = failed(adapter(&other, Fal::new).image(PROMPT).await);
    assert_eq!(kind.reason(), "upstream_http_422");
}

#[tokio::test]
async fn a_request_that_failed_in_the_queue_is_a_failure() {
    let submitted = recorded("fal/queue_submit.json");
    let server = queue(&submitted, &value!({"status": "FAILED"}), changed(|_| ())).await;
    let kind = failed(adapter(&server, Fal::new).image(PROMPT).await);
    assert_eq!(kind.reason(), "upstream_business_failed");
}

#[tokio::test]
async fn a_model_does_not_change_the_path() {
    let server = done(changed(|_| ())).await;
    let fal = with_options(&server, &[("image_model", "fal-ai/../admin")], Fal::new);
    assert_eq!(failed(fal.image(PROMPT).await).code(), "upstream_disabled");
    assert!(request_bodies(&server).await.is_empty());
}
