//! The sentiment of opinion leaders, from the posts of each leader.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use serde::Serialize;

use super::{
    mood::MoodLabel,
    post::{Post, Posts},
    voice::{MAX_VOICES, TokenVoices},
};
use crate::{Figure, mean};

/// How far back posts count for a sentiment.
const WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// The fewest leaders with an opinion that give a sentiment.
pub const LEAST_LEADERS: usize = 3;
/// The most posts that are named as evidence of one leader's opinion.
const EVIDENCE: usize = 3;

const METHOD: &str = "each post's tone per token that it names, by VADER's rules with words of markets added; a leader's score is \
                      the mean of the leader's posts; a token's and the overall score count each leader once";

/// The sentiment: `data` of the route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Opinions {
    /// The window.
    pub window: &'static str,
    /// How much was read.
    pub coverage: Coverage,
    /// How the scores are computed.
    pub method: &'static str,
    /// The mean of the leaders' scores.
    pub overall: Opinion,
    /// Tokens that more leaders are for than against, by symbol.
    pub bullish: Vec<String>,
    /// Tokens that more leaders are against than for, by symbol.
    pub bearish: Vec<String>,
    /// Each token of which leaders have an opinion, those with the most leaders first.
    pub by_token: Vec<TokenOpinion>,
    /// Each leader who posted about a token, the most followed first.
    pub leaders: Vec<Leader>,
}

/// How much was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// How many accounts are known.
    pub known: usize,
    /// How many of these are leaders: the most followed ones, at most 50.
    pub leaders: usize,
    /// How many leaders posted within the window.
    pub posted: usize,
    /// How many leaders posted about a token.
    pub with_opinion: usize,
    /// How many of the leaders' posts within the window were read.
    pub posts: usize,
    /// Whether every post of the window was read.
    pub complete: bool,
}

/// A score and the word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Opinion {
    /// The score from −1 to 1.
    pub score: Figure,
    /// The score in one word.
    pub label: MoodLabel,
}

/// The leaders' opinion of one token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenOpinion {
    /// Its symbol.
    pub symbol: String,
    /// The mean of the leaders' scores for it.
    pub score: Figure,
    /// The score in one word.
    pub label: MoodLabel,
    /// How many leaders have an opinion of it.
    pub leaders: usize,
    /// How many of these are in favour of it.
    pub bullish: usize,
    /// How many of these are against it.
    pub bearish: usize,
}

/// One leader's opinion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leader {
    /// The account's name on X, without `@`.
    pub handle: String,
    /// The number of its followers.
    pub followers: Option<u64>,
    /// How many of its posts within the window name a token.
    pub posts: usize,
    /// The mean of its scores over the tokens.
    pub score: Figure,
    /// The score in one word.
    pub label: MoodLabel,
    /// Its opinion of each token.
    pub tokens: Vec<LeaderToken>,
    /// The posts on which it is based, the newest first.
    pub evidence_urls: Vec<String>,
}

/// One leader's opinion of one token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeaderToken {
    /// Its symbol.
    pub symbol: String,
    /// The score from −1 to 1.
    pub score: Figure,
    /// The score in one word.
    pub label: MoodLabel,
}

