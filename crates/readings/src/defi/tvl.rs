//! Value locked in protocols and chains: which rows count, the rankings, and the movers.

use rust_decimal::Decimal;
use serde::Serialize;

use super::{cut, folded, sum};
use crate::{Extent, Figure, share_pct};

/// Categories that are not DeFi protocols: custody at an exchange, and chains that are listed as
/// protocols.
pub const EXCLUDED_CATEGORIES: [&str; 2] = ["CEX", "Chain"];
/// The least value locked of a mover, in dollars. Below it, a single deposit could make a mover.
pub const MIN_MOVER_TVL_USD: i64 = 10_000_000;

/// The most rows of each ranking.
const MAX_CHAINS: usize = 25;
const MAX_PROTOCOLS: usize = 50;
const MAX_MOVERS: usize = 10;
/// Keys that are not chains. Their value is counted a second time under another name, or is lent
/// out.
const COUNTED_TWICE: [&str; 10] = [
    "borrowed",
    "staking",
    "pool2",
    "vesting",
    "treasury",
    "owntokens",
    "offers",
    "doublecounted",
    "liquidstaking",
    "dcandlsoverlap",
];

/// A protocol as its source describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// Its name in addresses: `aave-v3`.
    pub slug: String,
    /// Its name for people.
    pub name: String,
    /// `Lending`, `Dexs` and the like.
    pub category: Option<String>,
    /// The family to which it belongs: `aave` for `aave-v3`.
    pub family: Option<String>,
    /// The value locked, in dollars, without what is borrowed, staked or counted twice.
    pub tvl_usd: Figure,
    /// The value locked by chain. Keys that are not chains are left out ([`is_chain_key`]).
    pub by_chain: Vec<(String, Figure)>,
    /// The change of the value locked in a day, in percent.
    pub change_1d_pct: Option<Figure>,
    /// The change of the value locked in seven days, in percent.
    pub change_7d_pct: Option<Figure>,
}

/// A chain as its source describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainTvl {
    /// Its name.
    pub name: String,
    /// Its EIP-155 id, if it has one.
    pub chain_id: Option<u64>,
    /// Value locked in dollars.
    pub tvl_usd: Figure,
}

/// A row of `chains`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainRow {
    /// Its name.
    pub name: String,
    /// Its EIP-155 id. `None` for a chain that has none.
    pub chain_id: Option<u64>,
    /// Value locked in dollars.
    pub tvl_usd: Figure,
    /// Its share of the total, in percent.
    pub share_pct: Option<Figure>,
}

/// A row of `protocols`, `gainers` and `losers`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProtocolRow {
    /// Its name in addresses.
    pub slug: String,
    /// Its name for people.
    pub name: String,
    /// `Lending`, `Dexs` and the like.
    pub category: Option<String>,
    /// Value locked in dollars.
    pub tvl_usd: Figure,
    /// Change in a day, in percent.
    pub change_1d_pct: Option<Figure>,
    /// Change in seven days, in percent.
    pub change_7d_pct: Option<Figure>,
}

/// The rankings: `data` of `/defi-analytics`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Analytics {
    /// The value locked on all chains, or in the one requested protocol, in dollars. `None` when
    /// the chains are unknown. A sum over protocols would count one protocol's deposit in another
    /// one twice.
    pub total_tvl_usd: Option<Figure>,
    /// The chains, the largest first.
    pub chains: Option<Vec<ChainRow>>,
    /// The protocols, the largest first.
    pub protocols: Vec<ProtocolRow>,
    /// The protocols with the largest gains in a day.
    pub gainers: Vec<ProtocolRow>,
    /// The protocols with the largest losses in a day.
    pub losers: Vec<ProtocolRow>,
    /// The full lengths of the rankings.
    #[serde(skip)]
    pub totals: Totals,
}

/// The full lengths of the rankings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The length of `chains`.
    pub chains: usize,
    /// The length of `protocols`.
    pub protocols: usize,
    /// The length of `gainers`.
    pub gainers: usize,
    /// The length of `losers`.
    pub losers: usize,
}

impl Protocol {
    /// Whether it belongs in a ranking of DeFi protocols.
    #[must_use]
    pub fn counts(&self) -> bool {
        let category = self.category.as_deref().unwrap_or("");
        !EXCLUDED_CATEGORIES
            .iter()
            .any(|excluded| excluded.eq_ignore_ascii_case(category))
    }

    /// Whether `name` is its slug, its name or its family.
    fn is_called(&self, name: &str) -> bool {
        let known = [Some(&self.slug), Some(&self.name), self.family.as_ref()];
        known.iter().flatten().any(|known| folded(known) == name)
    }

    fn row(&self) -> ProtocolRow {
        ProtocolRow {
            slug: self.slug.clone(),
            name: self.name.clone(),
            category: self.category.clone(),
            tvl_usd: self.tvl_usd,
            change_1d_pct: self.change_1d_pct,
            change_7d_pct: self.change_7d_pct,
        }
    }
}

/// Whether a key of a protocol's value locked by chain is a chain. Keys such as `borrowed`,
/// `staking`, `pool2` and `vesting` are not, alone or after a chain (`Ethereum-borrowed`).
#[must_use]
pub fn is_chain_key(key: &str) -> bool {
    let last = key.rsplit_once('-').map_or(key, |(_, last)| last);
    !COUNTED_TWICE
        .iter()
        .any(|word| word.eq_ignore_ascii_case(last.trim()))
}

