//! Posts of the list of opinion leaders.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use data_sources::news::Leading;
use data_sources::transport::Transport;
use data_sources::x_api::XApi;
use data_sources::{Clock as _, Error, SourceErrorKind};
use jiff::{SignedDuration, Timestamp};
use serde_json::json as value;
use test_support::ManualClock;
use wiremock::matchers::any;
use wiremock::{MockServer, Request, Respond, ResponseTemplate};

use super::{SOCIAL, data};
use crate::news::{answering, at, config, desk, desk_by, json, now, okx, recorded};

#[tokio::test]
async fn leaders_lead_only_to_their_own_posts() {
    let kol = |handle: &str, id: &str, url: &str| {
        value!({"handle": handle, "followers": "10", "engagement": "", "mentions": 1,
            "firstMention": {"time": 1_795_136_400_000_i64, "contentId": id, "tweetUrl": url}})
    };
    let body = data(value!({"kols": [
        kol("one", "199", "https://evil.example/phish"), kol("two", "../../evil", "https://x.com/two/status/2"),
        kol("not a handle", "1", ""), kol("оne", "1", ""), {"followers": "5"},
    ]}));
    let server = MockServer::start().await;
    at(&server, &format!("{SOCIAL}/vibe/top-kols"), json(&body)).await;
    let told = desk(&server).leaders(None).await.unwrap().tokens.value;
    assert_eq!(told.len(), 7);
    let posts: Vec<_> = told[0]
        .voices
        .iter()
        .map(|voice| {
            (
                voice.handle.as_str(),
                voice.first_post.as_ref().map(|(_, url)| url.as_str()),
            )
        })
        .collect();
    assert_eq!(
        posts,
        [("one", Some("https://x.com/one/status/199")), ("two", None)]
    );
    assert_eq!(told[0].voices[0].engagement, None);
}

#[tokio::test]
async fn tokens_without_leaders_are_left_out_and_named() {
    let server = MockServer::start().await;
    let weth = wiremock::matchers::query_param(
        "tokenAddress",
        "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2",
    );
    wiremock::Mock::given(weth)
        .respond_with(json(&recorded("okx_social/vibe_top_kols.json")))
        .mount(&server)
        .await;
    let clock = ManualClock::at(now());
    let news = desk_by(&server, clock.shared());
    let symbols = |told: &Leading| -> Vec<String> {
        let tokens = told.tokens.value.iter();
        tokens.map(|token| token.symbol.clone()).collect()
    };
    let told = news.leaders(None).await.unwrap();
    assert_eq!(symbols(&told), ["ETH"]);
    let failed: Vec<_> = told
        .failed
        .iter()
        .map(|(symbol, error)| (*symbol, error.reason()))
        .collect();
    assert_eq!(failed.len(), 6);
    assert!(failed.contains(&("BTC", "upstream_http_404".to_owned())));
    // Known leaders are kept. An incomplete result is not kept as complete: it is asked for again.
    clock.set(3);
    at(
        &server,
        &format!("{SOCIAL}/vibe/top-kols"),
        json(&recorded("okx_social/vibe_top_kols.json")),
    )
    .await;
    let told = news.leaders(None).await.unwrap();
    assert_eq!(told.tokens.value.len(), 7);
    assert!(told.failed.is_empty());
    let asked = server.received_requests().await.unwrap();
    let of_eth = asked.iter().filter(|request| {
        let query = request.url.query().unwrap_or_default();
        query.contains("0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2")
    });
    assert_eq!(of_eth.count(), 1);
    // An empty result for every token is a failure, not an empty list.
    let empty = MockServer::start().await;
    let refused = desk(&empty).leaders(None).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Source(error) if matches!(error.kind, SourceErrorKind::HttpStatus { status: 404, .. }))
    );
}

/// A list with a post every seven minutes and twelve seconds: 400 posts in two days. It counts the
/// posts that it sends.
#[derive(Clone)]
struct List {
    clock: ManualClock,
    sent: Arc<Mutex<BTreeMap<i64, u32>>>,
    requests: Arc<AtomicI64>,
    /// The number of the first request that fails, from one; zero for none.
    fails: Arc<AtomicI64>,
}

const EVERY: i64 = 432;

impl Respond for List {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let request_number = self.requests.fetch_add(1, Ordering::SeqCst) + 1;
        let fails = self.fails.load(Ordering::SeqCst);
        if fails > 0 && request_number >= fails {
            return ResponseTemplate::new(503);
        }
        let query: BTreeMap<_, _> = request.url.query_pairs().collect();
        let size: i64 = query["max_results"].parse().unwrap();
        let newest = (self.clock.now().as_second()) / EVERY;
        let first = query
            .get("pagination_token")
            .map(|token| token.parse().unwrap());
        let first: i64 = first.unwrap_or(newest);
        let rows = (0..size).map(|at| first - at);
        let row = |number: i64| {
            let at = Timestamp::from_second(number * EVERY).unwrap();
            *self.sent.lock().unwrap().entry(number).or_default() += 1;
            value!({
                "id": number.to_string(), "text": "BTC looks strong", "author_id": "1",
                "created_at": at.to_string(),
            })
        };
        let rows: Vec<_> = rows.map(row).collect();
        json(
            &value!({
                "data": rows,
                "includes": {"users": [{"id": "1", "username": "kol_one"}]},
                "meta": {"result_count": size, "next_token": (first - size).to_string()},
            })
            .to_string(),
        )
    }
}

impl List {
    async fn read_by(fails: i64, pages: &str) -> (Self, XApi, MockServer) {
        let list = Self {
            clock: ManualClock::at(now()),
            sent: Arc::default(),
            requests: Arc::default(),
            fails: Arc::new(AtomicI64::new(fails)),
        };
        let server = MockServer::start().await;
        wiremock::Mock::given(any())
            .respond_with(list.clone())
            .mount(&server)
            .await;
        (list.clone(), list.reader(&server, pages), server)
    }

