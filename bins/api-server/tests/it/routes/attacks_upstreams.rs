//! Every upstream lies, and every route is called. An answer that the server still sells is whole
//! and labelled. Any other call is refused uncharged, with a name. The server never breaks.

use api_server::Config;
use jiff::{SignedDuration, Timestamp};
use replay::{Recordings, ReplayServer};
use route_catalog::{Method, Operation};
use serde_json::Value;

use crate::routes::attacks_liar::{Liar, Lie};
use crate::routes::shop::{Shop, recorded_at, well_formed};

/// How far an upstream's time may be ahead of this clock, plus the duration of a test.
const AHEAD: SignedDuration = SignedDuration::from_mins(10);
/// Routes that need no upstream: the server builds their answers from reviewed contracts.
const LOCAL: [&str; 2] = ["/approve", "/yield-watch"];

/// A shop whose upstreams all lie. The second value is the server of the recordings, which must
/// outlive the shop.
pub(crate) async fn deceived(lie: Lie) -> (Shop, ReplayServer) {
    let origin = ReplayServer::start(Recordings::embedded().unwrap())
        .await
        .unwrap();
    let root = origin.base_url("").trim_end_matches('/').to_owned();
    let liar = Liar::before(root, lie).await;
    let url = liar.url();
    let shop = Shop::changed(move |config, replay| redirect(config, replay, &url, lie)).await;
    (shop, origin)
}

fn redirect(config: &mut Config, replay: &ReplayServer, liar: &str, lie: Lie) {
    let honest = replay.base_url("");
    let honest = honest.trim_end_matches('/');
    for chain in config.chains.0.values_mut() {
        for url in &mut chain.rpc_urls {
            let path = url
                .strip_prefix(honest)
                .expect("a recorded node")
                .to_owned();
            *url = format!("{liar}{path}");
        }
    }
    for table in config.upstreams.0.values_mut() {
        let urls: Vec<(String, String)> = table
            .urls()
            .map(|(key, url)| (key.to_owned(), url.to_owned()))
            .collect();
        for (key, url) in urls {
            let path = url
                .strip_prefix(honest)
                .expect("a recorded upstream")
                .to_owned();
            assert!(table.set_url(&key, format!("{liar}{path}")));
        }
        if lie == Lie::Silence {
            table.timeout_ms = Some(50);
        }
    }
}

/// The target of the example call of a route, if the route has the method GET.
pub(crate) fn example(operation: Operation) -> Option<String> {
    let route = operation.route();
    (route.method == Method::Get).then(|| route.example_call().target)
}

/// The result of a call.
#[derive(Debug)]
pub(crate) enum Outcome {
    Sold(Value),
    Refused(String),
}

pub(crate) async fn ask(shop: &Shop, target: &str) -> Outcome {
    let before = shop.world.paid();
    let payment = shop.world.buyer.payment(target).await;
    let answer = shop.world.buyer.get_paid(target, &payment).await;
    let body = answer.body();
    if answer.status == 200 {
        assert!(shop.world.paid() > before, "{target} was not charged");
        well_formed(target, &body);
        return Outcome::Sold(body);
    }
    let (status, error) = (answer.status, &body["error"]);
    assert_eq!(
        shop.world.paid(),
        before,
        "{target} was charged for {status}"
    );
    assert_eq!(error["charged"], false, "{target}: {}", answer.text);
    assert_ne!(status, 500, "{target}: {}", answer.text);
    Outcome::Refused(error["code"].as_str().expect("a code").to_owned())
}

/// Calls every route, and applies `check` to the sold answers.
async fn all(lie: Lie, check: impl Fn(&str, &Value)) -> Vec<(String, Outcome)> {
    let (shop, _origin) = deceived(lie).await;
    let mut outcomes = Vec::new();
    for target in Operation::ALL.into_iter().filter_map(example) {
        let outcome = ask(&shop, &target).await;
        if let Outcome::Sold(body) = &outcome {
            check(&target, body);
            let as_of: Timestamp = body["meta"]["as_of"].as_str().unwrap().parse().unwrap();
            assert!(
                as_of <= recorded_at() + AHEAD,
                "{lie:?} {target}: as_of {as_of} is ahead"
            );
        }
        outcomes.push((target, outcome));
    }
    outcomes
}

/// Collects every text of a value, with the path to it.
fn texts(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => found.push((path.to_owned(), text.clone())),
        Value::Array(items) => items
            .iter()
            .for_each(|item| texts(item, &format!("{path}[]"), found)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            found.push((format!("{path} (name)"), name.clone()));
            texts(member, &format!("{path}.{name}"), found);
        }),
        _ => {}
    }
}

fn all_texts(value: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    texts(value, "", &mut found);
    found
}

/// The last member of a path.
fn member(path: &str) -> &str {
    path.rsplit('.')
        .next()
        .unwrap_or_default()
        .trim_end_matches("[]")
}

