//! Positions: first the platforms of an account, then the details of each.
//!
//! A platform never disappears from the total: without details it is one position with its value.
//! Debts are positions too.

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::Address;
use readings::{
    Decimal, Figure,
    defi::position::{Position, Side},
};
use serde_json::json;

use super::{
    SOURCE,
    wire::{Asset, Investment, Many, NetworkHold, Platform, PlatformDetail, PlatformLists},
};
use crate::{
    error::{Error, SourceErrorKind},
    okx::{Okx, lower},
    provenance::Sourced,
    text::clean,
};

const LIST: &str = "/api/v6/defi/user/asset/platform/list";
const DETAIL: &str = "/api/v6/defi/user/asset/platform/detail";
/// Most platforms of one account. Leaving some out would make its total wrong.
const MAX_PLATFORMS: usize = 500;
/// Most positions of one account.
const MAX_POSITIONS: usize = 2_000;

/// A platform on a chain, with the account's total there.
#[derive(Clone, Debug)]
struct Place {
    chain_id: u64,
    platform: String,
    name: String,
    value_usd: Option<Figure>,
}

pub(super) async fn fetch(
    okx: &Okx,
    account: Address,
    chains: &[u64],
) -> Result<Sourced<Arc<Vec<Position>>>, Error> {
    let wallets: Vec<_> = chains
        .iter()
        .map(|id| json!({"chainIndex": id.to_string(), "walletAddress": lower(account)}))
        .collect();
    let body = json!({ "walletAddressList": wallets }).to_string();
    let listed: Sourced<Many<PlatformLists>> = okx.read(SOURCE, LIST, Some(&body)).await?;
    let Sourced { value, sources } = listed;
    let places = places(value, chains).map_err(|kind| okx.reject_response(SOURCE, kind))?;
    let done = |positions: Vec<Position>, sources| Sourced {
        value: Arc::new(positions),
        sources,
    };
    if places.is_empty() {
        return Ok(done(Vec::new(), sources));
    }
    let platforms: Vec<_> = places
        .iter()
        .map(|place| {
            json!({"chainIndex": place.chain_id.to_string(), "analysisPlatformId": place.platform})
        })
        .collect();
    let body = json!({ "walletAddressList": wallets, "platformList": platforms }).to_string();
    let detail: Result<Sourced<Many<PlatformDetail>>, _> =
        okx.read(SOURCE, DETAIL, Some(&body)).await;
    let Ok(Sourced {
        value: details,
        sources: more,
    }) = detail
    else {
        // The totals are known, and are better than no answer.
        return Ok(done(places.iter().map(Place::total).collect(), sources));
    };
    let sources = sources.into_iter().chain(more).collect();
    let found = positions(&places, details, chains);
    if found.len() > MAX_POSITIONS {
        return Err(okx.reject_response(SOURCE, too_many(found.len())).into());
    }
    Ok(done(found, sources))
}

fn places(lists: Many<PlatformLists>, chains: &[u64]) -> Result<Vec<Place>, SourceErrorKind> {
    let wallets = lists
        .0
        .into_iter()
        .flat_map(|list| list.wallet_id_platform_list);
    let platforms: Vec<_> = wallets.flat_map(|wallet| wallet.platform_list).collect();
    if platforms.len() > MAX_PLATFORMS {
        return Err(too_many(platforms.len()));
    }
    let mut places = Vec::new();
    for platform in &platforms {
        places.extend(of_platform(platform, chains)?);
    }
    Ok(places)
}

fn too_many(count: usize) -> SourceErrorKind {
    SourceErrorKind::Malformed {
        path: "$.data".to_owned(),
        expected: "what one account can have",
        observed: count.to_string(),
    }
}

/// Splits a platform into its chains. A row names one chain and a total, or a list of chains with a
/// total each.
fn of_platform(platform: &Platform, chains: &[u64]) -> Result<Vec<Place>, SourceErrorKind> {
    let malformed = |expected, observed| SourceErrorKind::Malformed {
        path: "$.data.walletIdPlatformList[].platformList[]".to_owned(),
        expected,
        observed,
    };
    let id = &platform.analysis_platform_id;
    let id = id.digits().ok_or_else(|| malformed("an id", id.shown()))?;
    let listed: Vec<_> = match &platform.chain_index {
        Some(chain) => vec![(
            Some(chain),
            platform.total_value.or(platform.currency_amount),
        )],
        None => platform
            .network_balance_vo_list
            .iter()
            .map(|network| (network.chain_index.as_ref(), network.currency_amount))
            .collect(),
    };
    // A platform without a chain would be missing from the total.
    if listed.is_empty() {
        return Err(malformed("a chain", "none".to_owned()));
    }
    let mut places = Vec::new();
    for (chain, value_usd) in listed {
        let chain = chain.ok_or_else(|| malformed("a chain", "none".to_owned()))?;
        let asked = chain.chain().filter(|id| chains.contains(id));
        places.push(Place {
            chain_id: asked
                .ok_or_else(|| malformed("a chain that was asked for", chain.shown()))?,
            platform: id.to_owned(),
            name: clean(&platform.platform_name, 64),
            value_usd,
        });
    }
    Ok(places)
}

