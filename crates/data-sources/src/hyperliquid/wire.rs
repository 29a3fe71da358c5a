//! Lists of the venue as it writes them, for plans and for readings: what of an entry is believed
//! is each reader's own judgement. A position in each of these lists counts, so nothing is left out
//! of one.

use std::collections::BTreeSet;

use crate::{
    error::SourceErrorKind,
    json::{Json, Object},
};

type Read<T> = Result<T, SourceErrorKind>;

/// An asset of a universe.
#[derive(Debug)]
pub(crate) struct Asset<'a> {
    /// Its name as it stands there; in one universe each is another.
    pub(crate) name: Json<'a>,
    pub(crate) max_leverage: u32,
    pub(crate) delisted: bool,
    /// All of it.
    pub(crate) members: Object<'a>,
}

/// The assets of the universe that `meta` lists, by position.
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

/// `metaAndAssetCtxs`: a universe and, by the same positions, the contexts of its assets.
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

/// A dex of the list, and its name; the venue's own has none.
pub(crate) type Dex<'a> = (Json<'a>, Option<Json<'a>>);

/// `perpDexs`: the dexes by position.
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