/// Asserts that no route sells except those that need no upstream. Any other answer would be made
/// up.
async fn sells_nothing(lie: Lie) {
    for (target, outcome) in all(lie, |_, _| {}).await {
        let local = LOCAL.iter().any(|path| target.starts_with(path));
        if let Outcome::Sold(body) = outcome {
            assert!(local, "{lie:?}: {target} was sold: {body}");
        }
    }
}

#[tokio::test]
async fn a_page_is_no_answer() {
    sells_nothing(Lie::Page).await;
    sells_nothing(Lie::PageAsJson).await;
}

#[tokio::test]
async fn a_failure_inside_a_success_is_a_failure() {
    sells_nothing(Lie::Business).await;
}

#[tokio::test]
async fn a_cut_or_endless_answer_is_none() {
    sells_nothing(Lie::Cut).await;
    sells_nothing(Lie::Deep).await;
    // None of these answers states its length. The adapter drops an answer when it gets too long.
    sells_nothing(Lie::Huge).await;
}

#[tokio::test]
async fn an_upstream_that_hangs_up_or_is_silent_ends_in_time() {
    sells_nothing(Lie::Hangup).await;
    sells_nothing(Lie::Silence).await;
}

#[tokio::test]
async fn malformed_figures_are_never_shown() {
    for lie in [Lie::NotANumber, Lie::Enormous] {
        all(lie, |target, body| {
            for (path, text) in all_texts(&body["data"]) {
                let none = matches!(text.as_str(), "NaN" | "inf" | "-inf" | "Infinity");
                assert!(
                    !none && !text.contains("e300"),
                    "{lie:?} {target}: {path} is {text}"
                );
                assert!(
                    text.len() < 100_000,
                    "{target}: {path} has {} bytes",
                    text.len()
                );
            }
        })
        .await;
    }
}

#[tokio::test]
async fn negative_prices_are_never_shown() {
    let never_negative = [
        "price_usd",
        "market_cap_usd",
        "liquidity_usd",
        "tvl_usd",
        "total_tvl_usd",
        "volume_24h_usd",
        "total_supply",
        "oi_usd",
        "mark_px",
        "mark",
    ];
    all(Lie::Negative, |target, body| {
        for (path, text) in all_texts(&body["data"]) {
            let negative = never_negative.contains(&member(&path)) && text.starts_with('-');
            assert!(!negative, "{target}: {path} is {text}");
        }
    })
    .await;
}

#[tokio::test]
async fn future_times_are_not_shown_as_the_present() {
    // The times of these members are in the future by nature.
    let ahead = [
        "next_at",
        "expires_at",
        "end_time",
        "valid_until",
        "funding_time",
        "next_funding_at",
    ];
    all(Lie::Future, |target, body| {
        for (path, text) in all_texts(body) {
            if let Ok(time) = text.parse::<Timestamp>() {
                let scheduled = path.contains(".catalyst");
                let next = scheduled || ahead.contains(&member(&path));
                let fine = next || time <= recorded_at() + AHEAD;
                assert!(fine, "{target}: {path} is {text}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_about_another_subject_is_not_sold() {
    let subjects = ["/price?", "/token-security?", "/vet-token?"];
    for (target, outcome) in all(Lie::Impostor, |_, _| {}).await {
        if subjects.iter().any(|path| target.starts_with(path)) {
            // A price may come from a source whose answers are keyed by the requested token.
            let keyed = match &outcome {
                Outcome::Sold(body) => body["data"]["source"] == "defillama.coins",
                Outcome::Refused(_) => true,
            };
            assert!(keyed, "{target}: {outcome:?}");
        }
    }
}

#[tokio::test]
async fn a_hollow_core_is_not_sold() {
    // An empty list can be a true answer: an account without positions, a search without hits. The
    // macro core of /rwa-pulse comes as CSV, which this lie does not change.
    let full = [
        "/token-security",
        "/vet-token",
        "/token-deep-dive",
        "/price",
        "/crypto-news",
    ];
    for (target, outcome) in all(Lie::Hollow, |_, _| {}).await {
        let path = target.split('?').next().unwrap();
        if full.contains(&path) {
            assert!(
                matches!(outcome, Outcome::Refused(_)),
                "{target}: {outcome:?}"
            );
        }
    }
}

#[tokio::test]
async fn doubled_rows_break_nothing() {
    all(Lie::Twice, |_, _| {}).await;
}

#[tokio::test]
async fn texts_of_strangers_are_shown_and_cannot_hide() {
    let hidden = |c: char| {
        let bidi = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        bidi || (c.is_control() && c != '\n')
    };
    all(Lie::Injected, |target, body| {
        for (path, text) in all_texts(body) {
            assert!(
                !text.contains(hidden),
                "{target}: {path} hides something: {text:?}"
            );
            let names = path.ends_with(".name") || path.ends_with(".symbol");
            assert!(
                !(names && text.contains("<script")),
                "{target}: {path} has markup: {text:?}"
            );
        }
    })
    .await;
}
