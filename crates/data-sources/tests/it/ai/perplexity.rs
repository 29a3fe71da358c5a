use data_sources::perplexity::Perplexity;
use serde_json::{Value, json as value};

use super::{PROMPT, adapter, failed, json, made, recorded, server};

fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = recorded("perplexity/sonar.json");
    change(&mut body);
    body
}

#[tokio::test]
async fn an_answer_comes_with_its_citations() {
    let server = server(json(200, &recorded("perplexity/sonar.json"))).await;
    let research = made(adapter(&server, Perplexity::new).research(PROMPT).await);
    assert_eq!(
        serde_json::to_value(research).unwrap(),
        value!({
            "answer_markdown": "USD₮0 is a LayerZero OFT deployment of USDT on X Layer.[1]",
            "citations": [{"url": "https://docs.usdt0.to/", "title": "USDT0 docs", "start": 55, "end": 58}],
            "sources": ["https://docs.usdt0.to/"],
            "model": "sonar-pro",
            "searches": null,
        })
    );
}

#[tokio::test]
async fn older_answers_have_addresses_only() {
    let body = changed(|body| body["search_results"] = Value::Null);
    let server = server(json(200, &body)).await;
    let research = made(adapter(&server, Perplexity::new).research(PROMPT).await);
    assert_eq!(research.citations[0].url, "https://docs.usdt0.to/");
    assert_eq!(research.citations[0].title, None);
}

#[tokio::test]
async fn a_page_that_the_text_does_not_mark_is_not_cited() {
    let body = changed(|body| body["choices"][0]["message"]["content"] = "No mark [2].".into());
    let server = server(json(200, &body)).await;
    let research = made(adapter(&server, Perplexity::new).research(PROMPT).await);
    assert_eq!(research.citations, []);
    assert_eq!(research.sources, ["https://docs.usdt0.to/"]);
}

#[tokio::test]
async fn an_incomplete_answer_is_a_failure() {
    for (change, expect) in [
        (
            value!({"finish_reason": "length"}),
            "upstream_business_incomplete",
        ),
        (value!({"finish_reason": null}), "upstream_malformed"),
        (value!({"message": {"content": ""}}), "upstream_malformed"),
        (
            value!({"message": {"content": [PROMPT]}}),
            "upstream_malformed",
        ),
    ] {
        let body = changed(|body| {
            let choice = body["choices"][0].as_object_mut().unwrap();
            choice.extend(change.as_object().unwrap().clone());
        });
        let server = server(json(200, &body)).await;
        let kind = failed(adapter(&server, Perplexity::new).research(PROMPT).await);
        assert_eq!(kind.reason(), expect, "{change}");
    }
}