/// Returns the opinions of the most followed accounts, among those whose posts were read and those
/// in `talking`. `None` when fewer than [`LEAST_LEADERS`] of them have one.
#[must_use]
pub fn opinions(read: &Posts, talking: &[TokenVoices], now: Timestamp) -> Option<Opinions> {
    let since = now.checked_sub(WINDOW).unwrap_or(Timestamp::MIN);
    let (known, all) = most_followed(read, talking);
    let within = |post: &&Post| post.at >= since;
    let mut leaders = Vec::new();
    let (mut posted, mut posts) = (0_usize, 0_usize);
    for (key, followers) in &known {
        let of = || {
            let own = read
                .posts
                .iter()
                .filter(|post| post.handle.eq_ignore_ascii_case(key));
            own.filter(within)
        };
        let count = of().count();
        posts = posts.saturating_add(count);
        posted = posted.saturating_add(usize::from(count > 0));
        leaders.extend(leader(of(), *followers));
    }
    if leaders.len() < LEAST_LEADERS {
        return None;
    }
    let scores: Vec<_> = leaders.iter().map(|leader| leader.score.0).collect();
    let by_token = by_token(&leaders);
    let leaning = |label: MoodLabel| {
        let of = by_token.iter().filter(|token| token.label == label);
        of.map(|token| token.symbol.clone()).collect()
    };
    Some(Opinions {
        window: "24h",
        coverage: Coverage {
            known: all,
            leaders: known.len(),
            posted,
            with_opinion: leaders.len(),
            posts,
            complete: read.covered_from <= since,
        },
        method: METHOD,
        overall: opinion(mean(&scores)?),
        bullish: leaning(MoodLabel::Bullish),
        bearish: leaning(MoodLabel::Bearish),
        by_token,
        leaders,
    })
}

/// Returns the most followed accounts, each once with its followers, and the number of all
/// accounts.
fn most_followed(read: &Posts, talking: &[TokenVoices]) -> (Vec<(String, Option<u64>)>, usize) {
    let listed = read.posts.iter().map(|post| (&post.handle, post.followers));
    let voices = talking.iter().flat_map(|token| &token.voices);
    let talking = voices.map(|voice| (&voice.handle, voice.followers));
    let mut all: BTreeMap<String, Option<u64>> = BTreeMap::new();
    for (handle, followers) in listed.chain(talking) {
        let known = all.entry(handle.to_ascii_lowercase()).or_default();
        *known = (*known).max(followers);
    }
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then_with(|| a.cmp(b)));
    let total = all.len();
    all.truncate(MAX_VOICES);
    (all, total)
}

/// Returns one leader's opinion. `None` when no post names a token.
fn leader<'a>(posts: impl Iterator<Item = &'a Post>, followers: Option<u64>) -> Option<Leader> {
    let mut about: Vec<&Post> = posts
        .filter(|post| !post.content.stances.is_empty())
        .collect();
    about.sort_by_key(|post| std::cmp::Reverse(post.at));
    let handle = about.first()?.handle.clone();
    let mut tokens: BTreeMap<&str, Vec<Decimal>> = BTreeMap::new();
    for (symbol, score) in about.iter().flat_map(|post| &post.content.stances) {
        tokens.entry(symbol).or_default().push(score.0);
    }
    let tokens: Vec<LeaderToken> = tokens
        .into_iter()
        .filter_map(|(symbol, scores)| {
            let Opinion { score, label } = opinion(mean(&scores)?);
            let symbol = symbol.to_owned();
            Some(LeaderToken {
                symbol,
                score,
                label,
            })
        })
        .collect();
    let scores: Vec<_> = tokens.iter().map(|token| token.score.0).collect();
    let Opinion { score, label } = opinion(mean(&scores)?);
    Some(Leader {
        handle,
        followers,
        posts: about.len(),
        score,
        label,
        tokens,
        evidence_urls: about
            .iter()
            .take(EVIDENCE)
            .map(|post| post.url.clone())
            .collect(),
    })
}

fn by_token(leaders: &[Leader]) -> Vec<TokenOpinion> {
    let mut scores: BTreeMap<&str, Vec<&LeaderToken>> = BTreeMap::new();
    for token in leaders.iter().flat_map(|leader| &leader.tokens) {
        scores.entry(&token.symbol).or_default().push(token);
    }
    let mut rows: Vec<TokenOpinion> = scores
        .into_iter()
        .filter_map(|(symbol, of)| {
            let all: Vec<_> = of.iter().map(|token| token.score.0).collect();
            let Opinion { score, label } = opinion(mean(&all)?);
            let count = |label: MoodLabel| of.iter().filter(|token| token.label == label).count();
            Some(TokenOpinion {
                symbol: symbol.to_owned(),
                score,
                label,
                leaders: of.len(),
                bullish: count(MoodLabel::Bullish),
                bearish: count(MoodLabel::Bearish),
            })
        })
        .collect();
    rows.sort_by(|a, b| {
        b.leaders
            .cmp(&a.leaders)
            .then_with(|| a.symbol.cmp(&b.symbol))
    });
    rows
}

