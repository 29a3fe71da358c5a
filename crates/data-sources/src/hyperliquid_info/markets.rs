//! Dexes and markets, and the categories of the deployed ones. A market's index in its universe is
//! part of its identity, so no list is ever compacted.

use std::{sync::Arc, time::Duration};

use readings::{Decimal, Figure, derivatives::PerpContext};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CATEGORIES, DEXS, HyperliquidInfo, MARKETS, plain_name};
use crate::{
    error::{Error, SourceErrorKind},
    hyperliquid::{info::USUAL, wire},
    json::Json,
    provenance::Sourced,
};

impl HyperliquidInfo {
    /// The names of the dexes of other deployers, in the venue's order.
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
            let list = this.info_with(DEXS, &body, USUAL, names).await?;
            Ok(this.some(DEXS, list)?.map(Arc::new))
        };
        self.dexs.get((), max_age, fetch).await
    }

    /// The category of each deployed market, as the venue states it: pairs of coin and category.
    /// They only name things: their age does not count as the age of an answer.
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

    /// Refuses a dex that the venue does not list, without asking for it. When the list is not
    /// available, the venue decides.
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
        let read = |json: &Json<'_>| markets(json, dex);
        let answer = self.info_with(MARKETS, &body, USUAL, read).await?;
        let markets = answer.value.ok_or_else(|| unknown_dex(dex))?;
        let sources = answer.sources;
        Ok(Sourced {
            value: Arc::new(markets),
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

/// The names of dexes that can be asked for.
fn names(body: &Json<'_>) -> Result<Vec<String>, SourceErrorKind> {
    let mut names = Vec::new();
    for (_, name) in wire::dexes(body)? {
        names.extend(name.map(|name| name.text()).transpose()?);
    }
    names.retain(|name| plain_name(name));
    Ok(names)
}

/// The contexts by index. A market whose name cannot be asked for is left out of the result, but it
/// keeps its index.
fn markets(body: &Json<'_>, dex: &str) -> Result<Vec<PerpContext>, SourceErrorKind> {
    let (meta, contexts) = wire::with_contexts(body)?;
    let mut markets = Vec::with_capacity(contexts.len());
    for (asset, context) in wire::universe(&meta)?.into_iter().zip(contexts) {
        let name = asset.name.text()?;
        let prefix = name.split_once(':').map_or("", |(prefix, _)| prefix);
        if prefix != dex {
            return Err(asset
                .name
                .malformed("an asset of the dex that was asked for"));
        }
        // A market without a context gives no result, and keeps its index.
        let context: Option<Context> = context.typed()?;
        if !plain_name(&name) {
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
            coin: name,
            dex: dex.to_owned(),
            max_leverage: asset.max_leverage,
            delisted: asset.delisted,
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
