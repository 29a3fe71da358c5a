//! Tests of the digest of a day, and of the comparison with the day before.

use super::{super::post::Content, *};

const NOW: i64 = 1_795_222_920;

fn at(hours_ago: i64) -> Timestamp {
    Timestamp::from_second(NOW - hours_ago * 3600).unwrap()
}

fn post(handle: &str, hours_ago: i64, text: &str) -> Post {
    Post {
        handle: handle.into(),
        followers: Some(10),
        url: format!("https://x.com/{handle}/status/{hours_ago}"),
        at: at(hours_ago),
        reactions: Some(1),
        content: Content::read(text),
    }
}

fn read(posts: Vec<Post>, hours: i64) -> Posts {
    Posts {
        posts,
        covered_from: at(hours),
    }
}

#[test]
fn the_digest_reports_the_content_of_posts() {
    let posts = vec![
        post(
            "one",
            1,
            "BTC looks strong, $BTC to $100k on spot ETF inflows",
        ),
        post("two", 2, "BTC great breakout"),
        post("three", 3, "SOL is weak, liquidations everywhere on SOL"),
    ];
    let told = digest(&read(posts, 48), at(0), Extent::First).unwrap();
    assert_eq!((told.posts, told.authors, told.complete), (3, 3, true));
    let claims: Vec<&str> = told.claims.iter().map(|row| row.claim.as_str()).collect();
    assert_eq!(
        claims,
        [
            "@one: “BTC looks strong, $BTC to $100k on spot ETF inflows”",
            "@three: “SOL is weak, liquidations everywhere on SOL”",
        ]
    );
    let btc = &told.stances[0];
    assert_eq!(
        (btc.symbol.as_str(), btc.label),
        ("BTC", MoodLabel::Bullish)
    );
    assert_eq!(btc.bullish, ["one", "two"]);
    assert!(told.topics.iter().any(|row| row.topic == "etf"));
    let links = told.claims.iter().map(|row| &row.evidence_urls);
    assert!(links.clone().all(|urls| !urls.is_empty()));
}

#[test]
fn the_day_is_compared_with_the_day_before() {
    let posts = vec![
        post("one", 1, "BTC looks strong"),
        post("one", 30, "BTC looks weak"),
        post("two", 40, "bridge hacked, ETH drained"),
    ];
    let told = digest(&read(posts.clone(), 48), at(0), Extent::First).unwrap();
    let change = told.change.unwrap();
    assert_eq!(change.posts_yesterday, 2);
    assert!(change.tone.unwrap() > change.tone_yesterday.unwrap());
    assert!(change.gone.contains(&"ETH".to_owned()), "{change:?}");
    assert!(told.stances[0].score_yesterday.unwrap().0 < Decimal::ZERO);
    // The day before was not read completely, so no change is stated.
    let told = digest(&read(posts, 47), at(0), Extent::First).unwrap();
    assert_eq!((told.change, told.stances[0].score_yesterday), (None, None));
    assert!(told.complete);
}

#[test]
fn the_digest_of_a_busy_day_states_the_full_counts() {
    let posts = (b'A'..=b'T').map(|letter| {
        let letter = char::from(letter);
        post("one", 1, &format!("$QQ{letter} was hacked"))
    });
    let told = digest(&read(posts.collect(), 48), at(0), Extent::First).unwrap();
    assert_eq!((told.stances.len(), told.shown_of.stances), (MOST, 20));
    assert_eq!((told.claims.len(), told.shown_of.claims), (MOST, 20));
}

#[test]
fn posts_without_content_make_no_digest() {
    assert_eq!(
        digest(&read(vec![post("a", 1, "gm")], 48), at(0), Extent::First),
        None
    );
    let old = post("a", 25, "BTC looks strong");
    assert_eq!(digest(&read(vec![old], 48), at(0), Extent::First), None);
    assert_eq!(digest(&Posts::default(), at(0), Extent::First), None);
}
