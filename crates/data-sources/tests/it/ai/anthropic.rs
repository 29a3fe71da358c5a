use data_sources::anthropic::Anthropic;
use serde_json::{Value, json as value};
use wiremock::{Mock, MockServer, matchers::any};

use super::{PROMPT, adapter, blocked, failed, json, made, recorded, request_bodies, server};

/// The recorded answer, changed.
fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = recorded("anthropic/messages_web_search.json");
    change(&mut body);
    body
}

/// A server whose first answer is a pause.
async fn pausing(pauses: u64) -> MockServer {
    let server = MockServer::start().await;
    let pause = changed(|body| {
        body["stop_reason"] = "pause_turn".into();
        body["content"] = value!([
            {"type": "text", "text": "I will search."},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"},
             "unheard_of": {"order": [3, 1, 2], "number": 1.50}},
        ]);
    });
    Mock::given(any())
        .respond_with(json(200, &pause))
        .up_to_n_times(pauses)
        .mount(&server)
        .await;
    Mock::given(any())
        .respond_with(json(200, &recorded("anthropic/messages_web_search.json")))
        .mount(&server)
        .await;
    server
}

#[tokio::test]
async fn an_answer_comes_with_its_citations() {
    let server = server(json(200, &recorded("anthropic/messages_web_search.json"))).await;
    let research = made(adapter(&server, Anthropic::new).research(PROMPT).await);
    assert_eq!(
        serde_json::to_value(research).unwrap(),
        value!({
            "answer_markdown": "USD₮0 is a LayerZero OFT deployment of USDT on X Layer.",
            "citations": [{"url": "https://docs.usdt0.to/", "title": "USDT0 docs", "start": 0, "end": 55}],
            "sources": ["https://docs.usdt0.to/"],
            "model": "claude-sonnet-5",
            "searches": 1,
        })
    );
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests[0].headers["x-api-key"], "key-1");
    assert_eq!(requests[0].headers["anthropic-version"], "2023-06-01");
}

#[tokio::test]
async fn a_paused_turn_continues_with_the_received_blocks() {
    let server = pausing(1).await;
    let research = made(adapter(&server, Anthropic::new).research(PROMPT).await);
    assert_eq!(
        research.answer_markdown,
        "I will search.\n\nUSD₮0 is a LayerZero OFT deployment of USDT on X Layer."
    );
    assert_eq!(research.citations[0].start, Some(16));
    assert_eq!(research.searches, Some(2));
    let asked = request_bodies(&server).await;
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1]["messages"][0], asked[0]["messages"][0]);
    let back = &asked[1]["messages"][1];
    assert_eq!(back["role"], "assistant");
    assert_eq!(
        back["content"][1]["unheard_of"],
        value!({"order": [3, 1, 2], "number": 1.50})
    );
}

#[tokio::test]
async fn a_turn_that_never_ends_is_given_up() {
    let server = pausing(100).await;
    let kind = failed(adapter(&server, Anthropic::new).research(PROMPT).await);
    assert_eq!(kind.reason(), "upstream_business_incomplete");
    assert_eq!(request_bodies(&server).await.len(), 4);
}

#[tokio::test]
async fn an_answer_after_a_failed_search_is_refused() {
    let server = server(json(
        200,
        &recorded("anthropic/web_search_error_block.json"),
    ))
    .await;
    let kind = failed(adapter(&server, Anthropic::new).research(PROMPT).await);
    assert_eq!(kind.reason(), "upstream_business_unavailable");
}

/// One failed search of several: the findings of the others are cited.
#[tokio::test]
async fn a_failed_search_among_cited_ones_is_tolerated() {
    let body = changed(|body| {
        let failed = value!({"type": "web_search_tool_result", "tool_use_id": "s",
            "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}});
        body["content"].as_array_mut().unwrap().insert(2, failed);
    });
    let server = server(json(200, &body)).await;
    let research = made(adapter(&server, Anthropic::new).research(PROMPT).await);
    assert_eq!(research.citations.len(), 1);
}

#[tokio::test]
async fn the_end_of_a_turn_decides_the_result() {
    for (reason, expect) in [
        (value!("max_tokens"), "upstream_business_incomplete"),
        (value!("tool_use"), "upstream_malformed"),
        (value!(null), "upstream_malformed"),
    ] {
        let server = server(json(200, &changed(|body| body["stop_reason"] = reason))).await;
        let kind = failed(adapter(&server, Anthropic::new).research(PROMPT).await);
        assert_eq!(kind.reason(), expect);
    }
    let refusal = changed(|body| body["stop_reason"] = "refusal".into());
    let server = server(json(200, &refusal)).await;
    blocked(adapter(&server, Anthropic::new).research(PROMPT).await);
}

#[tokio::test]
async fn an_overloaded_upstream_is_asked_once() {
    let server = server(json(
        529,
        &value!({"type": "error", "error": {"message": PROMPT}}),
    ))
    .await;
    let kind = failed(adapter(&server, Anthropic::new).research(PROMPT).await);
    assert_eq!(kind.reason(), "upstream_http_529");
    assert_eq!(request_bodies(&server).await.len(), 1);
}

#[tokio::test]
async fn blocks_of_another_form_are_malformed() {
    for content in [
        value!([{"type": "text"}]),
        value!([{"type": "web_search_tool_result", "content": PROMPT}]),
        value!([]),
        value!(PROMPT),
    ] {
        let server = server(json(200, &changed(|body| body["content"] = content))).await;
        let kind = failed(adapter(&server, Anthropic::new).research(PROMPT).await);
        assert_eq!(kind.code(), "upstream_malformed");
    }
}
