//! Tests of the routes that ask a model.

use alloy_primitives::{U256, hex};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::routes::shop::Shop;
use crate::support::World;
use crate::support::buyer::header_of;

const MEME: &str = "/generate-meme?prompt=a%20calm%20bull";
const RESEARCH: &str = "/llm-research?prompt=What%20is%20USDT0%20on%20X%20Layer%3F";

/// Fetches an artifact without a payment.
async fn artifact(world: &World, url: &str, method: Method) -> (reqwest::Response, String) {
    let response = world.buyer.request(method, url).send().await.unwrap();
    let media_type = response
        .headers()
        .get("content-type")
        .map(|value| value.to_str().unwrap().to_owned())
        .unwrap_or_default();
    (response, media_type)
}

fn sources(body: &Value) -> Vec<(&str, &str)> {
    let sources = body["meta"]["sources"].as_array().unwrap().iter();
    sources
        .map(|source| {
            (
                source["id"].as_str().unwrap(),
                source["status"].as_str().unwrap(),
            )
        })
        .collect()
}

#[tokio::test]
async fn an_image_is_bought_and_fetched_by_its_digest() {
    let shop = Shop::open().await;
    let body = shop.buy(MEME).await;
    let data = &body["data"];
    let image = &data["image"];
    assert_eq!(image["mime"], "image/png");
    assert_eq!(
        (&image["width"], &image["height"]),
        (&json!(1024), &json!(1024))
    );
    assert_eq!(image["expires_at"].as_str().unwrap()[..10], *"2026-11-22");
    assert_eq!(data["model"], "gpt-image-2");
    assert_eq!(
        data["prompt_sha256"],
        hex::encode(Sha256::digest("a calm bull"))
    );
    assert_eq!(data["revised_prompt"], Value::Null);
    assert_eq!(sources(&body), [("openai.images", "ok")]);
    assert!(!body.to_string().contains("calm bull"));

    let url = image["url"].as_str().unwrap();
    let (response, media_type) = artifact(&shop.world, url, Method::GET).await;
    assert_eq!(
        (response.status().as_u16(), media_type.as_str()),
        (200, "image/png")
    );
    let headers = response.headers().clone();
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(
        headers["content-security-policy"],
        "default-src 'none'; sandbox"
    );
    let caching = headers["cache-control"].to_str().unwrap();
    assert!(
        caching.starts_with("public, max-age=86") && caching.ends_with(", immutable"),
        "{caching}"
    );
    let bytes = response.bytes().await.unwrap();
    assert_eq!(image["sha256"], hex::encode(Sha256::digest(&bytes)));
    assert!(url.ends_with(image["sha256"].as_str().unwrap()));

    let (head, _) = artifact(&shop.world, url, Method::HEAD).await;
    assert_eq!(
        head.headers()["content-length"],
        bytes.len().to_string().as_str()
    );
    let again = shop.world.buyer.request(Method::GET, url);
    let again = again
        .header("if-none-match", &headers["etag"])
        .send()
        .await
        .unwrap();
    assert_eq!(again.status(), 304);
    assert_eq!(again.headers()["etag"], headers["etag"]);
}

/// The connection breaks after the payment. The same payment then gets the answer, and the digest
/// in it gets the image. The model does not draw again, and the payer does not pay again.
#[tokio::test]
async fn a_lost_answer_is_not_a_lost_payment() {
    let mut world = Shop::open().await.world;
    let payment = world.buyer.payment(MEME).await;
    let lost = world.buyer.get_paid(MEME, &payment).await;
    assert_eq!(lost.status, 200, "{}", lost.text);
    let paid = world.paid();
    assert_eq!(paid, 150_000);
    world.restart().await;

    let again = world.buyer.get_paid(MEME, &payment).await;
    assert_eq!((again.status, &again.text), (200, &lost.text));
    assert_eq!(again.headers["x-served-again"], "true");
    assert_eq!(world.paid(), paid);
    assert_eq!(world.replay.served("openai/images_generation.json"), 1);
    let body = again.body();
    let url = body["data"]["image"]["url"].as_str().unwrap();
    let (response, media_type) = artifact(&world, url, Method::GET).await;
    assert_eq!(
        (response.status().as_u16(), media_type.as_str()),
        (200, "image/png")
    );
}

#[tokio::test]
async fn the_alternative_model_is_the_configured_one() {
    let target = format!("{MEME}&model=alternative");
    let shop = Shop::open().await;
    let body = shop.buy(&target).await;
    assert_eq!(body["data"]["model"], "gemini-3-pro-image");
    assert_eq!(sources(&body), [("gemini.images", "ok")]);

    let shop = Shop::changed(|config, _replay| {
        let gemini = config.upstreams.0.get_mut("gemini").unwrap();
        gemini.enabled = Some(false);
    })
    .await;
    let body = shop.buy(&target).await;
    assert_eq!(body["data"]["model"], "fal-ai/flux/dev");
    assert_eq!(sources(&body), [("fal.images", "ok")]);
    assert_eq!(shop.world.replay.served("openai/images_generation.json"), 0);
}

#[tokio::test]
async fn a_blocked_prompt_is_refused_unpaid() {
    let shop = Shop::in_scenario("openai_images_moderation_blocked").await;
    let error = shop.refused(MEME, 422, "unsupported").await;
    assert_eq!(error["reason"], "moderation_blocked");
    assert_eq!(error["retryable"], false);

    let shop = Shop::in_scenario("gemini_image_safety").await;
    let target = format!("{MEME}&model=alternative");
    let error = shop.refused(&target, 422, "unsupported").await;
    assert_eq!(error["reason"], "moderation_blocked");
}