    fn reader(&self, server: &MockServer, pages: &str) -> XApi {
        let mut config = config(server, &["base_url"]);
        if !pages.is_empty() {
            config.options.insert("pages".to_owned(), pages.to_owned());
        }
        config.timeout = Some(std::time::Duration::from_secs(2));
        XApi::new(&Transport::new().unwrap(), config, self.clock.shared()).unwrap()
    }

    /// How many posts were sent that had been sent before.
    fn again(&self) -> u32 {
        let sent = self.sent.lock().unwrap();
        sent.values().map(|times| times - 1).sum()
    }
}

fn covers_two_days(list: &List, told: &readings::social::Posts) -> bool {
    told.covered_from <= list.clock.now() - SignedDuration::from_hours(48)
}

/// The interface charges for a post once a day (UTC), however often it sends it. Repeated posts on
/// the first page are the ones that meet the known posts.
#[tokio::test]
async fn two_days_of_a_busy_list_are_bought_once() {
    let (list, x, server) = List::read_by(0, "").await;
    let told = x.posts().await.unwrap().value;
    assert!(covers_two_days(&list, &told), "{}", told.covered_from);
    assert!(
        (400..=401).contains(&told.posts.len()),
        "{}",
        told.posts.len()
    );
    assert_eq!(list.again(), 0);
    let first = list.sent.lock().unwrap().len();
    // Half an hour later there are four more posts.
    list.clock.set(1_800);
    let told = x.posts().await.unwrap().value;
    assert!(covers_two_days(&list, &told), "{}", told.covered_from);
    assert!(
        (400..=401).contains(&told.posts.len()),
        "{}",
        told.posts.len()
    );
    let both = list.sent.lock().unwrap().len();
    assert!((4..=5).contains(&(both - first)), "{first} {both}");
    assert!(list.again() < 10, "{}", list.again());
    assert!(
        told.posts
            .is_sorted_by_key(|post| std::cmp::Reverse(post.at))
    );

    // Another server, or this one after a restart, continues from the archive.
    let kept = serde_json::to_string(&x.archive()).unwrap();
    assert!(!kept.contains("looks strong"));
    let other = list.reader(&server, "");
    other.take_in(serde_json::from_str(&kept).unwrap());
    let before = list.sent.lock().unwrap().len();
    let told = other.posts().await.unwrap().value;
    assert!(covers_two_days(&list, &told), "{}", told.covered_from);
    assert_eq!(list.sent.lock().unwrap().len(), before);
}

#[tokio::test]
async fn a_reading_that_ends_early_covers_less_and_says_so() {
    let (list, x, _server) = List::read_by(0, "2").await;
    let told = x.posts().await.unwrap().value;
    assert_eq!(told.posts.len(), 200);
    assert_eq!(told.covered_from, told.posts.last().unwrap().at);
    assert_eq!(
        list.requests.load(Ordering::SeqCst),
        2,
        "two pages are configured"
    );
    // The posts of an interrupted reading are returned, and the next reading reads everything.
    let (list, x, _server) = List::read_by(3, "").await;
    let told = x.posts().await.unwrap().value;
    assert_eq!(told.posts.len(), 200);
    assert_eq!(told.covered_from, told.posts.last().unwrap().at);
    list.fails.store(0, Ordering::SeqCst);
    let told = x.posts().await.unwrap().value;
    assert!(covers_two_days(&list, &told), "{}", told.covered_from);
}

#[tokio::test]
async fn a_probe_of_the_list_buys_five_posts() {
    use data_sources::probe::probe;
    let (list, x, _server) = List::read_by(0, "").await;
    let found = probe(&x, list.clock.now(), &|_| Vec::new()).await;
    assert_eq!(found.rows.len(), 1);
    assert_eq!(list.sent.lock().unwrap().len(), 5);
}

/// An unreadable row is left out, and the operator can see that.
#[tokio::test]
async fn one_bad_row_among_good_ones_is_counted() {
    let good = |id: &str| value!({"id": id, "text": "BTC", "author_id": "1", "created_at": "2026-11-21T00:31:00.000Z"});
    let mut bad = good("2");
    bad.as_object_mut().unwrap().remove("text");
    let body = value!({
        "data": [good("1"), bad, good("3")],
        "includes": {"users": [{"id": "1", "username": "kol_one"}]},
        "meta": {"result_count": 3},
    });
    let server = answering(json(&body.to_string())).await;
    let config = config(&server, &["base_url"]);
    let x = XApi::new(&Transport::new().unwrap(), config, Arc::new(now())).unwrap();
    let tolerated = || x.source().health()[0].tolerated;
    assert_eq!(tolerated(), 0);
    assert_eq!(x.posts().await.unwrap().value.posts.len(), 2);
    assert_eq!(tolerated(), 1);

    // An optional figure that is invalid is left out of its row, and counted as well; an empty one
    // is not counted.
    let row = |mentions: serde_json::Value| value!({"tokenSymbol": "A", "mentionCount": 7, "sentiment": {"bullishRatio": mentions, "bearishRatio": null}});
    let rows = [row(value!("much")), row(value!("0.5")), row(value!(""))];
    let body = data(value!({"period": "24h", "ts": 1_795_222_800_000_i64, "details": rows}));
    let server = answering(json(&body)).await;
    let okx = okx(&server);
    okx.moods().await.unwrap();
    let health = okx.source().health().into_iter();
    let tolerated: u64 = health.map(|source| source.tolerated).sum();
    assert_eq!(tolerated, 1);
}
