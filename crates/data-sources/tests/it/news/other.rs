//! CoinDesk Data, CryptoPanic, X and LunarCrush.

use data_sources::{
    Error, SourceConfig, SourceErrorKind, coindesk::Coindesk, cryptopanic::Cryptopanic,
    lunarcrush::Lunarcrush, transport::Transport, x_api::XApi,
};
use readings::{news::Tone, symbol::SymbolKey};

use crate::news::{answering, clock, config, json, recorded};

fn transport() -> Transport {
    Transport::new().unwrap()
}

#[tokio::test]
async fn coindesk_brings_its_own_weights_and_tones() {
    let server = answering(json(&recorded("coindesk_data/news_article_list.json"))).await;
    let coindesk = Coindesk::new(&transport(), config(&server, &["base_url"]), clock()).unwrap();
    let told = coindesk.news().await.unwrap().value;
    assert_eq!(
        (told[0].weight, told[0].tones.as_slice()),
        (Some(70), &[Tone::Positive][..])
    );
    assert_eq!(
        (told[0].symbols.as_slice(), told[0].categories.as_slice()),
        (&["BTC".to_owned()][..], &["ETF".to_owned()][..])
    );
    assert_eq!(
        told[0].published_at.unwrap().to_string(),
        "2026-11-21T00:30:00Z"
    );
    let request = server.received_requests().await.unwrap().remove(0);
    assert_eq!(request.headers["authorization"], "Apikey test-key");
}

#[tokio::test]
async fn coindesk_reports_failures_inside_a_success() {
    for (body, expected) in [
        (
            r#"{"Data":[],"Err":{"type":1,"message":"limit"}}"#,
            "upstream_business_err",
        ),
        (r#"{"Err":{}}"#, "upstream_business_err"),
        (r#"{"Data":[{"TITLE":"x"}],"Err":{}}"#, "upstream_malformed"),
        (r#"{"Data":{},"Err":{}}"#, "upstream_malformed"),
    ] {
        let server = answering(json(body)).await;
        let coindesk =
            Coindesk::new(&transport(), config(&server, &["base_url"]), clock()).unwrap();
        assert_eq!(
            coindesk.news().await.unwrap_err().kind.reason(),
            expected,
            "{body}"
        );
    }
}

#[tokio::test]
async fn cryptopanic_has_its_key_in_the_query_and_nowhere_else() {
    let server = answering(json(&recorded("cryptopanic/posts.json"))).await;
    let cryptopanic =
        Cryptopanic::new(&transport(), config(&server, &["base_url"]), clock()).unwrap();
    let told = cryptopanic.news().await.unwrap().value;
    assert_eq!(
        (told[0].publisher.name(), told[0].symbols.as_slice()),
        ("CoinDesk", &["BTC".to_owned()][..])
    );
    assert_eq!(told[0].tones, [Tone::Positive]);
    let request = server.received_requests().await.unwrap().remove(0);
    assert!(request.url.query().unwrap().contains("auth_token=test-key"));
    let broken = answering(json("{")).await;
    let cryptopanic =
        Cryptopanic::new(&transport(), config(&broken, &["base_url"]), clock()).unwrap();
    let error = cryptopanic.news().await.unwrap_err();
    assert!(!error.to_string().contains("test-key"), "{error}");
    let keyless = Cryptopanic::new(&transport(), SourceConfig::default(), clock()).unwrap();
    assert!(matches!(
        keyless.news().await.unwrap_err().kind,
        SourceErrorKind::Disabled { .. }
    ));
}

#[tokio::test]
async fn posts_are_taken_without_their_text() {
    let server = answering(json(&recorded("x_api/list_tweets.json"))).await;
    let x = XApi::new(&transport(), config(&server, &["base_url"]), clock()).unwrap();
    let told = x.posts().await.unwrap().value;
    let first = &told.posts[0];
    assert_eq!(
        first.url,
        "https://x.com/kol_one/status/1991000000000000001"
    );
    let (symbol, score) = &first.content.stances[0];
    assert_eq!((symbol.as_str(), first.reactions), ("BTC", Some(2067)));
    assert!(score.0 > readings::Decimal::ZERO);
    assert!(!format!("{told:?}").contains("looks strong"));
    let requests = server.received_requests().await.unwrap();
    // The pages repeat each other and never reach two days back, so no more of them are bought.
    assert_eq!(requests.len(), 2);
    assert!(
        requests[1]
            .url
            .query()
            .unwrap()
            .contains("pagination_token=7140dibdnow9c7btw4")
    );
    let oldest = told.posts.iter().map(|post| post.at).min().unwrap();
    assert_eq!(told.covered_from, oldest);
    let request = requests.first().unwrap();
    assert_eq!(request.url.path(), "/base_url/2/lists/42/tweets");
    assert_eq!(request.headers["authorization"], "Bearer test-key");
}

#[tokio::test]
async fn x_without_a_list_is_disabled_and_an_empty_list_is_empty() {
    let empty = answering(json(r#"{"meta":{"result_count":0}}"#)).await;
    let x = XApi::new(&transport(), config(&empty, &["base_url"]), clock()).unwrap();
    let told = x.posts().await.unwrap().value;
    assert!(told.posts.is_empty());
    // The list ends: all of two days is covered.
    assert_eq!(told.covered_from.to_string(), "2026-11-19T01:02:00Z");
    let failing = answering(json(r#"{"errors":[{"title":"Not Found"}]}"#)).await;
    let x = XApi::new(&transport(), config(&failing, &["base_url"]), clock()).unwrap();
    assert_eq!(
        x.posts().await.unwrap_err().kind.reason(),
        "upstream_business_errors"
    );
    let listless = SourceConfig {
        options: [("list_id".to_owned(), "42/../../users".to_owned())].into(),
        ..config(&empty, &["base_url"])
    };
    let x = XApi::new(&transport(), listless, clock()).unwrap();
    assert!(matches!(
        x.posts().await.unwrap_err().kind,
        SourceErrorKind::Disabled {
            reason: "no list_id"
        }
    ));
}

#[tokio::test]
async fn lunarcrush_counts_and_claims_no_shares() {
    let server = answering(json(&recorded("lunarcrush/coins_list.json"))).await;
    let lunarcrush =
        Lunarcrush::new(&transport(), config(&server, &["base_url"]), clock()).unwrap();
    let told = lunarcrush
        .mentions_of(&SymbolKey::new("btc").unwrap())
        .await
        .unwrap();
    let btc = &told.value.tokens[0];
    assert_eq!((btc.mentions, btc.balance()), (212_345, None));
    assert_eq!(
        told.sources[0].as_of.unwrap().to_string(),
        "2026-11-21T00:58:20Z"
    );
    let unknown = lunarcrush
        .mentions_of(&SymbolKey::new("ETH").unwrap())
        .await
        .unwrap_err();
    assert!(matches!(
        unknown,
        Error::NotFound {
            reason: "symbol_not_found",
            ..
        }
    ));
}

#[tokio::test]
async fn upstreams_see_the_configured_user_agent() {
    let server = answering(json(r#"{"meta":{"result_count":0}}"#)).await;
    let named = Transport::named("svc-api-server/1.0 (+ops@example.com)").unwrap();
    let x = XApi::new(&named, config(&server, &["base_url"]), clock()).unwrap();
    x.posts().await.unwrap();
    let request = server.received_requests().await.unwrap().remove(0);
    assert_eq!(
        request.headers["user-agent"],
        "svc-api-server/1.0 (+ops@example.com)"
    );
}
