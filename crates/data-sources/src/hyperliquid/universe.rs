//! Dexes, universes and marks. A position in each of these lists is part of an asset's id, so
//! nothing is ever left out of one: not the nameless first dex, not a delisted asset.

use std::collections::BTreeSet;

use plan_checks::Decimal;

use crate::{error::SourceErrorKind, json::Json};

/// Longest name of a dex or a coin.
const MAX_NAME_CHARS: usize = 64;

type Read<T> = Result<T, SourceErrorKind>;

/// The names of the dexes by position; the first one has none.
#[derive(Debug)]
pub(super) struct Dexes(Vec<Option<String>>);

impl Dexes {
    pub(super) fn index_of(&self, name: &str) -> Option<u32> {
        let at = self.0.iter().position(|dex| dex.as_deref() == Some(name))?;
        u32::try_from(at).ok()
    }
}

/// The assets of a dex by position.
#[derive(Debug)]
pub(super) struct Universe(Vec<Entry>);

/// One asset.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) size_decimals: u8,
    pub(super) max_leverage: u32,
    pub(super) delisted: bool,
}

impl Universe {
    pub(super) fn read(meta: &Json<'_>) -> Read<Self> {
        let list = meta.object()?.member("universe")?;
        let (mut entries, mut names) = (Vec::new(), BTreeSet::new());
        for json in list.elements()? {
            let asset = json.object()?;
            let name = asset.member("name")?.exact(MAX_NAME_CHARS)?;
            if !names.insert(name.clone()) {
                return Err(json.malformed("each name once"));
            }
            entries.push(Entry {
                name,
                size_decimals: asset.member("szDecimals")?.integer()?,
                max_leverage: asset.member("maxLeverage")?.integer()?,
                delisted: asset.flag_or_false("isDelisted")?,
            });
        }
        Ok(Self(entries))
    }

    pub(super) fn find(&self, name: &str) -> Option<(u32, &Entry)> {
        let (at, entry) = self
            .0
            .iter()
            .enumerate()
            .find(|(_, entry)| entry.name == name)?;
        Some((u32::try_from(at).ok()?, entry))
    }
}

/// `perpDexs`: `null` stands for the first dex, at position 0.
pub(super) fn dexes(body: &Json<'_>) -> Read<Dexes> {
    let elements = body.elements()?;
    if !elements.first().is_some_and(Json::is_null) {
        return Err(body.malformed("a list that starts with null"));
    }
    let mut names = Vec::with_capacity(elements.len());
    let mut seen = BTreeSet::new();
    for json in &elements {
        let name = match json.is_null() {
            true => None,
            false => Some(json.object()?.member("name")?.exact(MAX_NAME_CHARS)?),
        };
        if name.as_ref().is_some_and(|name| !seen.insert(name.clone())) {
            return Err(json.malformed("each name once"));
        }
        names.push(name);
    }
    Ok(Dexes(names))
}

/// `metaAndAssetCtxs`: a universe and, by the same positions, the mark prices.
pub(super) fn with_marks(body: &Json<'_>) -> Read<(Universe, Vec<Option<Decimal>>)> {
    let [meta, contexts] = body.exactly("a list of meta and contexts")?;
    let universe = Universe::read(&meta)?;
    let mut marks = Vec::with_capacity(universe.0.len());
    for context in contexts.elements()? {
        let mark = context.object()?.find("markPx");
        marks.push(mark.map(|mark| mark.decimal()).transpose()?);
    }
    if marks.len() != universe.0.len() {
        return Err(contexts.malformed("one context for each asset"));
    }
    Ok((universe, marks))
}
