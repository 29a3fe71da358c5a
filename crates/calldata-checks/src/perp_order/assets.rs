//! Asset ids of the venue, and the check that the order is for the requested coin.

use super::{Collateral, PerpOrderFacts};
use crate::{Observed, Verdict, Violation};

/// The number of asset ids of one dex.
pub const PERP_DEX_SIZE: u32 = 10_000;
/// The first id of builder-deployed dexes. The ids between the first dex and this one are spot
/// pairs.
const FIRST_DEPLOYED: u32 = 100_000;
/// The first id of outcome assets.
const FIRST_OUTCOME: u32 = 100_000_000;

/// Computes the asset id of a perpetual: its position in the universe of the first dex (`dex_index`
/// 0), or `100000 + dex_index * 10000 + universe_index`. `None` for positions that no perpetual
/// has.
///
/// # Example
/// ```
/// use calldata_checks::perp_order::{asset_id, is_perpetual};
///
/// assert_eq!(asset_id(0, 5), Some(5)); // the sixth asset of the first dex
/// assert_eq!(asset_id(1, 5), Some(110_005));
/// assert_eq!(asset_id(0, 10_000), None);
/// assert!(!is_perpetual(10_107)); // a spot pair
/// ```
#[must_use]
pub const fn asset_id(dex_index: u32, universe_index: u32) -> Option<u32> {
    if universe_index >= PERP_DEX_SIZE {
        return None;
    }
    if dex_index == 0 {
        return Some(universe_index);
    }
    let Some(offset) = dex_index.checked_mul(PERP_DEX_SIZE) else {
        return None;
    };
    let Some(id) = offset.checked_add(FIRST_DEPLOYED + universe_index) else {
        return None;
    };
    if is_perpetual(id) { Some(id) } else { None }
}

/// Returns whether an asset id is that of a perpetual, and not of a spot pair or an outcome.
#[must_use]
pub const fn is_perpetual(asset_id: u32) -> bool {
    asset_id < PERP_DEX_SIZE
        || (asset_id >= FIRST_DEPLOYED + PERP_DEX_SIZE && asset_id < FIRST_OUTCOME)
}

/// Checks that the decoded asset ids are the requested coin's. A plan's reading of the venue cannot
/// confirm itself: a reviewed coin must have the reviewed id, and for another coin the text says
/// that nobody reviewed it.
pub(super) fn asset(facts: &PerpOrderFacts) -> Verdict {
    let (ask, venue) = (&facts.ask, &facts.plan.venue);
    if let Some(order) = facts
        .action
        .orders()
        .find(|order| !is_perpetual(order.asset))
    {
        return Err(Violation::new(
            "the asset is not a perpetual",
            "an id below 10000, or from 110000 to 99999999",
            order.asset,
        ));
    }
    if venue.coin != ask.coin {
        return Err(Violation::new(
            "the asset has another name than the requested coin",
            &ask.coin,
            &venue.coin,
        ));
    }
    let dex = ask.coin.split_once(':').map_or("", |(dex, _)| dex);
    if venue.dex != dex || (venue.dex_index == 0) != dex.is_empty() {
        return Err(Violation::new(
            "the asset is on another dex than the requested coin",
            format_args!("{dex:?}"),
            format_args!("{:?} at position {}", venue.dex, venue.dex_index),
        ));
    }
    let expected = asset_id(venue.dex_index, venue.universe_index);
    if expected != Some(venue.asset_id) {
        return Err(Violation::new(
            "the asset id does not follow from its position in the venue's list",
            expected.map_or_else(|| "a position below 10000".to_owned(), |id| id.to_string()),
            venue.asset_id,
        ));
    }
    let mut standing = "not reviewed";
    if let Some(reviewed) = &facts.reviewed {
        let expected = (reviewed.asset_id, reviewed.size_decimals);
        if (venue.asset_id, venue.size_decimals) != expected {
            let text = |(id, decimals)| format!("asset {id} with szDecimals {decimals}");
            return Err(Violation::new(
                "the asset is not the one that was reviewed for the coin",
                text(expected),
                text((venue.asset_id, venue.size_decimals)),
            ));
        }
        standing = "reviewed";
    }
    if let Some(order) = facts
        .action
        .orders()
        .find(|order| order.asset != venue.asset_id)
    {
        return Err(Violation::new(
            "an order is for another asset",
            venue.asset_id,
            order.asset,
        ));
    }
    if venue.delisted {
        return Err(Violation::new(
            "the asset is delisted",
            "a listed asset",
            &venue.coin,
        ));
    }
    let collateral = &venue.collateral;
    // The first dex has one collateral, and token 0 one name, in every plan.
    let is_usdc = (collateral.token == 0, collateral.name == Collateral::USDC);
    let named = !collateral.name.is_empty() && is_usdc.0 == is_usdc.1;
    if !named || (venue.dex_index == 0 && !is_usdc.0) {
        return Err(Violation::new(
            "the collateral is not one of the asset's dex",
            "token 0, USDC; on a builder-deployed dex that or another token by its name",
            format_args!("token {}, {:?}", collateral.token, collateral.name),
        ));
    }
    let observed = Observed::from(format!(
        "{} is asset {}, {standing}, in {}",
        venue.coin, venue.asset_id, collateral.name
    ));
    Ok(facts.by_asset(observed))
}
