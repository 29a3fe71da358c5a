use data_sources::{Error, SourceErrorKind, Sourced, openai::Openai};
use readings::ai::{Generated, Research};
use serde_json::{Value, json as value};

use super::{PROMPT, adapter, blocked, failed, json, made, recorded, request_bodies, server};

type Found = Result<Sourced<Generated<Research>>, Error>;

/// Sends one request and checks that it was sent once.
async fn ask(status: u16, body: &Value) -> Found {
    let server = server(json(status, body)).await;
    let found = adapter(&server, Openai::new).research(PROMPT).await;
    assert_eq!(request_bodies(&server).await.len(), 1, "asked again");
    found
}

/// The recorded answer, changed.
async fn ask_changed(change: impl FnOnce(&mut Value)) -> Found {
    let mut body = recorded("openai/responses_web_search.json");
    change(&mut body);
    ask(200, &body).await
}

#[tokio::test]
async fn an_answer_comes_with_its_citations() {
    let server = server(json(200, &recorded("openai/responses_web_search.json"))).await;
    let research = made(adapter(&server, Openai::new).research(PROMPT).await);
    assert_eq!(
        serde_json::to_value(research).unwrap(),
        value!({
            "answer_markdown": "USD₮0 is a LayerZero OFT deployment of USDT on X Layer.",
            "citations": [{"url": "https://docs.usdt0.to/", "title": "USDT0 docs", "start": 0, "end": 55}],
            "sources": ["https://docs.usdt0.to/"],
            "model": "gpt-5.5",
            "searches": 1,
        })
    );
    let asked = request_bodies(&server).await;
    assert_eq!(asked[0]["input"], PROMPT);
    assert_eq!(asked[0]["store"], false);
    assert_eq!(asked[0]["tools"], value!([{"type": "web_search"}]));
    assert_eq!(
        asked[0]["include"],
        value!(["web_search_call.action.sources"])
    );
}

#[tokio::test]
async fn an_incomplete_answer_is_a_failure() {
    let kind = failed(ask(200, &recorded("openai/responses_incomplete.json")).await);
    assert_eq!(kind.reason(), "upstream_business_incomplete");
    let failure = |code: &'static str| {
        ask_changed(move |body| {
            body["status"] = "failed".into();
            body["error"] = value!({"code": code, "message": PROMPT});
        })
    };
    assert_eq!(
        failed(failure("server_error").await).reason(),
        "upstream_business_server_error"
    );
    assert_eq!(
        failed(failure("rate_limit_exceeded").await),
        SourceErrorKind::RateLimited {
            retry_after: Some(15)
        }
    );
    for status in ["in_progress", "queued", "cancelled", PROMPT] {
        let kind = failed(ask_changed(|body| body["status"] = status.into()).await);
        assert_eq!(kind.code(), "upstream_malformed", "{status}");
    }
}

#[tokio::test]
async fn a_refused_prompt_is_an_answer() {
    blocked(
        ask_changed(|body| {
            body["status"] = "incomplete".into();
            body["incomplete_details"] = value!({"reason": "content_filter"});
        })
        .await,
    );
    blocked(
        ask_changed(|body| {
            body["output"][1]["content"] = value!([{"type": "refusal", "refusal": PROMPT}]);
        })
        .await,
    );
    blocked(ask(400, &value!({"error": {"code": "invalid_prompt"}})).await);
    let kind = failed(ask(400, &value!({"error": {"code": "model_not_found"}})).await);
    assert_eq!(kind.reason(), "upstream_http_400");
}

#[tokio::test]
async fn an_uncited_answer_says_so() {
    let research = made(ask(200, &recorded("openai/responses_uncited.json")).await);
    assert_eq!(research.citations, []);
    assert_eq!(research.searches, Some(0));
}

/// A page that a search found may try to speak through the model.
#[tokio::test]
async fn only_text_and_web_addresses_are_passed_on() {
    let research = made(
        ask_changed(|body| {
            let part = &mut body["output"][1]["content"][0];
            part["text"] = "₮\u{202e}<img src=x onerror=alert(1)> ![t](https://t.example/?q=1) [x](javascript:1)".into();
            part["annotations"] = value!([
                {"type": "url_citation", "url": "javascript:alert(1)", "title": "a", "start_index": 0, "end_index": 1},
                {"type": "url_citation", "url": "http://127.0.0.1/", "title": "a", "start_index": 0, "end_index": 1},
                {"type": "url_citation", "url": "https://a.example/", "title": "A\u{202e}<b>", "start_index": 0, "end_index": 1},
                {"type": "url_citation", "url": "https://b.example/", "title": null, "start_index": 1, "end_index": 9999},
                {"type": "file_citation", "file_id": "f"},
                {"type": "url_citation"},
            ]);
        })
        .await,
    );
    assert_eq!(
        research.answer_markdown,
        "₮&lt;img src=x onerror=alert(1)> \\![t](https://t.example/?q=1) [x]\\(javascript:1)"
    );
    let cited: Vec<_> = research
        .citations
        .iter()
        .map(|c| (c.url.as_str(), c.title.as_deref(), c.start.zip(c.end)))
        .collect();
    assert_eq!(
        cited,
        [
            ("https://a.example/", Some("A"), Some((0, 1))),
            ("https://b.example/", None, None),
        ]
    );
}

#[tokio::test]
async fn citations_move_with_the_parts_of_the_text() {
    let research = made(
        ask_changed(|body| {
            let message = body["output"][1].clone();
            body["output"].as_array_mut().unwrap().push(message);
            body["output"][2]["content"][0]["annotations"][0]["url"] = "https://b.example/".into();
        })
        .await,
    );
    assert_eq!(research.answer_markdown.chars().count(), 55 + 2 + 55);
    let spans: Vec<_> = research
        .citations
        .iter()
        .map(|citation| citation.start.zip(citation.end).unwrap())
        .collect();
    assert_eq!(spans, [(0, 55), (57, 112)]);
}

#[tokio::test]
async fn an_answer_without_text_is_malformed() {
    let kind = failed(ask_changed(|body| body["output"] = value!([])).await);
    assert_eq!(kind.code(), "upstream_malformed");
    let kind = failed(ask_changed(|body| body["output"] = PROMPT.into()).await);
    assert_eq!(kind.code(), "upstream_malformed");
}
