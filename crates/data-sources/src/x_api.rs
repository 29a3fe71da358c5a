//! X: posts of a list of accounts, with a key. Texts are read but not kept, because the terms
//! forbid to pass them on.

mod archive;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use readings::{
    Figure,
    social::{Content, Post, Posts},
};
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded;

pub use self::archive::Archive;
use self::archive::{Page, Reading};
use crate::{
    budget::{Families, Rate},
    error::{SourceError, SourceErrorKind},
    json::read_json,
    news::{post_url, x_handle},
    provenance::{Clock, Mode, Sourced},
    source::{Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    transport::{Transport, TransportError},
};

const SOURCE: &str = "x.list";
/// How far a post may be ahead of our clock.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);
/// The greatest age of a post: a day, and the day before for comparison.
const WINDOW: SignedDuration = SignedDuration::from_hours(48);
/// Most pages that are read, unless the configuration says otherwise.
const PAGES: u32 = 10;
/// The largest value that the configuration accepts.
const MOST_PAGES: u32 = 32;
/// Posts of a page while no earlier post is known: the most that the interface sends.
const MOST: u32 = 100;
/// Posts of the first page when earlier posts are known.
const FEW: u32 = 10;
/// Posts that a probe reads.
const HANDFUL: u32 = 5;

/// X: posts of a list of accounts, with a key. Clones share everything.
#[derive(Clone, Debug)]
pub struct XApi {
    source: Source,
    archive: Arc<Mutex<Archive>>,
}

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
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "x_api",
        urls: &[("base_url", "https://api.x.com")],
        key: KeyRule::Required,
        sources: &[SOURCE],
        families: Families::One(Rate::per_minute(30)),
        ..UpstreamSpec::DATA
    };

    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] when an address cannot be used.
    pub fn new(
        transport: &Transport,
        config: SourceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        Ok(Self {
            source: Source::new(transport, Self::SPEC, config, clock)?,
            archive: Arc::default(),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Posts of the last two days in the operator's list, newest first: the archived ones, and
    /// newer ones (`GET /2/lists/{id}/tweets`). X charges for each post that it sends, so reading
    /// ends at the first known post, and the first pages are small. Without a known post, pages of
    /// a hundred are read until they cover two days, at most as many as `pages` in the
    /// configuration.
    ///
    /// # Errors
    ///
    /// A [`SourceError`]; disabled without a key or without `list_id`. A further page that fails
    /// only shortens the covered time, and nothing of such a reading is kept.
    pub async fn posts(&self) -> Result<Sourced<Posts>, SourceError> {
        let since = self.source.now().checked_sub(WINDOW);
        let since = since.unwrap_or(Timestamp::UNIX_EPOCH);
        let list = self.list()?.to_owned();
        let known = self.archive().within(&list, since);
        let mut reading = Reading::default();
        let mut sources = Vec::new();
        let mut size = match (known.is_empty(), self.source.mode()) {
            (false, Mode::Live) => FEW,
            // A recording has pages of one size.
            _ => MOST,
        };
        let mut token: Option<String> = None;
        for at in 0..self.pages() {
            let page = match self.page(token.as_deref(), size).await {
                Ok(page) if at == 0 => {
                    sources = page.sources;
                    page.value
                }
                Ok(page) => page.value,
                Err(error) if at == 0 => return Err(error),
                Err(_) => {
                    reading.broken_off = true;
                    break;
                }
            };
            token = page.next.clone();
            let news = reading.take(page, &known);
            let reaches = reading.oldest.is_some_and(|oldest| oldest <= since);
            if reading.met || token.is_none() || reaches {
                reading.complete = true;
                break;
            }
            // A page without a new row repeats an earlier one, and such pages would never end.
            if !news {
                break;
            }
            size = size.saturating_mul(2).min(MOST);
        }
        let broken_off = reading.broken_off;
        let archive = known.with(reading, since);
        let told = archive.posts();
        if !broken_off {
            *self.kept() = archive;
        }
        Ok(Sourced {
            value: told,
            sources,
        })
    }

    /// A few of the newest posts of the list, for a probe.
    ///
    /// # Errors
    ///
    /// As [`Self::posts`].
    pub async fn newest(&self) -> Result<Sourced<Vec<Post>>, SourceError> {
        let page = self.page(None, HANDFUL).await?;
        Ok(page.map(|page| page.posts))
    }

    /// The posts that were read so far, to be kept.
    #[must_use]
    pub fn archive(&self) -> Archive {
        self.kept().clone()
    }

    /// Takes in posts that were read before, or by another server.
    pub fn take_in(&self, other: Archive) {
        let mut ours = self.kept();
        let joined = std::mem::take(&mut *ours).joined(other);
        *ours = joined;
    }

    fn kept(&self) -> MutexGuard<'_, Archive> {
        self.archive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Most pages of one reading.
    fn pages(&self) -> u32 {
        let chosen = self
            .source
            .option("pages")
            .and_then(|pages| pages.parse().ok());
        chosen.unwrap_or(PAGES).clamp(1, MOST_PAGES)
    }

    /// Whether the operator has chosen a list.
    pub fn has_list(&self) -> bool {
        self.list().is_ok()
    }

    async fn page(&self, token: Option<&str>, size: u32) -> Result<Sourced<Page>, SourceError> {
        let now = self.source.now();
        let list = self.list()?;
        let mut path = format!(
            "/2/lists/{list}/tweets?max_results={size}&tweet.fields=created_at,public_metrics,lang,author_id\
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

fn page(answer: Answer, now: Timestamp) -> Result<Page, SourceErrorKind> {
    let next = answer.meta.next_token;
    let Some(rows) = answer.data else {
        // A list without posts has no `data`. An answer with errors only is a failure.
        return match answer.errors {
            Some(errors) if !errors.is_empty() => Err(SourceErrorKind::Business {
                code: "errors".to_owned(),
                message: format!("{} errors", errors.len()),
            }),
            _ => Ok(Page {
                posts: Vec::new(),
                seen: Vec::new(),
                next: None,
            }),
        };
    };
    let users = answer.includes.users;
    let seen = rows.iter().filter_map(seen).collect();
    let posts = rows.into_iter().filter_map(|row| post(row, &users, now));
    Ok(Page {
        posts: posts.collect(),
        seen,
        next,
    })
}

/// The id and the time of a row, even of a row that is not shown.
fn seen(row: &Value) -> Option<(String, Timestamp)> {
    let text = |member: &str| row.get(member)?.as_str();
    Some((text("id")?.to_owned(), text("created_at")?.parse().ok()?))
}

fn post(row: Value, users: &[User], now: Timestamp) -> Option<Post> {
    let row: Row = crate::wire::row(row)?;
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
        // A sum with a missing part would be wrong.
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
