//! X: posts of a list of accounts, with a key. Texts are read for what they say and not kept: the terms
//! forbid to pass them on.

use jiff::{SignedDuration, Timestamp};
use readings::{
    Figure,
    social::{Content, Post, Posts},
};
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded;

use crate::{
    budget::{Families, QuotaSpec, Rate},
    error::{SourceError, SourceErrorKind},
    json::read_json,
    news::{post_url, x_handle},
    provenance::{Mode, Sourced},
    source::{Conduct, Fault, KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

const SOURCE: &str = "x.list";
/// How far a post may be ahead of our clock.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);
/// Older posts are not told of: a day, and the day before it to compare with.
const WINDOW: SignedDuration = SignedDuration::from_hours(48);
/// Most pages that are read, of up to a hundred posts each.
const PAGES: usize = 3;

upstream!(
    /// X: posts of a list of accounts, with a key.
    XApi,
    UpstreamSpec {
        name: "x_api",
        urls: &[("base_url", "https://api.x.com")],
        key: KeyRule::Required,
        sources: &[SOURCE],
        families: Families::One(Rate::per_minute(30)),
        quota: QuotaSpec::NONE,
        models: false,
        limits: Limits::USUAL,
        conduct: Conduct::DATA,
    }
);

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    data: Option<Vec<Value>>,
    #[serde(default)]
    includes: Includes,
    #[serde(default)]
    errors: Option<Vec<Value>>,
    #[serde(default)]
    meta: Meta,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default)]
    next_token: Option<String>,
}

#[derive(Default, Deserialize)]
struct Includes {
    #[serde(default)]
    users: Vec<User>,
}

#[derive(Deserialize)]
struct User {
    id: String,
    username: String,
    #[serde(default)]
    public_metrics: Option<UserMetrics>,
}

#[derive(Deserialize)]
struct UserMetrics {
    #[serde(default, deserialize_with = "Figure::lenient")]
    followers_count: Option<Figure>,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    text: String,
    author_id: String,
    created_at: String,
    #[serde(default)]
    public_metrics: Option<Metrics>,
}

#[derive(Deserialize)]
struct Metrics {
    #[serde(default, deserialize_with = "Figure::lenient")]
    retweet_count: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    reply_count: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    like_count: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    quote_count: Option<Figure>,
}

impl XApi {
    /// Posts of the last two days in the operator's list: `GET /2/lists/{id}/tweets`, newest first. One call reads up to
    /// a hundred, each of which is paid for; further pages are read until the two days are covered, three at most.
    ///
    /// # Errors
    ///
    /// A [`SourceError`]; disabled without a key or without `list_id`. A further page that fails only shortens what is
    /// covered.
    pub async fn posts(&self) -> Result<Sourced<Posts>, SourceError> {
        let since = self.source.now().checked_sub(WINDOW);
        let since = since.unwrap_or(Timestamp::UNIX_EPOCH);
        let first = self.page(None).await?;
        let (mut all, mut next, mut oldest) =
            (first.value.posts, first.value.next, first.value.oldest);
        for _ in 1..PAGES {
            let reaches = oldest.is_some_and(|oldest| oldest <= since);
            let Some(token) = next.take().filter(|_| !reaches) else {
                break;
            };
            let Ok(page) = self.page(Some(&token)).await else {
                next = Some(token);
                break;
            };
            all.extend(page.value.posts);
            next = page.value.next;
            oldest = page.value.oldest.or(oldest);
        }
        let covered_from = match (next, oldest) {
            (Some(_), Some(oldest)) => oldest.max(since),
            // The list ends within the window.
            _ => since,
        };
        all.retain(|post| post.at >= since);
        Ok(Sourced {
            value: Posts {
                posts: all,
                covered_from,
            },
            sources: first.sources,
        })
    }

    /// Whether the operator has chosen a list.
    pub fn has_list(&self) -> bool {
        self.list().is_ok()
    }

    async fn page(&self, token: Option<&str>) -> Result<Sourced<Page>, SourceError> {
        let now = self.source.now();
        let list = self.list()?;
        let mut path = format!(
            "/2/lists/{list}/tweets?max_results=100&tweet.fields=created_at,public_metrics,lang,author_id\
             &expansions=author_id&user.fields=public_metrics"
        );
        if let Some(token) = token {
            path.push_str("&pagination_token=");
            path.extend(form_urlencoded::byte_serialize(token.as_bytes()));
        }
        let ask = self.source.get(SOURCE, &path).secret_header(
            "authorization",
            "Bearer ",
            self.source.api_key(),
        );
        self.source
            .ask(ask, |reply| {
                let answer: Answer = read_json(&reply.body)?;
                page(answer, now).map_err(Fault::<SourceError>::Upstream)
            })
            .await
    }

    fn list(&self) -> Result<&str, SourceError> {
        let digits = |id: &&str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        let chosen = self.source.option("list_id").filter(digits);
        match (chosen, self.source.mode()) {
            (Some(id), _) => Ok(id),
            (None, Mode::Replay) => Ok("0"),
            (None, Mode::Live) => Err(SourceError {
                source: SOURCE,
                kind: SourceErrorKind::Disabled {
                    reason: "no list_id",
                },
            }),
        }
    }
}

/// One page of a list.
struct Page {
    posts: Vec<Post>,
    /// The time of its oldest post, of accounts that are not known as well.
    oldest: Option<Timestamp>,
    next: Option<String>,
}

fn page(answer: Answer, now: Timestamp) -> Result<Page, SourceErrorKind> {
    let next = answer.meta.next_token;
    let Some(rows) = answer.data else {
        // A list without posts has no `data`; an answer with errors alone is a failure.
        return match answer.errors {
            Some(errors) if !errors.is_empty() => Err(SourceErrorKind::Business {
                code: "errors".to_owned(),
                message: format!("{} errors", errors.len()),
            }),
            _ => Ok(Page {
                posts: Vec::new(),
                oldest: None,
                next: None,
            }),
        };
    };
    let users = answer.includes.users;
    let time = |row: &Value| row.get("created_at")?.as_str()?.parse::<Timestamp>().ok();
    let oldest = rows.iter().filter_map(time).min();
    let posts = rows.into_iter().filter_map(|row| post(row, &users, now));
    Ok(Page {
        posts: posts.collect(),
        oldest,
        next,
    })
}

fn post(row: Value, users: &[User], now: Timestamp) -> Option<Post> {
    let row: Row = serde_json::from_value(row).ok()?;
    let author = users.iter().find(|user| user.id == row.author_id)?;
    let handle = x_handle(&author.username)?;
    let at: Timestamp = row.created_at.parse().ok()?;
    let age = now.duration_since(at);
    if age > WINDOW || age < -TOLERANCE {
        return None;
    }
    let count = |figure: Option<Figure>| figure.and_then(|figure| u64::try_from(figure.0).ok());
    let metrics = row.public_metrics;
    let reactions = metrics.and_then(|metrics| {
        let counts = [
            metrics.like_count,
            metrics.retweet_count,
            metrics.reply_count,
            metrics.quote_count,
        ];
        // A sum without one of them is not the sum.
        let counts: Option<Vec<u64>> = counts.into_iter().map(count).collect();
        counts?.into_iter().reduce(u64::saturating_add)
    });
    let followers = author
        .public_metrics
        .as_ref()
        .and_then(|metrics| count(metrics.followers_count));
    Some(Post {
        url: post_url(&handle, &row.id)?,
        handle,
        followers,
        at: at.min(now),
        content: Content::read(&row.text),
        reactions,
    })
}
