//! The digest of a day's posts by opinion leaders, and the changes from the day before: topics,
//! stances and claims. Each names the posts on which it is based. Claims are quoted word for word.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use serde::Serialize;

use super::{
    mood::MoodLabel,
    post::{Claim, ClaimKind, Post, Posts},
};
use crate::{Extent, Figure, mean};

/// A day.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// The most rows of a list.
const MOST: usize = 12;
/// The most posts that a row names.
const EVIDENCE: usize = 5;
/// The most accounts that a sentence names.
const NAMED: usize = 3;

/// The digest: `data` of the route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PostDigest {
    /// The window: the last day.
    pub window: &'static str,
    /// How many posts of the window were read.
    pub posts: usize,
    /// How many accounts posted within the window.
    pub authors: usize,
    /// Whether every post of the window was read.
    pub complete: bool,
    /// The topics, those with the most authors first.
    pub topics: Vec<Topic>,
    /// The stances on tokens, those with the most authors first.
    pub stances: Vec<Stance>,
    /// The claims, word for word, those with the most authors first.
    pub claims: Vec<Statement>,
    /// The full lengths of the lists.
    pub shown_of: ShownOf,
    /// The changes from the day before. `null` when the posts of that day are incomplete.
    pub change: Option<Change>,
    /// The accounts whose posts are in the digest, without `@`.
    pub voices: Vec<String>,
}

/// The full lengths of the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ShownOf {
    /// The length of `topics`.
    pub topics: usize,
    /// The length of `stances`.
    pub stances: usize,
    /// The length of `claims`.
    pub claims: usize,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Topic {
    /// Its name.
    pub topic: String,
    /// How many posts are about it.
    pub posts: usize,
    /// How many authors post about it.
    pub authors: usize,
    /// How many posts were about it on the day before. `null` when that is unknown.
    pub posts_yesterday: Option<usize>,
    /// The addresses of posts about it, at least one.
    pub evidence_urls: Vec<String>,
}

/// The authors who are for a token, and those who are against it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stance {
    /// The token's symbol.
    pub symbol: String,
    /// The mean tone of the posts about it, from −1 to 1.
    pub score: Figure,
    /// The tone in one word.
    pub label: MoodLabel,
    /// The authors who are in favour of it.
    pub bullish: Vec<String>,
    /// The authors who are against it.
    pub bearish: Vec<String>,
    /// The authors who name it neutrally.
    pub neutral: Vec<String>,
    /// The mean tone of the day before. `null` when there were no posts about it, or when that is
    /// unknown.
    pub score_yesterday: Option<Figure>,
    /// The addresses of posts about it, at least one.
    pub evidence_urls: Vec<String>,
}

/// A claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// Who states it, and the sentence of the post, word for word.
    pub claim: String,
    /// The kind of the claim.
    pub kind: ClaimKind,
    /// The token of the claim.
    pub symbol: Option<String>,
    /// The authors who make the claim.
    pub authors: Vec<String>,
    /// The addresses of posts with it, at least one.
    pub evidence_urls: Vec<String>,
}

/// The changes from the day before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// How many posts there were on the day before.
    pub posts_yesterday: usize,
    /// The mean tone of all posts that name a token.
    pub tone: Option<Figure>,
    /// The mean tone of the day before.
    pub tone_yesterday: Option<Figure>,
    /// Topics and tokens of this day that no post of the day before named.
    pub new: Vec<String>,
    /// Topics and tokens of the day before that no post of this day names.
    pub gone: Vec<String>,
}