#[tokio::test]
async fn a_model_that_is_down_is_not_replaced_and_not_paid_for() {
    let shop = Shop::without(&["openai"]).await;
    let error = shop.refused(MEME, 503, "upstream_unavailable").await;
    assert_eq!(error["reason"], "upstream_unreachable");
    assert_eq!(shop.world.replay.served("gemini/generate_image.json"), 0);

    let shop = Shop::changed(|config, _replay| {
        config.upstreams.0.get_mut("openai").unwrap().enabled = Some(false);
    })
    .await;
    let error = shop.refused(MEME, 503, "upstream_unavailable").await;
    assert_eq!(
        (&error["reason"], &error["retryable"]),
        (&json!("upstream_disabled"), &json!(false))
    );
}

/// A payment must stay valid until after the work and its settlement. Otherwise the server does not
/// begin the work.
#[tokio::test]
async fn a_payment_that_would_end_during_the_work_is_refused_before_it() {
    let world = Shop::open().await.world;
    for target in [MEME, RESEARCH] {
        for (seconds, status) in [(158, 402), (280, 200)] {
            let mut draft = world.buyer.draft(Method::GET, target).await;
            let now = jiff::Timestamp::now().as_second();
            draft.authorization.valid_before = U256::from(u64::try_from(now).unwrap() + seconds);
            let payment = header_of(&world.buyer.signed(&draft));
            let before = world.paid();
            let answer = world.buyer.get_paid(target, &payment).await;
            assert_eq!(answer.status, status, "{target} {seconds}: {}", answer.text);
            assert_eq!(world.paid() > before, status == 200);
        }
    }
    assert_eq!(world.replay.served("openai/images_generation.json"), 1);
    assert_eq!(world.replay.served("openai/responses_web_search.json"), 1);
}

#[tokio::test]
async fn research_is_bought_with_its_citations() {
    let shop = Shop::open().await;
    let body = shop.buy(RESEARCH).await;
    assert_eq!(
        body["data"],
        json!({
            "answer_markdown": "USD₮0 is a LayerZero OFT deployment of USDT on X Layer.",
            "citations": [{"url": "https://docs.usdt0.to/", "title": "USDT0 docs", "start": 0, "end": 55}],
            "sources": ["https://docs.usdt0.to/"],
            "model": "gpt-5.5",
            "searches": 1,
        })
    );
    assert_eq!(sources(&body), [("openai.responses", "ok")]);
}

#[tokio::test]
async fn an_answer_without_citations_is_refused_and_no_other_model_is_asked() {
    let shop = Shop::in_scenario("openai_responses_uncited").await;
    let error = shop.refused(RESEARCH, 503, "core_data_missing").await;
    assert_eq!(error["missing"], json!(["citations"]));
    assert_eq!(
        shop.world
            .replay
            .served("anthropic/messages_web_search.json"),
        0
    );
}

#[tokio::test]
async fn the_next_model_answers_when_one_fails() {
    let shop = Shop::without(&["openai"]).await;
    let body = shop.buy(RESEARCH).await;
    assert_eq!(body["data"]["model"], "claude-sonnet-5");
    assert_eq!(
        sources(&body),
        [
            ("anthropic.messages", "ok"),
            ("openai.responses", "unavailable")
        ]
    );

    let shop = Shop::without(&["openai", "anthropic"]).await;
    let body = shop.buy(RESEARCH).await;
    assert_eq!(body["data"]["model"], "sonar-pro");
    assert_eq!(body["data"]["searches"], Value::Null);
    assert_eq!(body["meta"]["unavailable"][0]["field"], "data.searches");

    // Half an answer with HTTP 200 is a failure, too.
    let shop = Shop::in_scenario("openai_responses_incomplete").await;
    let body = shop.buy(RESEARCH).await;
    assert_eq!(body["data"]["model"], "claude-sonnet-5");
    assert_eq!(
        body["meta"]["sources"][1]["reason"],
        "upstream_business_incomplete"
    );

    let shop = Shop::without(&["openai", "anthropic", "perplexity"]).await;
    shop.refused(RESEARCH, 503, "upstream_unavailable").await;
}

#[tokio::test]
async fn an_unknown_artifact_is_not_found() {
    let world = Shop::open().await.world;
    let nobody = "ab".repeat(32);
    for path in [
        nobody.as_str(),
        &nobody.to_uppercase(),
        "",
        "x",
        "../ledger.db",
    ] {
        let answer = world.buyer.get(&format!("/artifacts/{path}")).await;
        answer.is_refused(404, "not_found");
    }
    let target = format!("/artifacts/{nobody}");
    let posted = world.buyer.request(Method::POST, &target);
    let answer = world.buyer.send(posted).await;
    answer.is_refused(405, "method_not_allowed");
    assert_eq!(answer.headers["allow"], "GET, HEAD, OPTIONS");
}

#[tokio::test]
async fn without_room_for_an_image_no_model_is_asked() {
    let shop = Shop::changed(|config, _replay| {
        config.storage.artifact_max_bytes = 1000;
        let openai = config.upstreams.0.get_mut("openai").expect("an upstream");
        assert!(openai.set_url("base_url", "http://127.0.0.1:9".to_owned()));
    })
    .await;
    // If the model had been asked, the reason would be that it cannot be reached.
    let error = shop.refused(MEME, 503, "upstream_unavailable").await;
    assert_eq!(error["reason"], "store_artifacts_full");
}
