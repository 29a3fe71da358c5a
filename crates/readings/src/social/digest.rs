//! A digest of posts in which every sentence is a count or a time, and leads to a post.

use jiff::Timestamp;
use serde::Serialize;

use super::{mood::Mood, voice::TokenVoices};
use crate::{news::canonical_url, symbol::SymbolKey};

/// Most points of a digest.
const MOST_POINTS: usize = 12;
/// Most posts behind a point.
const MOST_EVIDENCE: usize = 5;
/// Most themes.
const MOST_THEMES: usize = 10;
/// A balance of mentions within a window that counts as more or less, in percent.
const NOTABLE_CHANGE_PCT: u64 = 10;

/// A post of a leader: where it is and how it did. Its text is not ours to sell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Who posted, without `@`.
    pub handle: String,
    /// How many follow the account.
    pub followers: Option<u64>,
    /// Where the post is.
    pub url: String,
    /// When it was posted.
    pub at: Timestamp,
    /// Symbols of tokens in it.
    pub symbols: Vec<String>,
    /// Likes, reposts, replies and quotes together.
    pub reactions: Option<u64>,
}

/// A digest: `data` of the route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PostDigest {
    /// What is being posted.
    pub digest: Vec<PostPoint>,
    /// Symbols of what is being posted about, most posts first.
    pub themes: Vec<String>,
    /// Whose posts stand behind it, without `@`.
    pub voices: Vec<String>,
}

/// One sentence and the posts behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PostPoint {
    /// Made here from counts and times; no words of a post.
    pub point: String,
    /// At least one.
    pub evidence_urls: Vec<String>,
}

/// Digests the leaders' first posts about tokens and the posts of a list. `None` when there is no
/// post to lead to.
#[must_use]
pub fn digest(tokens: &[TokenVoices], posts: &[Post], mood: Option<&Mood>) -> Option<PostDigest> {
    let mut points: Vec<(Option<u64>, PostPoint)> = tokens
        .iter()
        .filter_map(|token| about_token(token, mood))
        .collect();
    points.extend(posts.iter().filter_map(about_post));
    if points.is_empty() {
        return None;
    }
    // The most followed first, those of whom it is not known last; the sort is stable, so that equals keep the source's order.
    points.sort_by_key(|(reach, _)| std::cmp::Reverse(*reach));
    points.truncate(MOST_POINTS);
    Some(PostDigest {
        themes: themes(tokens, posts),
        voices: voices(tokens, posts),
        digest: points.into_iter().map(|(_, point)| point).collect(),
    })
}

/// What the leaders' first posts about a token say, and how its mentions went.
fn about_token(token: &TokenVoices, mood: Option<&Mood>) -> Option<(Option<u64>, PostPoint)> {
    let mut first: Vec<_> = token
        .voices
        .iter()
        .filter_map(|voice| {
            let (at, url) = voice.first_post.as_ref()?;
            Some((voice, *at, canonical_url(url)?))
        })
        .collect();
    first.sort_by_key(|(_, at, _)| *at);
    let (earliest, at, _) = first.first()?;
    let counted = first.iter().filter_map(|(voice, ..)| voice.followers);
    let at_least = match counted.clone().count() == first.len() {
        true => "",
        false => "at least ",
    };
    let reach = counted.reduce(u64::saturating_add);
    let symbol = &token.symbol;
    let mut point = match first.len() {
        1 => format!(
            "@{} posts about {symbol}, first at {}",
            earliest.handle,
            minute(*at)
        ),
        more => format!(
            "{more} opinion leaders post about {symbol}, @{} first, at {}",
            earliest.handle,
            minute(*at)
        ),
    };
    if let Some(reach) = reach {
        point.push_str(&format!(" ({at_least}{reach} followers together)"));
    }
    if let Some(change) = change_of_mentions(token, mood) {
        point.push_str(&change);
    }
    let evidence_urls = first
        .into_iter()
        .take(MOST_EVIDENCE)
        .map(|(.., url)| url)
        .collect();
    Some((
        reach,
        PostPoint {
            point,
            evidence_urls,
        },
    ))
}

