//! News and social media, composed from every source that has them.
//!
//! [`NewsDesk::gather`] asks all sources at once for the hourly snapshot. Answers between two
//! snapshots are kept for a while.

mod desk;
mod gather;
mod leaders;
mod markup;
mod post;

use readings::news::Article;
use serde_json::Value;

pub use self::{
    desk::{Leading, NewsDesk, NewsSources},
    leaders::SocialToken,
};
pub(crate) use self::{
    markup::{html_title, label, plain_title},
    post::{post_url, x_handle},
};
use crate::error::SourceErrorKind;

/// The usable articles of `rows`. A bad row does not affect the others, but bad rows alone are an
/// error.
pub(crate) fn articles(
    source: &'static str,
    rows: &[Value],
    read: impl Fn(&Value) -> Option<Article>,
) -> Result<Vec<Article>, SourceErrorKind> {
    let articles: Vec<Article> = rows.iter().filter_map(read).collect();
    let rejected = rows.len() - articles.len();
    if articles.is_empty() && rejected > 0 {
        return Err(SourceErrorKind::Malformed {
            path: "$".to_owned(),
            expected: "at least one usable article",
            observed: format!("{rejected} others"),
        });
    }
    if rejected > 0 {
        tracing::warn!(source, rejected, "articles were left out");
    }
    Ok(articles)
}
