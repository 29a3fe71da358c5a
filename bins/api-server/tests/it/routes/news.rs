//! Tests of news, social media and the report.

use serde_json::Value;

use crate::routes::shop::{Shop, why_missing};

fn status<'a>(body: &'a Value, source: &str) -> &'a str {
    let sources = body["meta"]["sources"].as_array().unwrap();
    let found = sources.iter().find(|entry| entry["id"] == source);
    found.map_or("", |entry| entry["status"].as_str().unwrap())
}

#[tokio::test]
async fn the_news_are_ranked_sourced_and_dated() {
    let shop = Shop::open().await;
    let body = shop.buy("/crypto-news").await;
    let headlines = body["data"]["headlines"].as_array().unwrap();
    assert!(headlines.len() >= 5);
    for (place, headline) in headlines.iter().enumerate() {
        assert_eq!(headline["rank"], place + 1);
        assert!(headline["url"].as_str().unwrap().starts_with("https://"));
        assert!(headline["source"].is_string() && headline["sentiment"]["method"].is_string());
    }
    let scores: Vec<f64> = headlines
        .iter()
        .map(|row| row["score"].as_str().unwrap().parse().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let undated = headlines
        .iter()
        .find(|row| row["title"] == "Item with a bad date")
        .unwrap();
    assert_eq!(
        (&undated["published_at"], &undated["published_at_flag"]),
        (&Value::Null, &"unparsable".into())
    );
    assert_eq!(
        why_missing(&body, "data.headlines[].published_at"),
        Some("published_at_unparsable")
    );
    assert_eq!(body["data"]["brief"]["fear_greed"]["value"], 44);
    assert_eq!(
        (&body["meta"]["verdict"], &body["meta"]["max_age_seconds"]),
        (&"fresh".into(), &4500.into())
    );
    assert_eq!(
        (status(&body, "okx.news"), status(&body, "rss.decrypt")),
        ("ok", "unavailable")
    );
    assert!(
        body["meta"]["sources"]
            .as_array()
            .unwrap()
            .iter()
            .all(|source| source["mode"] == "replay")
    );
}

#[tokio::test]
async fn without_any_source_there_is_nothing_to_sell() {
    let shop = Shop::without(&[
        "okx",
        "coindesk",
        "rss",
        "cryptopanic",
        "alternative_me",
        "x_api",
    ])
    .await;
    let error = shop.refused("/crypto-news", 503, "core_data_missing").await;
    assert_eq!(
        (&error["missing"], &error["reason"]),
        (&serde_json::json!(["snapshot"]), &"no_snapshot".into())
    );
    shop.refused("/filtered-news?topic=defi", 503, "upstream_unavailable")
        .await;
}

#[tokio::test]
async fn a_missing_index_is_named() {
    let shop = Shop::without(&["alternative_me"]).await;
    let body = shop.buy("/crypto-news").await;
    assert_eq!(body["data"]["brief"]["fear_greed"], Value::Null);
    assert_eq!(
        why_missing(&body, "data.brief.fear_greed"),
        Some("upstream_unreachable")
    );
}

#[tokio::test]
async fn a_topic_is_found_in_the_snapshot_and_by_search() {
    let shop = Shop::open().await;
    let body = shop.buy("/filtered-news?topic=DeFi").await;
    let data = &body["data"];
    assert_eq!(data["topic"], "DeFi");
    assert_eq!(data["count"], data["headlines"].as_array().unwrap().len());
    assert!(
        data["headlines"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["title"].as_str().unwrap().contains("oracle"))
    );
    assert!(
        data["matched_terms"]
            .as_array()
            .unwrap()
            .contains(&"lending".into())
    );
    let layer2 = shop.buy("/filtered-news?topic=layer%202").await;
    assert_eq!(layer2["data"]["headlines"][0]["source"], "The Block");
    let none = shop
        .refused("/filtered-news?topic=quantum%20gravity", 404, "not_found")
        .await;
    assert_eq!(none["reason"], "no_results");
    shop.refused("/filtered-news?topic=%21%3F", 400, "invalid_params")
        .await;
}

#[tokio::test]
async fn a_topic_is_found_without_the_search() {
    let shop = Shop::without(&["okx"]).await;
    let body = shop.buy("/filtered-news?topic=layer2").await;
    assert_eq!(body["data"]["count"], 1);
    assert_eq!(status(&body, "okx.news"), "unavailable");
}

#[tokio::test]
async fn leaders_are_judged_by_their_own_posts() {
    let shop = Shop::at_the_recording().await;
    let body = shop.buy("/kol-sentiment").await;
    let data = &body["data"];
    // Five accounts of the list are all the leaders of the chain. One of them posted about no
    // token. The one who tells of a loss elsewhere says of AAVE only that it is watched.
    assert_eq!(
        data["coverage"],
        serde_json::json!({"known": 5, "leaders": 5, "posted": 5, "with_opinion": 4, "posts": 7, "complete": true})
    );
    assert_eq!(
        (&data["bullish"], &data["bearish"]),
        (
            &serde_json::json!(["BTC", "ETH"]),
            &serde_json::json!(["SOL"])
        ),
        "{data:#}"
    );
    let leaders = data["leaders"].as_array().unwrap();
    let one = leaders
        .iter()
        .find(|leader| leader["handle"] == "kol_one")
        .unwrap();
    assert_eq!(
        (&one["label"], &one["posts"]),
        (&"bullish".into(), &1.into())
    );
    assert_eq!(
        one["evidence_urls"],
        serde_json::json!(["https://x.com/kol_one/status/1991000000000000001"])
    );
    assert!(leaders.iter().all(|leader| leader["handle"] != "kol_five"));
}

#[tokio::test]
async fn without_posts_there_is_no_sentiment_of_leaders_to_sell() {
    let shop = Shop::without(&["x_api"]).await;
    for target in ["/kol-sentiment", "/twitter-summary"] {
        let error = shop.refused(target, 503, "core_data_missing").await;
        assert_eq!(error["missing"], serde_json::json!(["posts"]), "{target}");
    }
    let shop = Shop::in_scenario("few_leaders").await;
    let error = shop
        .refused("/kol-sentiment", 503, "core_data_missing")
        .await;
    assert_eq!(error["missing"], serde_json::json!(["leaders"]));
    assert_eq!(error["reason"], "too_few_leaders_with_an_opinion");
}

#[tokio::test]
async fn a_topic_that_is_searched_without_a_snapshot_says_so() {
    let shop = Shop::changed(|config, _replay| config.datasets.news = false).await;
    let body = shop.buy("/filtered-news?topic=DeFi").await;
    assert_eq!(why_missing(&body, "data.headlines"), Some("no_snapshot"));
    assert_eq!(
        body["meta"]["warnings"][0]["code"], "snapshot_unavailable",
        "{}",
        body["meta"]
    );
    // A search is repeated after ten minutes.
    assert_eq!(body["meta"]["max_age_seconds"], 600);
    // Without the snapshot it is unknown whether nothing matches.
    let error = shop
        .refused(
            "/filtered-news?topic=quantum%20gravity",
            503,
            "core_data_missing",
        )
        .await;
    assert_eq!(error["missing"], serde_json::json!(["snapshot"]));
}

#[tokio::test]
async fn the_summary_has_statements_with_links_and_changes() {
    let shop = Shop::at_the_recording().await;
    let body = shop.buy("/twitter-summary").await;
    let data = &body["data"];
    let claims: Vec<&str> = data["claims"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["claim"].as_str().unwrap())
        .collect();
    for claim in [
        "@kol_two: “$BTC to $100k by year end”",
        "@kol_two: “Spot ETF inflows are back”",
        "@kol_four: “Lending market drained after an oracle exploit”",
        "@kol_three: “ETH holding up well, great upgrade ahead”",
    ] {
        assert!(claims.contains(&claim), "{claim}: {claims:?}");
    }
    let lists = ["topics", "stances", "claims"].map(|name| data[name].as_array().unwrap().clone());
    for row in lists.iter().flatten() {
        let urls = row["evidence_urls"].as_array().unwrap();
        assert!(
            !urls.is_empty()
                && urls
                    .iter()
                    .all(|url| url.as_str().unwrap().starts_with("https://x.com/"))
        );
    }
    // On the day before, the same account had the opposite opinion.
    let sol = lists[1].iter().find(|row| row["symbol"] == "SOL").unwrap();
    assert_eq!(
        (&sol["label"], &sol["bearish"]),
        (
            &"bearish".into(),
            &serde_json::json!(["kol_two", "kol_three"])
        )
    );
    assert!(
        !sol["score_yesterday"].as_str().unwrap().starts_with('-'),
        "{sol}"
    );
    assert_eq!(data["change"]["posts_yesterday"], 3);
    assert!(
        data["change"]["gone"]
            .as_array()
            .unwrap()
            .contains(&"USDC".into())
    );
    for text in ["looks strong", "dumping", "Watching"] {
        assert!(
            !body.to_string().contains(text),
            "only sentences that are claims are quoted"
        );
    }
}

#[tokio::test]
async fn a_token_is_described_with_the_available_parts() {
    let shop = Shop::open().await;
    let body = shop.buy("/token-alpha?symbol=$okb").await;
    let data = &body["data"];
    assert_eq!(
        (&data["symbol"], data["news"].as_array().unwrap().len()),
        (&"OKB".into(), 2)
    );
    assert_eq!(
        (
            &data["social"]["mentions"],
            &data["social"]["bullish_ratio"]
        ),
        (&1412.into(), &"0.4972".into())
    );
    assert_eq!(data["social"]["trend"].as_array().unwrap().len(), 2);
    for leg in ["price", "derivatives"] {
        assert!(
            !data[leg].is_null() || why_missing(&body, &format!("data.{leg}")).is_some(),
            "{leg} is silently absent"
        );
    }
    let unknown = shop
        .refused("/token-alpha?symbol=NOSUCHTOKEN", 404, "not_found")
        .await;
    assert_eq!(unknown["reason"], "symbol_not_found");
}

#[tokio::test]
async fn a_token_is_described_from_the_snapshot_when_its_source_is_down() {
    let shop = Shop::without(&["okx"]).await;
    let body = shop.buy("/token-alpha?symbol=BTC").await;
    assert!(!body["data"]["news"].as_array().unwrap().is_empty());
    // Another source counts the mentions, but gives no mood.
    assert_eq!(status(&body, "lunarcrush.coins"), "ok");
    assert!(
        why_missing(&body, "data.social.bullish_ratio").is_some(),
        "{}",
        body["meta"]
    );
    assert_eq!(status(&body, "okx.news"), "unavailable");
}

#[tokio::test]
async fn the_report_names_what_it_lacks() {
    let shop = Shop::open().await;
    let body = shop.buy("/mega-report").await;
    let sections = body["data"]["sections"].as_object().unwrap();
    let missing: Vec<&str> = body["data"]["missing"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    for name in [
        "headlines",
        "sentiment",
        "kol_alpha",
        "trending",
        "yield",
        "derivatives",
        "macro",
    ] {
        assert_eq!(sections[name].is_null(), missing.contains(&name), "{name}");
        assert_eq!(
            why_missing(&body, &format!("data.sections.{name}")).is_some(),
            missing.contains(&name),
            "{name}"
        );
    }
    assert!(!missing.contains(&"headlines") && !missing.contains(&"kol_alpha"));
    // The report has data that no single section sells, and whole lists.
    let data = &body["data"];
    let moods = data["cross_checks"]["moods"].as_array().unwrap();
    assert!(moods.len() >= 3, "{moods:?}");
    assert!(data["change"]["news"]["articles"].as_u64().unwrap() > 0);
    assert_eq!(data["change"]["leaders"]["posts_yesterday"], 3);
    assert!(!data["catalysts"].as_array().unwrap().is_empty());
    let funding = shop.buy("/funding-rates").await;
    assert_eq!(sections["derivatives"], funding["data"]["markets"]);
}

#[tokio::test]
async fn a_report_without_headlines_and_trends_is_refused() {
    let shop = Shop::without(&["okx", "coindesk", "rss", "cryptopanic", "coingecko"]).await;
    let error = shop.refused("/mega-report", 503, "core_data_missing").await;
    assert_eq!(
        error["missing"],
        serde_json::json!(["headlines_or_trending"])
    );
}

#[tokio::test]
async fn a_caller_can_refuse_old_news() {
    let shop = Shop::open().await;
    shop.buy("/crypto-news?max_age=600").await;
    let body = shop.buy("/crypto-news?provenance=1").await;
    assert!(body["meta"]["provenance"]["/data/headlines"].is_object());
}