/// How mentions went from the first to the last stretch of the window, if they went anywhere.
fn change_of_mentions(token: &TokenVoices, mood: Option<&Mood>) -> Option<String> {
    let found = mood?.of(&SymbolKey::new(&token.symbol)?)?;
    let (first, last) = (found.trend.first()?, found.trend.last()?);
    let (then, now) = (first.mentions, last.mentions);
    let notable = then.checked_mul(NOTABLE_CHANGE_PCT)? / 100;
    let word = if now > then.saturating_add(notable) {
        "rising"
    } else if now < then.saturating_sub(notable) {
        "falling"
    } else {
        return None;
    };
    Some(format!(
        "; mentions are {word}, from {then} in the stretch of {} to {now} in that of {}",
        minute(first.at),
        minute(last.at)
    ))
}

fn about_post(post: &Post) -> Option<(Option<u64>, PostPoint)> {
    let url = canonical_url(&post.url)?;
    let subject = match post.symbols.as_slice() {
        [] => return None,
        symbols => symbols
            .iter()
            .take(3)
            .cloned()
            .collect::<Vec<_>>()
            .join(", "),
    };
    let reactions = post
        .reactions
        .map(|reactions| format!(", {reactions} reactions"))
        .unwrap_or_default();
    let point = format!(
        "@{} posts about {subject} at {}{reactions}",
        post.handle,
        minute(post.at)
    );
    let point = PostPoint {
        point,
        evidence_urls: vec![url],
    };
    Some((post.followers, point))
}

/// Symbols by how many posts are about them.
fn themes(tokens: &[TokenVoices], posts: &[Post]) -> Vec<String> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    let mut add = |symbol: &str, count: usize| {
        if count == 0 {
            return;
        }
        match counts.iter_mut().find(|(known, _)| known == symbol) {
            Some((_, known)) => *known += count,
            None => counts.push((symbol.to_owned(), count)),
        }
    };
    for token in tokens {
        let posted = token
            .voices
            .iter()
            .filter(|voice| voice.first_post.is_some())
            .count();
        add(&token.symbol, posted);
    }
    for symbol in posts.iter().flat_map(|post| &post.symbols) {
        add(symbol, 1);
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
        .into_iter()
        .take(MOST_THEMES)
        .map(|(symbol, _)| symbol)
        .collect()
}

fn voices(tokens: &[TokenVoices], posts: &[Post]) -> Vec<String> {
    let leaders = tokens.iter().flat_map(|token| &token.voices);
    let posted = leaders
        .filter(|voice| voice.first_post.is_some())
        .map(|voice| &voice.handle);
    let listed = posts
        .iter()
        .filter(|post| !post.symbols.is_empty())
        .map(|post| &post.handle);
    let mut handles: Vec<String> = Vec::new();
    for handle in posted.chain(listed) {
        if !handles
            .iter()
            .any(|known| known.eq_ignore_ascii_case(handle))
        {
            handles.push(handle.clone());
        }
    }
    handles
}

