//! X: posts of a list of accounts, with a key. Texts are read for symbols and not kept: the terms
//! forbid to pass them on.

use jiff::{SignedDuration, Timestamp};
use readings::{Figure, social::Post};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    budget::{Families, QuotaSpec, Rate},
    error::{SourceError, SourceErrorKind},
    news::{post_url, symbols_in, x_handle},
    provenance::{Mode, Sourced},
    source::{Fault, KeyRule, UpstreamSpec, read_json, upstream},
    transport::Limits,
};

const SOURCE: &str = "x.list";
/// How far a post may be ahead of our clock.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);
/// Older posts are not told of.
const WINDOW: SignedDuration = SignedDuration::from_hours(24);

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
    /// Posts of the last day in the operator's list: `GET /2/lists/{id}/tweets`. One call reads up to
    /// a hundred, each of which is paid for.
    ///
    /// # Errors
    ///
    /// A [`SourceError`]; disabled without a key or without `list_id`.
    pub async fn posts(&self) -> Result<Sourced<Vec<Post>>, SourceError> {
        let now = self.source.now();
        let list = self.list()?;
        let path = format!(
            "/2/lists/{list}/tweets?max_results=100&tweet.fields=created_at,public_metrics,lang,author_id\
             &expansions=author_id&user.fields=public_metrics"
        );
        let ask = self.source.get(SOURCE, &path).secret_header(
            "authorization",
            "Bearer ",
            self.source.api_key(),
        );
        self.source
            .ask(ask, |reply| {
                let answer: Answer = read_json(&reply.body)?;
                posts(answer, now).map_err(Fault::<SourceError>::Upstream)
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

fn posts(answer: Answer, now: Timestamp) -> Result<Vec<Post>, SourceErrorKind> {
    let Some(rows) = answer.data else {
        // A list without posts has no `data`; an answer with errors alone is a failure.
        return match answer.errors {
            Some(errors) if !errors.is_empty() => Err(SourceErrorKind::Business {
                code: "errors".to_owned(),
                message: format!("{} errors", errors.len()),
            }),
            _ => Ok(Vec::new()),
        };
    };
    let users = answer.includes.users;
    Ok(rows
        .into_iter()
        .filter_map(|row| post(row, &users, now))
        .collect())
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
        counts
            .into_iter()
            .filter_map(count)
            .reduce(u64::saturating_add)
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
        symbols: symbols_in(&row.text),
        reactions,
    })
}
