use data_sources::{Error, SourceErrorKind, Sourced, openai::Openai};
use readings::ai::{Generated, ImageFormat, Picture};
use serde_json::{Value, json as value};
use wiremock::ResponseTemplate;

use super::{
    PROMPT, adapter, blocked, failed, json, made, recorded, request_bodies, server, with_options,
};

type Found = Result<Sourced<Generated<Picture>>, Error>;

/// Sends one request and checks that it was sent once.
async fn ask(answer: ResponseTemplate) -> Found {
    let server = server(answer).await;
    let found = adapter(&server, Openai::new).image(PROMPT).await;
    assert_eq!(request_bodies(&server).await.len(), 1, "asked again");
    found
}

/// The recorded answer with another `data`.
async fn ask_for_data(data: Value) -> Found {
    let mut body = recorded("openai/images_generation.json");
    body["data"] = data;
    ask(json(200, &body)).await
}

#[tokio::test]
async fn an_image_is_drawn_with_one_request() {
    let server = server(json(200, &recorded("openai/images_generation.json"))).await;
    let found = adapter(&server, Openai::new).image(PROMPT).await;
    assert_eq!(found.as_ref().unwrap().sources[0].source, "openai.images");
    let picture = made(found);
    let image = &picture.image;
    assert_eq!(
        (image.format(), image.width(), image.height()),
        (ImageFormat::Png, 1024, 1024)
    );
    assert_eq!(
        (picture.model.as_str(), picture.revised_prompt),
        ("gpt-image-2", None)
    );

    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].url.path(), "/v1/images/generations");
    assert_eq!(requests[0].url.query(), None);
    assert_eq!(requests[0].headers["authorization"], "Bearer key-1");
    assert_eq!(
        requests[0].body_json::<Value>().unwrap(),
        value!({"model": "gpt-image-2", "prompt": PROMPT, "n": 1, "size": "1024x1024",
            "quality": "medium", "output_format": "png"})
    );
}

#[tokio::test]
async fn the_model_is_the_operators_choice() {
    let server = server(json(200, &recorded("openai/images_generation.json"))).await;
    let openai = with_options(&server, &[("image_model", "gpt-image-3")], Openai::new);
    assert_eq!(made(openai.image(PROMPT).await).model, "gpt-image-3");
    assert_eq!(request_bodies(&server).await[0]["model"], "gpt-image-3");
}

#[tokio::test]
async fn a_blocked_prompt_is_an_answer() {
    blocked(
        ask(json(
            400,
            &recorded("openai/images_moderation_blocked.json"),
        ))
        .await,
    );
}

/// A request is not sent again: the image may have been drawn, and billed.
#[tokio::test]
async fn no_image_is_requested_twice() {
    let echo = value!({"error": {"code": PROMPT, "message": PROMPT}});
    for status in [400, 401, 403, 500, 502, 503] {
        let kind = failed(ask(json(status, &echo)).await);
        assert!(
            matches!(&kind, SourceErrorKind::HttpStatus { status: s, code: None } if *s == status),
            "{kind:?}"
        );
    }
    let limited = json(429, &echo).insert_header("retry-after", "1");
    assert_eq!(
        failed(ask(limited).await),
        SourceErrorKind::RateLimited {
            retry_after: Some(1)
        }
    );
}

#[tokio::test]
async fn a_model_that_takes_too_long_is_a_timeout() {
    let server = server(
        json(200, &recorded("openai/images_generation.json"))
            .set_delay(std::time::Duration::from_secs(30)),
    )
    .await;
    let mut config = data_sources::SourceConfig {
        timeout: Some(std::time::Duration::from_millis(50)),
        api_key: Some("key-1".to_owned().into()),
        ..data_sources::SourceConfig::default()
    };
    config.urls.insert("base_url".to_owned(), server.uri());
    let clock = jiff::Timestamp::UNIX_EPOCH;
    let transport = data_sources::transport::Transport::new().unwrap();
    let openai = Openai::new(&transport, config, std::sync::Arc::new(clock)).unwrap();
    assert_eq!(
        failed(openai.image(PROMPT).await),
        SourceErrorKind::Timeout { limit_ms: 50 }
    );
    assert_eq!(request_bodies(&server).await.len(), 1);
}

#[tokio::test]
async fn only_one_whole_image_inside_the_answer_is_taken() {
    let recorded = recorded("openai/images_generation.json");
    let base64 = recorded["data"][0]["b64_json"].as_str().unwrap();
    let image = |text: &str| value!([{ "b64_json": text }]);
    let svg = "PHN2ZyBvbmxvYWQ9J2FsZXJ0KDEpJy8+";
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    for data in [
        value!([]),
        value!([recorded["data"][0], recorded["data"][0]]),
        value!([{ "url": "http://169.254.169.254/latest/meta-data" }]),
        value!([{ "b64_json": null }]),
        value!(PROMPT),
        image(""),
        image(PROMPT),
        image(&base64[..base64.len() / 8 * 4]),
        image(&format!("{}AAAA", base64.trim_end_matches('='))),
        image(svg),
        image(pixel),
    ] {
        let kind = failed(ask_for_data(data.clone()).await);
        assert_eq!(kind.code(), "upstream_malformed", "{data}");
    }
}

#[tokio::test]
async fn a_page_is_no_image() {
    let page = ResponseTemplate::new(200).set_body_raw("<html>Rumpelstiltskin", "text/html");
    assert_eq!(
        failed(ask(page).await).code(),
        "upstream_wrong_content_type"
    );
    let lie = ResponseTemplate::new(200).set_body_raw("<html>Rumpel", "application/json");
    assert_eq!(failed(ask(lie).await).code(), "upstream_malformed");
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let huge = format!(r#"{{"data":[{{"b64_json":"{}"}}]}}"#, "A".repeat(25 << 20));
    let huge = ResponseTemplate::new(200).set_body_raw(huge, "application/json");
    assert_eq!(
        failed(ask(huge).await),
        SourceErrorKind::TooLarge { limit: 24 << 20 }
    );
}
