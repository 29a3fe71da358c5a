//! `GET /chart/{pool}`.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use readings::{Figure, defi::history::Point};
use serde::Deserialize;

use super::{Defillama, MIB};
use crate::{
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::Sourced,
    source::Fault,
    text::clean,
    transport::QUOTED_CHARS,
};

const SOURCE: &str = "defillama.chart";

#[derive(Deserialize)]
struct Body {
    status: Option<String>,
    data: Option<Vec<Row>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    timestamp: Timestamp,
    #[serde(default, deserialize_with = "Figure::or_none")]
    tvl_usd: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    apy: Option<Figure>,
}

impl Defillama {
    /// The daily history of a pool, as far back as the source goes.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] (`pool_not_found`) for an id that the source does not know, and for a
    /// text that is none of its ids; an [`Error::Source`] when the answer is unusable.
    pub async fn history(
        &self,
        pool: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<Point>>>, Error> {
        if !is_id(pool) {
            return Err(unknown());
        }
        let (this, id) = (self.clone(), pool.to_owned());
        let fetch = move || async move {
            let path = format!("/chart/{id}");
            let ask = this
                .source
                .get(SOURCE, &path)
                .at("yields_url")
                .accepts(&[400, 404])
                .max_body_bytes(4 * MIB);
            this.source
                .ask(ask, |reply| {
                    if !reply.status.is_success() {
                        return Err(Fault::Answer(unknown()));
                    }
                    let points = points(read_json(&reply.body)?)?;
                    if points.is_empty() {
                        return Err(Fault::Answer(unknown()));
                    }
                    Ok(Arc::new(points))
                })
                .await
        };
        self.charts
            .get(pool.to_ascii_lowercase(), max_age, fetch)
            .await
    }
}

fn points(body: Body) -> Result<Vec<Point>, SourceErrorKind> {
    let status = body.status.unwrap_or_default();
    let Some(rows) = body.data.filter(|_| status == "success") else {
        return Err(SourceErrorKind::Business {
            code: clean(&status, 16),
            message: clean(&status, QUOTED_CHARS),
        });
    };
    let point = |row: Row| Point {
        time: row.timestamp,
        apy_pct: row.apy,
        // A negative value is impossible and carries no information.
        tvl_usd: row.tvl_usd.filter(|tvl| !tvl.0.is_sign_negative()),
    };
    Ok(rows.into_iter().map(point).collect())
}

/// Whether a text is an id. Ids are UUIDs; no other text becomes part of a path.
fn is_id(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn unknown() -> Error {
    Error::NotFound {
        reason: "pool_not_found",
        message: "no history of this pool is known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_become_part_of_a_path() {
        assert!(is_id("aa70268e-4b52-42bf-a116-608b370f9501"));
        for other in [
            "",
            "../pools",
            "aa70268e-4b52-42bf-a116-608b370f950",
            "aa70268e-4b52-42bf-a116-608b370f9501?",
            "aa70268e/4b52-42bf-a116-608b370f9501",
            "okx-124561",
            "aa70268e-4b52-42bf-a116-608b370f95%1",
        ] {
            assert!(!is_id(other), "{other}");
        }
    }
}