fn opinion(score: Decimal) -> Opinion {
    let score = score.round_dp(4);
    Opinion {
        score: Figure(score),
        label: MoodLabel::of(score),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{post::Content, voice::Voice},
        *,
    };

    const NOW: i64 = 1_795_222_920;

    fn at(hours_ago: i64) -> Timestamp {
        Timestamp::from_second(NOW - hours_ago * 3600).unwrap()
    }

    fn post(handle: &str, hours_ago: i64, text: &str) -> Post {
        Post {
            handle: handle.into(),
            followers: Some(u64::try_from(handle.len()).unwrap() * 100),
            url: format!("https://x.com/{handle}/status/{hours_ago}"),
            at: at(hours_ago),
            reactions: None,
            content: Content::read(text),
        }
    }

    fn read(posts: Vec<Post>) -> Posts {
        Posts {
            posts,
            covered_from: at(48),
        }
    }

    #[test]
    fn each_leader_counts_once_whatever_their_posts_and_followers() {
        let posts = vec![
            post("a", 1, "BTC looks strong"),
            post("A", 2, "BTC great, amazing breakout"),
            post("bb", 3, "BTC looks weak"),
            post("ccc", 4, "BTC is a disaster, dumping"),
            post("ccc", 30, "BTC to the moon, great"),
            post("dddd", 5, "good morning"),
        ];
        let told = opinions(&read(posts), &[], at(0)).unwrap();
        let btc = &told.by_token[0];
        assert_eq!((btc.symbol.as_str(), btc.leaders), ("BTC", 3));
        assert_eq!((btc.bullish, btc.bearish), (1, 2));
        assert_eq!(
            told.coverage,
            Coverage {
                known: 4,
                leaders: 4,
                posted: 4,
                with_opinion: 3,
                posts: 5,
                complete: true
            }
        );
        // The post of the day before is in no score.
        let third = told
            .leaders
            .iter()
            .find(|leader| leader.handle == "ccc")
            .unwrap();
        assert_eq!((third.posts, third.label), (1, MoodLabel::Bearish));
        assert_eq!(third.evidence_urls, ["https://x.com/ccc/status/4"]);
        let most = told.leaders.first().unwrap();
        assert_eq!(most.handle, "ccc", "most followed first");
    }

    #[test]
    fn two_leaders_give_no_sentiment() {
        let posts = vec![post("a", 1, "BTC strong"), post("b", 1, "BTC weak")];
        assert_eq!(opinions(&read(posts), &[], at(0)), None);
    }

    #[test]
    fn leaders_whose_posts_cannot_be_read_lower_the_coverage() {
        let posts = ["a", "b", "c"].map(|handle| post(handle, 1, "ETH looks strong"));
        let voice = Voice {
            handle: "unread".into(),
            followers: Some(1_000_000),
            engagement: None,
            mentions: Some(3),
            first_post: None,
        };
        let talking = [TokenVoices {
            symbol: "BTC".into(),
            voices: vec![voice],
        }];
        let told = opinions(&read(posts.to_vec()), &talking, at(0)).unwrap();
        assert_eq!((told.coverage.leaders, told.coverage.posted), (4, 3));
        assert!(told.by_token.iter().all(|token| token.symbol == "ETH"));
    }

    #[test]
    fn fifty_leaders_are_the_most() {
        let posts = (0..80).map(|n| Post {
            followers: Some(n),
            ..post(&format!("v{n}"), 1, "BTC looks strong")
        });
        let told = opinions(&read(posts.collect()), &[], at(0)).unwrap();
        assert_eq!((told.coverage.leaders, told.leaders.len()), (50, 50));
        assert_eq!(told.coverage.known, 80);
        assert!(
            told.leaders
                .iter()
                .all(|leader| leader.followers >= Some(30))
        );
    }
}
