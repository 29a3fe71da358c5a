//! The venue's lists as it writes them, for plans and for readings. Each reader judges the entries
//! itself. An index into these lists has a meaning, so no entry is left out.

use std::collections::BTreeSet;

use crate::{
    error::SourceErrorKind,
    json::{Json, Object},
};

type Read<T> = Result<T, SourceErrorKind>;

/// An asset of a universe.
#[derive(Debug)]
pub(crate) struct Asset<'a> {
    /// Its unchecked name. Names are unique in a universe.
    pub(crate) name: Json<'a>,
    pub(crate) max_leverage: u32,
    pub(crate) delisted: bool,
    /// All members of the asset.
    pub(crate) members: Object<'a>,
}

/// The assets of the universe that `meta` lists, by index.
pub(crate) fn universe<'a>(meta: &Object<'a>) -> Read<Vec<Asset<'a>>> {
    let list = meta.member("universe")?;
    let (mut assets, mut names) = (Vec::new(), BTreeSet::new());
    for json in list.elements()? {
        let members = json.object()?;
        let name = members.member("name")?;
        if !names.insert(name.text()?) {
            return Err(json.malformed("each name once"));
        }
        assets.push(Asset {
            name,
            max_leverage: members.member("maxLeverage")?.integer()?,
            delisted: members.flag_or_false("isDelisted")?,
            members,
        });
    }
    Ok(assets)
}

/// `metaAndAssetCtxs`: a universe, and the contexts of its assets by the same indices.
pub(crate) fn with_contexts<'a>(body: &Json<'a>) -> Read<(Object<'a>, Vec<Json<'a>>)> {
    let [meta, contexts] = body.exactly("a list of meta and contexts")?;
    let meta = meta.object()?;
    let assets = meta.member("universe")?.elements()?.len();
    let of_assets = contexts.elements()?;
    match of_assets.len() == assets {
        true => Ok((meta, of_assets)),
        false => Err(contexts.malformed("one context for each asset")),
    }
}

/// A dex of the list, and its name; the venue's own dex has none.
pub(crate) type Dex<'a> = (Json<'a>, Option<Json<'a>>);

/// `perpDexs`: the dexes by index.
pub(crate) fn dexes<'a>(body: &Json<'a>) -> Read<Vec<Dex<'a>>> {
    let dex = |json: Json<'a>| {
        let name = match json.is_null() {
            true => None,
            false => Some(json.member("name")?),
        };
        Ok((json, name))
    };
    body.elements()?.into_iter().map(dex).collect()
}