impl Place {
    /// The platform as one position with a value only.
    fn total(&self) -> Position {
        Position {
            position_id: format!("okx-{}-{}", self.chain_id, self.platform),
            chain_id: self.chain_id,
            protocol: self.name.clone(),
            asset: None,
            amount: None,
            value_usd: self.value_usd,
            apy_pct: None,
            apy_source: None,
            health: None,
            opened_at: None,
            side: Side::Supply,
            source: SOURCE,
        }
    }

    fn position(&self, investment: &Investment, side: Side, health: Option<Figure>) -> Position {
        let nested = investment
            .position_list
            .iter()
            .flat_map(|held| &held.assets_token_list);
        let own = investment.assets_token_list.iter();
        let assets: Vec<&Asset> = match investment.assets_token_list.is_empty() {
            true => nested.collect(),
            false => own.collect(),
        };
        let mut symbols: Vec<_> = assets
            .iter()
            .map(|asset| clean(&asset.token_symbol, 32))
            .collect();
        symbols.dedup();
        let name = || {
            investment
                .investment_name
                .as_deref()
                .map(|name| clean(name, 64))
        };
        let asset = Some(symbols.join("-"))
            .filter(|joined| !joined.is_empty())
            .or_else(name);
        let only = match assets.as_slice() {
            [one] => Some(*one),
            _ => None,
        };
        let id = investment.investment_id.as_ref().and_then(|id| id.digits());
        Position {
            position_id: format!(
                "okx-{}-{}-{}",
                self.chain_id,
                self.platform,
                id.unwrap_or("0")
            ),
            asset,
            amount: only
                .and_then(|asset| asset.coin_amount)
                .map(|amount| Figure(amount.0.abs())),
            value_usd: value(investment, &assets).map(|value| Figure(value.abs())),
            health,
            side,
            ..self.total()
        }
    }
}

/// The stated value, otherwise the sum of the assets' values if each is known.
fn value(investment: &Investment, assets: &[&Asset]) -> Option<Decimal> {
    if let Some(total) = investment.total_value {
        return Some(total.0);
    }
    let mut values = assets.iter().map(|asset| asset.currency_amount);
    let first = values.next()??.0;
    values.try_fold(first, |sum, value| sum.checked_add(value?.0))
}

/// The positions of every platform. A platform without details stays as its total.
fn positions(places: &[Place], details: Many<PlatformDetail>, chains: &[u64]) -> Vec<Position> {
    let mut found: BTreeMap<(u64, String), Vec<NetworkHold>> = BTreeMap::new();
    for detail in details.0 {
        for wallet in detail.wallet_id_platform_detail_list {
            let id = wallet
                .analysis_platform_id
                .as_ref()
                .or(detail.analysis_platform_id.as_ref());
            let id = id.and_then(|id| id.digits()).map(str::to_owned);
            // A detail without an id is matched by the platform's name.
            let name = wallet
                .platform_name
                .as_ref()
                .or(detail.platform_name.as_ref());
            let named = || {
                let place = places.iter().find(|place| Some(&place.name) == name)?;
                Some(place.platform.clone())
            };
            let only = || match places {
                [one] => Some(one.platform.clone()),
                _ => None,
            };
            let Some(platform) = id.or_else(named).or_else(only) else {
                continue;
            };
            for network in wallet.network_hold_vo_list {
                let Some(chain) = network.chain_index.chain() else {
                    continue;
                };
                found
                    .entry((chain, platform.clone()))
                    .or_default()
                    .push(network);
            }
        }
    }
    let mut all = Vec::new();
    for place in places {
        let networks = found.remove(&(place.chain_id, place.platform.clone()));
        let rows = networks
            .iter()
            .flatten()
            .flat_map(|network| of_network(place, network));
        let rows: Vec<_> = rows.collect();
        match rows.is_empty() {
            true => all.push(place.total()),
            false => all.extend(rows),
        }
    }
    // A position on a requested chain counts, even when the list of platforms misses it.
    for ((chain_id, platform), networks) in found {
        let known = places.iter().find(|place| place.platform == platform);
        let Some(place) = known.filter(|_| chains.contains(&chain_id)) else {
            continue;
        };
        let place = Place {
            chain_id,
            value_usd: None,
            ..place.clone()
        };
        all.extend(
            networks
                .iter()
                .flat_map(|network| of_network(&place, network)),
        );
    }
    numbered(&mut all);
    all
}

fn of_network(place: &Place, network: &NetworkHold) -> Vec<Position> {
    let plain = network.invest_token_balance_vo_list.iter();
    let mut rows: Vec<_> = plain
        .map(|investment| place.position(investment, Side::Supply, None))
        .collect();
    for market in &network.invest_market_token_balance_vo_list {
        let health = market.health_rate.filter(|rate| rate.0 > Decimal::ZERO);
        let placed = market
            .asset_map
            .supply
            .iter()
            .map(|one| (one, Side::Supply));
        let owed = market
            .asset_map
            .borrow
            .iter()
            .map(|one| (one, Side::Borrow));
        let both = placed.chain(owed);
        rows.extend(both.map(|(one, side)| place.position(one, side, health)));
    }
    rows
}

/// Ids stay distinct: a second position of one id gets a number.
fn numbered(positions: &mut [Position]) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for position in positions {
        let side = match position.side {
            Side::Supply => "",
            Side::Borrow => "-borrow",
        };
        position.position_id.push_str(side);
        let times = seen.entry(position.position_id.clone()).or_default();
        *times = times.saturating_add(1);
        if *times > 1 {
            position.position_id = format!("{}-{times}", position.position_id);
        }
    }
}