/// Returns a change of a value locked unless it is impossible, because nothing loses more than 100
/// %.
#[must_use]
pub fn plausible_change(change: Option<Figure>) -> Option<Figure> {
    change.filter(|change| change.0 >= -Decimal::ONE_HUNDRED)
}

/// Makes the rankings of everything. `chains` is `None` when it is unavailable.
#[must_use]
pub fn rank(protocols: &[Protocol], chains: Option<&[ChainTvl]>, extent: Extent) -> Analytics {
    let counted = largest_first(protocols.iter().filter(|protocol| protocol.counts()));
    let total = chains.and_then(|chains| sum(chains.iter().map(|chain| chain.tvl_usd.0)));
    let (gainers, all_gainers) = movers(&counted, Decimal::is_sign_positive, extent);
    let (losers, all_losers) = movers(&counted, Decimal::is_sign_negative, extent);
    let most = extent.most(MAX_PROTOCOLS);
    Analytics {
        totals: Totals {
            chains: chains.map_or(0, <[ChainTvl]>::len),
            protocols: counted.len(),
            gainers: all_gainers,
            losers: all_losers,
        },
        total_tvl_usd: total.map(|total| cut(total, 2)),
        chains: chains.map(|chains| chain_rows(chains.to_vec(), total, extent)),
        protocols: counted.iter().take(most).map(|one| one.row()).collect(),
        gainers,
        losers,
    }
}

/// Makes the rankings of the protocol called `name`: a slug, a name, or a family of several
/// protocols. `None` when there is none.
#[must_use]
pub fn of_protocol(protocols: &[Protocol], name: &str) -> Option<Analytics> {
    let name = Some(folded(name)).filter(|name| !name.is_empty())?;
    let found = protocols.iter().filter(|one| one.counts());
    let mut found: Vec<_> = found.filter(|one| one.is_called(&name)).collect();
    // A slug identifies one protocol, even when a family has the same name.
    if let Some(exact) = found.iter().find(|one| folded(&one.slug) == name).copied() {
        found = vec![exact];
    }
    let found = largest_first(found.into_iter());
    if found.is_empty() {
        return None;
    }
    let total = sum(found.iter().map(|one| one.tvl_usd.0));
    let mut chains: Vec<ChainTvl> = Vec::new();
    for (chain, tvl) in found.iter().flat_map(|one| &one.by_chain) {
        match chains.iter_mut().find(|row| row.name == *chain) {
            Some(row) => row.tvl_usd.0 = row.tvl_usd.0.saturating_add(tvl.0),
            None => chains.push(ChainTvl {
                name: chain.clone(),
                chain_id: super::chains::id_of(chain),
                tvl_usd: *tvl,
            }),
        }
    }
    let (gainers, all_gainers) = movers(&found, Decimal::is_sign_positive, Extent::First);
    let (losers, all_losers) = movers(&found, Decimal::is_sign_negative, Extent::First);
    Some(Analytics {
        totals: Totals {
            chains: chains.len(),
            protocols: found.len(),
            gainers: all_gainers,
            losers: all_losers,
        },
        total_tvl_usd: total.map(|total| cut(total, 2)),
        chains: Some(chain_rows(chains, total, Extent::First)),
        protocols: found.iter().map(|one| one.row()).collect(),
        gainers,
        losers,
    })
}

/// Returns the protocols, the largest first. Each slug occurs once, with its larger row.
fn largest_first<'a>(protocols: impl Iterator<Item = &'a Protocol>) -> Vec<&'a Protocol> {
    let mut sorted: Vec<_> = protocols.collect();
    sorted.sort_by(|a, b| b.tvl_usd.cmp(&a.tvl_usd).then_with(|| a.slug.cmp(&b.slug)));
    let mut seen = std::collections::BTreeSet::new();
    sorted.retain(|one| seen.insert(one.slug.as_str()));
    sorted
}

fn chain_rows(mut chains: Vec<ChainTvl>, total: Option<Decimal>, extent: Extent) -> Vec<ChainRow> {
    chains.sort_by(|a, b| b.tvl_usd.cmp(&a.tvl_usd).then_with(|| a.name.cmp(&b.name)));
    let most = extent.most(MAX_CHAINS);
    chains.truncate(most);
    let share = |tvl: Decimal| total.and_then(|total| share_pct(tvl, total));
    let row = |chain: ChainTvl| ChainRow {
        share_pct: share(chain.tvl_usd.0).map(|share| cut(share, 4)),
        name: chain.name,
        chain_id: chain.chain_id,
        tvl_usd: chain.tvl_usd,
    };
    chains.into_iter().map(row).collect()
}

/// Returns the protocols whose change satisfies `wanted`, the strongest first, and the number of
/// all of them.
fn movers(
    protocols: &[&Protocol],
    wanted: fn(&Decimal) -> bool,
    extent: Extent,
) -> (Vec<ProtocolRow>, usize) {
    let least = Decimal::from(MIN_MOVER_TVL_USD);
    let change = |one: &Protocol| one.change_1d_pct.map(|change| change.0);
    let mut moved: Vec<_> = protocols
        .iter()
        .filter(|one| one.tvl_usd.0 >= least)
        .filter_map(|one| Some((change(one).filter(|by| !by.is_zero() && wanted(by))?, *one)))
        .collect();
    moved.sort_by(|(a, x), (b, y)| b.abs().cmp(&a.abs()).then_with(|| x.slug.cmp(&y.slug)));
    let total = moved.len();
    let most = extent.most(MAX_MOVERS);
    let strongest = moved.into_iter().take(most);
    (strongest.map(|(_, one)| one.row()).collect(), total)
}

#[cfg(test)]
mod tests;