/// Makes the digest of the day up to `now`, with the first rows of its lists or all of them. `None`
/// when none of the posts has content.
#[must_use]
pub fn digest(read: &Posts, now: Timestamp, extent: Extent) -> Option<PostDigest> {
    let since = now.checked_sub(DAY).unwrap_or(Timestamp::MIN);
    let before = since.checked_sub(DAY).unwrap_or(Timestamp::MIN);
    let today: Vec<&Post> = read.posts.iter().filter(|post| post.at >= since).collect();
    let of_before = read
        .posts
        .iter()
        .filter(|post| (before..since).contains(&post.at));
    let yesterday: Option<Vec<&Post>> = (read.covered_from <= before).then(|| of_before.collect());

    let mut topics = topics(&today, yesterday.as_deref());
    let mut stances = stances(&today, yesterday.as_deref());
    let mut claims = statements(&today);
    if topics.is_empty() && stances.is_empty() && claims.is_empty() {
        return None;
    }
    let shown_of = ShownOf {
        topics: topics.len(),
        stances: stances.len(),
        claims: claims.len(),
    };
    let most = extent.most(MOST);
    topics.truncate(most);
    stances.truncate(most);
    claims.truncate(most);
    let voices = authors(today.iter().copied());
    Some(PostDigest {
        window: "24h",
        posts: today.len(),
        authors: voices.len(),
        complete: read.covered_from <= since,
        topics,
        stances,
        claims,
        shown_of,
        change: yesterday.map(|yesterday| change(&today, &yesterday)),
        voices,
    })
}

fn topics(today: &[&Post], yesterday: Option<&[&Post]>) -> Vec<Topic> {
    let about = |posts: &[&Post], topic: &str| -> usize {
        posts
            .iter()
            .filter(|post| post.content.topics.contains(&topic))
            .count()
    };
    let mut groups: BTreeMap<&str, Vec<&Post>> = BTreeMap::new();
    for post in today {
        for topic in &post.content.topics {
            groups.entry(topic).or_default().push(post);
        }
    }
    let rows = groups.into_iter().map(|(topic, posts)| Topic {
        topic: topic.to_owned(),
        posts: posts.len(),
        authors: authors(posts.iter().copied()).len(),
        posts_yesterday: yesterday.map(|yesterday| about(yesterday, topic)),
        evidence_urls: evidence(&posts),
    });
    let mut rows: Vec<Topic> = rows.collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.authors, row.posts)));
    rows
}

/// Returns, for each token, the posts that name it with their scores.
fn scores<'a>(posts: &[&'a Post]) -> BTreeMap<&'a str, Vec<(&'a Post, Decimal)>> {
    let mut scores: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for post in posts {
        for (symbol, score) in &post.content.stances {
            scores
                .entry(symbol.as_str())
                .or_default()
                .push((*post, score.0));
        }
    }
    scores
}

fn score_of(of: &[(&Post, Decimal)]) -> Option<Figure> {
    let all: Vec<_> = of.iter().map(|(_, score)| *score).collect();
    Some(Figure(mean(&all)?.round_dp(4)))
}

fn stances(today: &[&Post], yesterday: Option<&[&Post]>) -> Vec<Stance> {
    let before = yesterday.map(scores).unwrap_or_default();
    let rows = scores(today).into_iter().filter_map(|(symbol, of)| {
        let score = score_of(&of)?;
        // An author's stance is the mean of the author's own posts.
        let mut by_author: BTreeMap<String, Vec<Decimal>> = BTreeMap::new();
        for (post, score) in &of {
            let author = by_author.entry(post.handle.to_ascii_lowercase());
            author.or_default().push(*score);
        }
        let standing = |wanted: MoodLabel| -> Vec<String> {
            let all = authors(of.iter().map(|(post, _)| *post)).into_iter();
            let stands = |handle: &String| {
                let own = by_author.get(&handle.to_ascii_lowercase());
                own.and_then(|own| mean(own)).map(MoodLabel::of) == Some(wanted)
            };
            all.filter(stands).collect()
        };
        let posts: Vec<&Post> = of.iter().map(|(post, _)| *post).collect();
        Some(Stance {
            symbol: symbol.to_owned(),
            score,
            label: MoodLabel::of(score.0),
            bullish: standing(MoodLabel::Bullish),
            bearish: standing(MoodLabel::Bearish),
            neutral: standing(MoodLabel::Neutral),
            score_yesterday: before.get(symbol).and_then(|of| score_of(of)),
            evidence_urls: evidence(&posts),
        })
    });
    let mut rows: Vec<Stance> = rows.collect();
    let heads = |row: &Stance| row.bullish.len() + row.bearish.len() + row.neutral.len();
    rows.sort_by(|a, b| {
        heads(b)
            .cmp(&heads(a))
            .then_with(|| a.symbol.cmp(&b.symbol))
    });
    rows
}

