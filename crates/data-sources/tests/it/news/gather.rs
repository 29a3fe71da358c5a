//! The hourly collection.

use data_sources::{Error, SourceStatus};
use readings::news::{DateFlag, FearGreedBand, SentimentMethod, Tone};
use wiremock::MockServer;

use crate::news::{at, desk, feeds::world, json, now, recorded, xml};

#[tokio::test]
async fn the_recordings_make_a_digest() {
    let server = world().await;
    let told = desk(&server).gather(now()).await.unwrap();
    let digest = told.value;
    let headlines = &digest.headlines;
    let titled = |part: &str| {
        headlines
            .iter()
            .find(|headline| headline.title.contains(part))
            .unwrap()
    };
    // Two sources report the story an hour and a quarter apart. The earlier report is kept, in UTC.
    let streak = titled("extend inflow streak");
    assert_eq!(
        (streak.source.as_str(), streak.also_reported_by.as_slice()),
        ("Cointelegraph", &["CoinDesk".to_owned()][..])
    );
    assert_eq!(
        streak.published_at.unwrap().to_string(),
        "2026-11-20T23:45:00Z"
    );
    // The Block reports the story in its own feed. OKX's report under another title adds its
    // labels.
    let fees = titled("Layer-2 fee cut");
    assert_eq!(
        (fees.source.as_str(), fees.url.as_str()),
        ("The Block", "https://www.theblock.co/post/1")
    );
    assert_eq!(
        (fees.sentiment.label, fees.sentiment.method),
        (Tone::Positive, SentimentMethod::UpstreamLabels)
    );
    let undated = titled("bad date");
    assert_eq!(
        (undated.published_at, undated.published_at_flag),
        (None, Some(DateFlag::Unparsable))
    );
    assert_eq!(undated.rank, headlines.len());
    let clean = titled("Protocol halts market");
    assert_eq!(clean.url, "https://www.coindesk.com/tech/2026/11/20/a2");
    assert!(headlines[0].title.starts_with("Spot BTC funds"));
    assert_eq!(digest.brief.sentiment.method, SentimentMethod::Mixed);
    let index = digest.brief.fear_greed.unwrap();
    assert_eq!((index.value, index.label), (44, FearGreedBand::Fear));
    assert!(
        digest
            .brief
            .text
            .contains("“Spot BTC funds log fourth straight day of inflows” (The Block)")
    );
    // Sources without a key are not listed as unavailable; sources that do not answer are.
    assert!(
        !told
            .sources
            .iter()
            .any(|source| source.source == "cryptopanic.posts")
    );
    let decrypt = told
        .sources
        .iter()
        .find(|source| source.source == "rss.decrypt")
        .unwrap();
    assert_eq!(decrypt.status.reason(), Some("upstream_http_404"));
}

#[tokio::test]
async fn one_source_alone_is_no_digest() {
    let server = MockServer::start().await;
    let items: String = (0..9)
        .map(|n| format!("<item><title>Story number {n} of many</title><link>https://a.example/{n}</link></item>"))
        .collect();
    at(
        &server,
        "/decrypt_url",
        xml(&format!(
            r#"<rss version="2.0"><channel>{items}</channel></rss>"#
        )),
    )
    .await;
    let refused = desk(&server).gather(now()).await.unwrap_err();
    // The reasons of the other sources are stated.
    assert!(
        matches!(&refused, Error::Source(error) if error.source == "okx.news"),
        "{refused}"
    );
}

#[tokio::test]
async fn an_index_of_another_day_is_none() {
    for body in [
        r#"{"data":[{"value":"44","timestamp":"1795046400"}],"metadata":{"error":null}}"#,
        r#"{"data":[{"value":"44","timestamp":"1795305600"}],"metadata":{"error":null}}"#,
        r#"{"data":[{"value":"101","timestamp":"1795219200"}],"metadata":{"error":null}}"#,
        r#"{"data":[{"value":"-1","timestamp":"1795219200"}],"metadata":{"error":null}}"#,
        r#"{"data":[],"metadata":{"error":null}}"#,
        r#"{"data":[{"value":"44","timestamp":"1795219200"}],"metadata":{"error":"limit"}}"#,
        r#"{"data":[{"value":44.5,"timestamp":"1795219200"}]}"#,
    ] {
        let server = MockServer::start().await;
        at(&server, "/alternative/fng/", json(body)).await;
        at(
            &server,
            "/okx/api/v6/dex/market/social/news/latest",
            json(&recorded("okx_social/news_latest.json")),
        )
        .await;
        at(
            &server,
            "/coindesk_url/",
            xml(&recorded("rss/coindesk.xml")),
        )
        .await;
        at(
            &server,
            "/cointelegraph_url",
            xml(&recorded("rss/cointelegraph.xml")),
        )
        .await;
        let told = desk(&server).gather(now()).await.unwrap();
        assert_eq!(told.value.brief.fear_greed, None, "{body}");
        let index = told
            .sources
            .iter()
            .find(|source| source.source == "alternative-me.fear-greed")
            .unwrap();
        assert!(
            matches!(index.status, SourceStatus::Unavailable { .. }),
            "{body}"
        );
    }
}
