//! Opinion leaders of a token: each with its reach and its first post. Texts of posts are never
//! read.

use jiff::Timestamp;
use readings::{Figure, social::Voice};
use serde::Deserialize;
use serde_json::Value;

use super::{LEADERS, count, past_millis};
use crate::{
    error::SourceErrorKind,
    news::{post_url, x_handle},
};

#[derive(Deserialize)]
pub(super) struct Data {
    kols: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    handle: String,
    #[serde(default, deserialize_with = "Figure::lenient")]
    followers: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    engagement: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    mentions: Option<Figure>,
    #[serde(default)]
    first_mention: Option<FirstMention>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FirstMention {
    #[serde(default, deserialize_with = "Figure::lenient")]
    time: Option<Figure>,
    #[serde(default)]
    content_id: Option<String>,
}

pub(super) fn voices(data: Data, now: Timestamp) -> Result<Vec<Voice>, SourceErrorKind> {
    let rows = data.kols.len();
    let kols = data.kols.into_iter().take(usize::from(LEADERS));
    let voices: Vec<Voice> = kols.filter_map(|row| voice(row, now)).collect();
    if rows > 0 && voices.is_empty() {
        return Err(SourceErrorKind::Malformed {
            path: "$.kols".to_owned(),
            expected: "at least one usable row",
            observed: format!("{rows} others"),
        });
    }
    Ok(voices)
}

fn voice(row: Value, now: Timestamp) -> Option<Voice> {
    let row: Row = crate::wire::row(row)?;
    let handle = x_handle(&row.handle)?;
    // The address is built from the account and the post's number: a link elsewhere cannot slip in.
    let first_post = row.first_mention.and_then(|first| {
        let id = first.content_id?;
        let at = past_millis(first.time, now)?;
        post_url(&handle, &id).map(|url| (at, url))
    });
    Some(Voice {
        handle,
        followers: count(row.followers),
        engagement: count(row.engagement),
        mentions: count(row.mentions),
        first_post,
    })
}
