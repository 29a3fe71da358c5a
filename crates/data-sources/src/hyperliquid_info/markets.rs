//! Dexes and markets.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use readings::{Decimal, Figure, derivatives::PerpContext};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CATEGORIES, DEXS, HyperliquidInfo, MARKETS, USUAL, plain_name};
use crate::{
    binance::exchange::malformed,
    error::{Error, SourceErrorKind},
    provenance::Sourced,
};

impl HyperliquidInfo {
    /// The names of the dexes that others deployed, in the venue's order.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn dexs(
        &self,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<String>>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let body = json!({"type": "perpDexs"});
            let list = this.present::<Vec<Option<Dex>>>(DEXS, &body, USUAL).await?;
            // The first one has no entry: it is the venue's own.
            let named = list.value.iter().flatten().map(|dex| dex.name.clone());
            let names = named.filter(|name| plain_name(name)).collect();
            let sources = list.sources;
            Ok(Sourced {
                value: Arc::new(names),
                sources,
            })
        };
        self.dexs.get((), max_age, fetch).await
    }

    /// What kind of asset the venue says each deployed market is: pairs of coin and category, which name
    /// things and do not age what is told with them.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn categories(
        &self,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<(String, String)>>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let body = json!({"type": "perpCategories"});
            let list = this
                .present::<Vec<(String, String)>>(CATEGORIES, &body, USUAL)
                .await?;
            Ok(list.map(Arc::new))
        };
        let categories = self.categories.get((), max_age, fetch).await?;
        Ok(categories.as_reference())
    }

    /// Every market of `dex`, delisted ones included; the empty name is the venue's own.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] for an unknown dex, or a [`SourceError`](crate::SourceError).
    pub async fn markets(
        &self,
        dex: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<PerpContext>>>, Error> {
        self.known_dex(dex).await?;
        let (this, of) = (self.clone(), dex.to_owned());
        let fetch = move || async move { this.contexts(&of).await };
        self.markets.get(dex.to_owned(), max_age, fetch).await
    }

    /// [`Self::markets`] for overviews over many dexes, kept longer.
    ///
    /// # Errors
    ///
    /// As of [`Self::markets`].
    pub async fn overview(
        &self,
        dex: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<PerpContext>>>, Error> {
        let (this, of) = (self.clone(), dex.to_owned());
        let fetch = move || async move { this.contexts(&of).await };
        self.overviews.get(dex.to_owned(), max_age, fetch).await
    }

    /// Refuses a dex that the venue does not list, without asking for it. When the list cannot be
    /// had, the venue decides.
    pub(super) async fn known_dex(&self, dex: &str) -> Result<(), Error> {
        if dex.is_empty() {
            return Ok(());
        }
        if !plain_name(dex) {
            return Err(unknown_dex(dex));
        }
        match self.dexs(None).await {
            Ok(dexs) if !dexs.value.iter().any(|known| known == dex) => Err(unknown_dex(dex)),
            _ => Ok(()),
        }
    }

    async fn contexts(&self, dex: &str) -> Result<Sourced<Arc<Vec<PerpContext>>>, Error> {
        let mut body = json!({"type": "metaAndAssetCtxs"});
        if let (false, Some(members)) = (dex.is_empty(), body.as_object_mut()) {
            members.insert("dex".to_owned(), Value::from(dex));
        }
        let answer = self
            .info::<(Meta, Vec<Option<Context>>)>(MARKETS, &body, USUAL)
            .await?;
        let (meta, contexts) = answer.value.ok_or_else(|| unknown_dex(dex))?;
        let zipped = zip(meta, contexts, dex).map_err(|kind| self.source.spoiled(MARKETS, kind))?;
        let sources = answer.sources;
        Ok(Sourced {
            value: Arc::new(zipped),
            sources,
        })
    }
}

fn unknown_dex(dex: &str) -> Error {
    Error::NotFound {
        reason: "dex_not_found",
        message: format!("there is no dex {:?}", crate::text::clean(dex, 32)),
    }
}

/// Contexts by position. A market with a name that cannot be asked for is left out of the result, not
/// of the positions.
fn zip(
    meta: Meta,
    contexts: Vec<Option<Context>>,
    dex: &str,
) -> Result<Vec<PerpContext>, SourceErrorKind> {
    if meta.universe.len() != contexts.len() {
        let observed = format!("{} for {}", contexts.len(), meta.universe.len());
        return Err(malformed("$[1]", "one context for each asset", observed));
    }
    let mut names = BTreeSet::new();
    let mut markets = Vec::with_capacity(contexts.len());
    for (asset, context) in meta.universe.into_iter().zip(contexts) {
        if !names.insert(asset.name.clone()) {
            return Err(malformed("$[0].universe", "each name once", asset.name));
        }
        let prefix = asset.name.split_once(':').map_or("", |(prefix, _)| prefix);
        if prefix != dex {
            return Err(malformed(
                "$[0].universe",
                "assets of the dex that was asked for",
                asset.name,
            ));
        }
        if !plain_name(&asset.name) {
            continue;
        }
        let context = context.unwrap_or_default();
        let positive = |figure: Option<Figure>| {
            figure
                .map(Figure::get)
                .filter(|price| *price > Decimal::ZERO)
        };
        let counted = |figure: Option<Figure>| {
            figure
                .map(Figure::get)
                .filter(|count| *count >= Decimal::ZERO)
        };
        markets.push(PerpContext {
            coin: asset.name,
            dex: dex.to_owned(),
            max_leverage: asset.max_leverage,
            delisted: asset.is_delisted,
            mark: positive(context.mark_px),
            mid: positive(context.mid_px),
            oracle: positive(context.oracle_px),
            previous_day: positive(context.prev_day_px),
            funding: context.funding.map(Figure::get),
            open_interest: counted(context.open_interest),
            volume_24h: counted(context.day_ntl_vlm),
        });
    }
    Ok(markets)
}

#[derive(Deserialize)]
struct Dex {
    name: String,
}

#[derive(Deserialize)]
struct Meta {
    universe: Vec<Asset>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asset {
    name: String,
    max_leverage: u32,
    #[serde(default)]
    is_delisted: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    #[serde(default, deserialize_with = "Figure::or_none")]
    funding: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    open_interest: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    mark_px: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    mid_px: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    oracle_px: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    prev_day_px: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    day_ntl_vlm: Option<Figure>,
}