/// A time to the minute.
fn minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%MZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            mood::{TrendPoint, tests::mood},
            voice::Voice,
        },
        *,
    };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn voice(handle: &str, followers: u64, first: Option<(i64, &str)>) -> Voice {
        Voice {
            handle: handle.into(),
            followers: Some(followers),
            engagement: None,
            mentions: None,
            first_post: first.map(|(time, url)| (at(time), url.to_owned())),
        }
    }

    fn token(symbol: &str, voices: Vec<Voice>) -> TokenVoices {
        TokenVoices {
            symbol: symbol.into(),
            voices,
        }
    }

    #[test]
    fn every_point_leads_to_a_post() {
        let url = "https://x.com/kol_one/status/1990000000000000001";
        let tokens = [
            token(
                "ETH",
                vec![
                    voice("kol_one", 812_345, Some((1_795_136_400, url))),
                    voice("kol_two", 120_345, None),
                ],
            ),
            token("SOL", vec![voice("kol_two", 120_345, None)]),
        ];
        let told = digest(&tokens, &[], None).unwrap();
        assert_eq!(
            told.digest,
            [PostPoint {
                point: "@kol_one posts about ETH, first at 2026-11-20T01:00Z (812345 followers together)".into(),
                evidence_urls: vec![url.into()],
            }]
        );
        assert_eq!(
            (told.themes, told.voices),
            (vec!["ETH".to_owned()], vec!["kol_one".to_owned()])
        );
    }

    #[test]
    fn without_a_post_there_is_nothing_to_say() {
        assert_eq!(
            digest(&[token("ETH", vec![voice("a", 1, None)])], &[], None),
            None
        );
        assert_eq!(digest(&[], &[], None), None);
        // What is no link is no evidence.
        let bad = token("ETH", vec![voice("a", 1, Some((1, "javascript:alert(1)")))]);
        assert_eq!(digest(&[bad], &[], None), None);
    }

    #[test]
    fn unknown_followers_are_not_none() {
        let link = "https://x.com/a/status/1";
        let unknown = |handle: &str| Voice {
            followers: None,
            ..voice(handle, 0, Some((1_795_136_400, link)))
        };
        let point = |voices: Vec<Voice>| {
            let told = digest(&[token("ETH", voices)], &[], None).unwrap();
            told.digest[0].point.clone()
        };
        assert_eq!(
            point(vec![unknown("a")]),
            "@a posts about ETH, first at 2026-11-20T01:00Z"
        );
        let known = voice("b", 7, Some((1_795_136_401, link)));
        assert!(point(vec![unknown("a"), known]).ends_with(" (at least 7 followers together)"));
    }

    #[test]
    fn several_leaders_are_told_of_together_with_the_trend() {
        let tokens = [token(
            "BTC",
            vec![
                voice(
                    "late",
                    10,
                    Some((1_795_215_600, "https://x.com/late/status/2")),
                ),
                voice(
                    "early",
                    5,
                    Some((1_795_212_000, "https://x.com/early/status/1")),
                ),
            ],
        )];
        let point = |seconds, mentions| TrendPoint {
            at: at(seconds),
            mentions,
            bullish_ratio: None,
            bearish_ratio: None,
        };
        let mut btc = mood("BTC", "0.5", "0.2");
        btc.trend = vec![point(1_795_215_600, 712), point(1_795_219_200, 801)];
        let moods = Mood {
            window: "24h".into(),
            as_of: at(1_795_222_800),
            tokens: vec![btc],
        };
        let told = digest(&tokens, &[], Some(&moods)).unwrap();
        assert_eq!(
            told.digest[0].point,
            "2 opinion leaders post about BTC, @early first, at 2026-11-20T22:00Z (15 followers together); mentions are \
             rising, from 712 in the stretch of 2026-11-20T23:00Z to 801 in that of 2026-11-21T00:00Z"
        );
        assert_eq!(told.digest[0].evidence_urls.len(), 2);
    }

    #[test]
    fn posts_of_a_list_are_counted_not_quoted() {
        let post = Post {
            handle: "kol_one".into(),
            followers: Some(9),
            url: "https://x.com/kol_one/status/1991000000000000001".into(),
            at: at(1_795_221_060),
            symbols: vec!["BTC".into()],
            reactions: Some(2066),
        };
        let about_nothing = Post {
            symbols: Vec::new(),
            ..post.clone()
        };
        let told = digest(&[], &[post, about_nothing], None).unwrap();
        assert_eq!(told.digest.len(), 1);
        assert_eq!(
            told.digest[0].point,
            "@kol_one posts about BTC at 2026-11-21T00:31Z, 2066 reactions"
        );
    }
}