fn statements(today: &[&Post]) -> Vec<Statement> {
    let mut groups: BTreeMap<&Claim, Vec<&Post>> = BTreeMap::new();
    for post in today {
        for claim in &post.content.claims {
            groups.entry(claim).or_default().push(post);
        }
    }
    let rows = groups.into_iter().map(|(claim, posts)| {
        let authors = authors(posts.iter().copied());
        Statement {
            claim: sentence(claim, &authors),
            kind: claim.kind,
            symbol: claim.symbol.clone(),
            evidence_urls: evidence(&posts),
            authors,
        }
    });
    let mut rows: Vec<Statement> = rows.collect();
    // When the numbers of authors are equal, attacks come first and prices last.
    rows.sort_by_key(|row| (std::cmp::Reverse(row.authors.len()), row.kind));
    rows
}

/// Writes `@a: “…”` for one author, and `each of @a, @b and 3 more: “…”` for several.
fn sentence(claim: &Claim, authors: &[String]) -> String {
    let named: Vec<String> = authors
        .iter()
        .take(NAMED)
        .map(|handle| format!("@{handle}"))
        .collect();
    let more = authors.len().saturating_sub(NAMED);
    let who = match (named.as_slice(), more) {
        ([one], 0) => one.clone(),
        (several, 0) => format!("each of {}", several.join(", ")),
        (several, more) => format!("each of {} and {more} more", several.join(", ")),
    };
    format!("{who}: “{}”", claim.quote)
}

fn change(today: &[&Post], yesterday: &[&Post]) -> Change {
    let subjects = |posts: &[&Post]| -> BTreeSet<String> {
        let of = |post: &&Post| {
            let topics = post.content.topics.iter().map(|topic| (*topic).to_owned());
            let symbols = post
                .content
                .stances
                .iter()
                .map(|(symbol, _)| symbol.clone());
            topics.chain(symbols).collect::<Vec<_>>()
        };
        posts.iter().flat_map(of).collect()
    };
    let tone = |posts: &[&Post]| {
        let tones: Vec<_> = posts
            .iter()
            .filter_map(|post| post.content.tone())
            .collect();
        mean(&tones).map(|tone| Figure(tone.round_dp(4)))
    };
    let (now, before) = (subjects(today), subjects(yesterday));
    Change {
        posts_yesterday: yesterday.len(),
        tone: tone(today),
        tone_yesterday: tone(yesterday),
        new: now.difference(&before).cloned().collect(),
        gone: before.difference(&now).cloned().collect(),
    }
}

/// Returns the accounts of some posts, each once, in the order of the posts.
fn authors<'a>(posts: impl Iterator<Item = &'a Post>) -> Vec<String> {
    let mut handles: Vec<String> = Vec::new();
    for post in posts {
        let known = |known: &String| known.eq_ignore_ascii_case(&post.handle);
        if !handles.iter().any(known) {
            handles.push(post.handle.clone());
        }
    }
    handles
}

/// Returns the addresses of the posts with the most reactions.
fn evidence(posts: &[&Post]) -> Vec<String> {
    let mut posts = posts.to_vec();
    posts.sort_by_key(|post| std::cmp::Reverse(post.reactions));
    posts
        .iter()
        .take(EVIDENCE)
        .map(|post| post.url.clone())
        .collect()
}

#[cfg(test)]
mod tests;
