//! `GET /v2/chains`.

use std::{sync::Arc, time::Duration};

use readings::{Figure, defi::tvl::ChainTvl};
use serde::Deserialize;

use super::{Defillama, protocols::is_value};
use crate::{
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::Sourced,
    source::Fault,
    text::clean,
};

const SOURCE: &str = "defillama.chains";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    #[serde(default, deserialize_with = "Figure::or_none")]
    tvl: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    chain_id: Option<Figure>,
}

impl Defillama {
    /// The value locked on each chain, in the order of the source.
    ///
    /// # Errors
    ///
    /// When the answer is unusable.
    pub async fn chains(
        &self,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<ChainTvl>>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let ask = this.source.get(SOURCE, "/v2/chains").at("base_url");
            let read = |body: &[u8]| rows(read_json(body)?);
            let chains: Result<Sourced<Vec<ChainTvl>>, Error> = this
                .source
                .ask(ask, |reply| read(&reply.body).map_err(Fault::Upstream))
                .await;
            Ok(chains?.map(Arc::new))
        };
        self.chains.get((), max_age, fetch).await
    }
}

fn rows(rows: Vec<Row>) -> Result<Vec<ChainTvl>, SourceErrorKind> {
    let mut seen = std::collections::BTreeSet::new();
    let chains: Vec<_> = rows
        .into_iter()
        .filter_map(|row| {
            Some(ChainTvl {
                name: Some(clean(&row.name, 40)).filter(|name| !name.is_empty())?,
                chain_id: row
                    .chain_id
                    .and_then(|id| u64::try_from(id.0).ok())
                    .filter(|id| *id > 0),
                tvl_usd: row.tvl.filter(|tvl| is_value(*tvl))?,
            })
        })
        .filter(|chain| seen.insert(chain.name.clone()))
        .collect();
    if chains.is_empty() {
        return Err(SourceErrorKind::Malformed {
            path: "$".to_owned(),
            expected: "chains",
            observed: "none".to_owned(),
        });
    }
    Ok(chains)
}
