//! Feeds of publishers, each an upstream of its own.

use data_sources::SourceStatus;
use wiremock::{MockServer, ResponseTemplate};

use crate::news::{at, desk, json, now, page, recorded, xml};

/// Mounts the recordings under the paths of the desk's requests.
pub(crate) async fn world() -> MockServer {
    let server = MockServer::start().await;
    let social = "/okx/api/v6/dex/market/social";
    at(
        &server,
        &format!("{social}/news/latest"),
        json(&recorded("okx_social/news_latest.json")),
    )
    .await;
    at(
        &server,
        "/coindesk/news/v1/article/list",
        json(&recorded("coindesk_data/news_article_list.json")),
    )
    .await;
    at(
        &server,
        "/alternative/fng/",
        json(&recorded("alternative_me/fng.json")),
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
    at(
        &server,
        "/theblock_url",
        xml(&recorded("rss/theblock_atom.xml")),
    )
    .await;
    server
}

#[tokio::test]
async fn a_challenge_page_takes_down_one_feed_alone() {
    let server = world().await;
    at(&server, "/decrypt_url", page(403)).await;
    at(&server, "/blockworks_url", page(200)).await;
    let lying = ResponseTemplate::new(200)
        .set_body_raw(recorded("rss/decrypt_cloudflare_403.html"), "text/xml");
    at(&server, "/thedefiant_url", lying).await;
    let told = desk(&server).gather(now()).await.unwrap();
    let status = |id: &str| {
        let source = told
            .sources
            .iter()
            .find(|source| source.source == id)
            .unwrap();
        source.status.clone()
    };
    let unavailable = |reason: &str| SourceStatus::Unavailable {
        reason: reason.to_owned(),
    };
    assert_eq!(status("rss.coindesk"), SourceStatus::Ok);
    assert_eq!(status("rss.theblock"), SourceStatus::Ok);
    assert_eq!(status("rss.decrypt"), unavailable("upstream_http_403"));
    assert_eq!(
        status("rss.blockworks"),
        unavailable("upstream_wrong_content_type")
    );
    assert_eq!(status("rss.thedefiant"), unavailable("upstream_malformed"));
}

#[tokio::test]
async fn a_rate_limit_of_one_publisher_is_no_rate_limit_of_another() {
    let server = world().await;
    let limited = ResponseTemplate::new(429).insert_header("retry-after", "3600");
    at(&server, "/decrypt_url", limited).await;
    let desk = desk(&server);
    for _ in 0..2 {
        let told = desk.gather(now()).await.unwrap();
        let ok = told
            .sources
            .iter()
            .filter(|source| source.status == SourceStatus::Ok);
        let ok: Vec<_> = ok
            .map(|source| source.source)
            .filter(|id| id.starts_with("rss."))
            .collect();
        assert_eq!(ok, ["rss.coindesk", "rss.cointelegraph", "rss.theblock"]);
    }
    let asked = server.received_requests().await.unwrap();
    let decrypt = asked
        .iter()
        .filter(|request| request.url.path() == "/decrypt_url")
        .count();
    assert_eq!(decrypt, 1, "it was asked again although it said when");
}

#[tokio::test]
async fn a_feed_without_end_is_not_read_to_the_end() {
    let server = world().await;
    at(&server, "/decrypt_url", xml(&"<rss>".repeat(1024 * 1024))).await;
    let told = desk(&server).gather(now()).await.unwrap();
    let decrypt = told
        .sources
        .iter()
        .find(|source| source.source == "rss.decrypt")
        .unwrap();
    assert_eq!(decrypt.status.reason(), Some("upstream_too_large"));
}
