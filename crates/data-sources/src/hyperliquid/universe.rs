//! Dexes, universes and marks. An index into each of these lists is part of an asset's id, so no
//! entry is ever left out: neither the nameless first dex nor a delisted asset.

use std::collections::BTreeSet;

use calldata_checks::Decimal;

use super::wire;
use crate::{
    error::SourceErrorKind,
    json::{Json, Object},
};

/// Longest name of a dex or a coin.
const MAX_NAME_CHARS: usize = 64;

type Read<T> = Result<T, SourceErrorKind>;

/// The names of the dexes by index; the first one has none.
#[derive(Debug)]
pub(super) struct Dexes(Vec<Option<String>>);

impl Dexes {
    pub(super) fn index_of(&self, name: &str) -> Option<u32> {
        let at = self.0.iter().position(|dex| dex.as_deref() == Some(name))?;
        u32::try_from(at).ok()
    }
}

/// The assets of a dex by index, and its settlement token.
#[derive(Debug)]
pub(super) struct Universe {
    entries: Vec<Entry>,
    /// An index into the list of tokens.
    pub(super) collateral: u32,
}

/// The venue's tokens: index and name.
#[derive(Debug)]
pub(super) struct Tokens(Vec<(u32, String)>);

impl Tokens {
    pub(super) fn name_of(&self, token: u32) -> Option<&str> {
        let found = self.0.iter().find(|(index, _)| *index == token)?;
        Some(&found.1)
    }
}

/// One asset.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) size_decimals: u8,
    pub(super) max_leverage: u32,
    pub(super) delisted: bool,
}

impl Universe {
    pub(super) fn read(meta: &Object<'_>) -> Read<Self> {
        let mut entries = Vec::new();
        for asset in wire::universe(meta)? {
            entries.push(Entry {
                name: asset.name.exact(MAX_NAME_CHARS)?,
                size_decimals: asset.members.member("szDecimals")?.integer()?,
                max_leverage: asset.max_leverage,
                delisted: asset.delisted,
            });
        }
        Ok(Self {
            entries,
            collateral: meta.member("collateralToken")?.integer()?,
        })
    }

    pub(super) fn find(&self, name: &str) -> Option<(u32, &Entry)> {
        let (at, entry) = self
            .entries
            .iter()
            .enumerate()
            .find(|(_, entry)| entry.name == name)?;
        Some((u32::try_from(at).ok()?, entry))
    }
}

/// `perpDexs`: `null` stands for the first dex, at position 0.
pub(super) fn dexes(body: &Json<'_>) -> Read<Dexes> {
    let dexes = wire::dexes(body)?;
    if !dexes.first().is_some_and(|(_, name)| name.is_none()) {
        return Err(body.malformed("a list that starts with null"));
    }
    let mut names = Vec::with_capacity(dexes.len());
    let mut seen = BTreeSet::new();
    for (json, name) in &dexes {
        let name = name.as_ref().map(|name| name.exact(MAX_NAME_CHARS));
        let name = name.transpose()?;
        if name.as_ref().is_some_and(|name| !seen.insert(name.clone())) {
            return Err(json.malformed("each name once"));
        }
        names.push(name);
    }
    Ok(Dexes(names))
}

/// `spotMeta`: the tokens, each once.
pub(super) fn tokens(body: &Json<'_>) -> Read<Tokens> {
    let list = body.object()?.member("tokens")?;
    let (mut tokens, mut seen) = (Vec::new(), BTreeSet::new());
    for json in list.elements()? {
        let token = json.object()?;
        let index = token.member("index")?.integer()?;
        if !seen.insert(index) {
            return Err(json.malformed("each index once"));
        }
        tokens.push((index, token.member("name")?.label(MAX_NAME_CHARS)?));
    }
    Ok(Tokens(tokens))
}

/// `metaAndAssetCtxs`: a universe and, by the same positions, the mark prices.
pub(super) fn with_marks(body: &Json<'_>) -> Read<(Universe, Vec<Option<Decimal>>)> {
    let (meta, contexts) = wire::with_contexts(body)?;
    let universe = Universe::read(&meta)?;
    let mut marks = Vec::with_capacity(contexts.len());
    for context in contexts {
        let mark = context.object()?.find("markPx");
        marks.push(mark.map(|mark| mark.decimal()).transpose()?);
    }
    Ok((universe, marks))
}
