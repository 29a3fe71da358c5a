//! The money of a mandate's owner, and the products that it could move into. It reads chains and
//! prices; the decision is that of `yield-watch`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::Address;
use readings::defi::market::Market;
use readings::{Decimal, Figure};
use watch_server::{Holdings, MoverError};
use yield_watch::{Mandate, Pool, Position, Rules, best_allowed};

use super::amounts::usd;
use super::first_half::market_of_product;
use super::{WalletMover, owner_of, reason_of, unknown};

/// The least amount in dollars that is moved: for less, gas would cost more than the move earns.
const DUST_USD: i64 = 1;

/// The gas of a move: two approvals, a withdrawal and a deposit, with room for proxies.
const MOVE_GAS: u64 = 2_040_000;

/// Money in one place.
struct Money {
    /// The product that holds it; `None` when it is idle.
    pool: Option<Pool>,
    chain_id: u64,
    usd: Decimal,
    /// The products that it could move into: those of the same asset and chain.
    reachable: BTreeSet<String>,
}

impl WalletMover {
    pub(super) async fn read_holdings(
        &self,
        mandate: &Mandate,
        markets: &[Market],
    ) -> Result<Holdings, MoverError> {
        let owner = owner_of(mandate)?;
        self.is_free(owner).await?;
        let unread = |refused| unknown(&reason_of(&refused));
        let positions = self.actions.positions(owner).await.map_err(unread)?;
        let idle = self.actions.idle(owner).await.map_err(unread)?;
        let mut prices = BTreeMap::new();
        let mut places = Vec::new();
        let mut unnamed = false;
        for position in &positions {
            let asset = (position.product.chain_id, position.product.asset);
            let usd = self
                .worth(&mut prices, asset, position.assets, position.decimals)
                .await?;
            match market_of_product(markets, &position.product) {
                _ if usd < Decimal::from(DUST_USD) => {}
                Some(market) => places.push(self.money(markets, asset, usd, Some(pool(market)))),
                // An unknown yield is not a zero yield: the money stays where it is.
                None => unnamed = true,
            }
        }
        for idle in &idle {
            let asset = (idle.chain_id, idle.asset);
            let usd = self
                .worth(&mut prices, asset, idle.atoms, idle.decimals)
                .await?;
            if usd >= Decimal::from(DUST_USD) {
                places.push(self.money(markets, asset, usd, None));
            }
        }
        match chosen(places, markets, &mandate.rules) {
            Some(money) => Ok(Holdings {
                cost_usd: self.cost_of_move(money.chain_id).await?,
                position: match money.pool {
                    Some(pool) => Position::Held {
                        pool,
                        amount_usd: Figure(money.usd),
                    },
                    None => Position::Idle {
                        idle_usd: Figure(money.usd),
                    },
                },
                reachable: money.reachable,
            }),
            None if unnamed => Err(unknown("position_yield_unknown")),
            None => Ok(Holdings {
                position: Position::Idle {
                    idle_usd: Figure(Decimal::ZERO),
                },
                reachable: self.all_reachable(markets),
                cost_usd: Figure(Decimal::ZERO),
            }),
        }
    }

    /// The worth of an amount of an asset. All amounts of an asset use the same price.
    async fn worth(
        &self,
        prices: &mut BTreeMap<(u64, Address), Decimal>,
        asset: (u64, Address),
        atoms: alloy_primitives::U256,
        decimals: u8,
    ) -> Result<Decimal, MoverError> {
        let price = match prices.get(&asset) {
            Some(price) => *price,
            None => {
                let price = self.price(asset.0, asset.1).await?;
                prices.insert(asset, price);
                price
            }
        };
        usd(atoms, decimals, price).ok_or_else(|| unknown("amount_out_of_range"))
    }

    /// The estimated cost of a move on a chain. Without one nobody can tell what a move gains.
    async fn cost_of_move(&self, chain_id: u64) -> Result<Figure, MoverError> {
        let cost = self.prices.gas_usd(chain_id, MOVE_GAS).await;
        cost.map(Figure)
            .ok_or_else(|| unknown("gas_price_unavailable"))
    }

    fn money(
        &self,
        markets: &[Market],
        asset: (u64, Address),
        usd: Decimal,
        pool: Option<Pool>,
    ) -> Money {
        let products = self.actions.products();
        let same = products.filter(|product| (product.chain_id, product.asset) == asset);
        let reachable = same.filter_map(|product| market_of_product(markets, &product));
        Money {
            pool,
            chain_id: asset.0,
            usd,
            reachable: reachable.map(|market| market.pool.clone()).collect(),
        }
    }

    fn all_reachable(&self, markets: &[Market]) -> BTreeSet<String> {
        let products = self.actions.products();
        let of = |product| Some(market_of_product(markets, &product)?.pool.clone());
        products.filter_map(of).collect()
    }
}

/// The place to decide about. Among the places with a better product in reach by the mandate's
/// rules, the one that earns least. Without such a place, the product that earns least.
fn chosen(mut places: Vec<Money>, markets: &[Market], rules: &Rules) -> Option<Money> {
    places.sort_by_key(|money| {
        let apy = money
            .pool
            .as_ref()
            .map_or(Decimal::ZERO, |pool| pool.apy_pct.0);
        (money.pool.is_some(), apy, Reverse(money.usd))
    });
    let gains = |money: &Money| {
        let within = |market: &&Market| money.reachable.contains(&market.pool);
        let Some(best) = best_allowed(markets.iter().filter(within), rules) else {
            return false;
        };
        let Some(pool) = &money.pool else {
            return true;
        };
        let least = Decimal::new(i64::from(rules.min_apy_delta_bps), 2);
        let gain = best.apy_pct.0.checked_sub(pool.apy_pct.0);
        pool.pool != best.pool && gain.is_some_and(|gain| gain >= least)
    };
    let index = places
        .iter()
        .position(gains)
        .or_else(|| places.iter().position(|money| money.pool.is_some()))
        .or(match places.is_empty() {
            true => None,
            false => Some(0),
        })?;
    Some(places.swap_remove(index))
}

fn pool(market: &Market) -> Pool {
    Pool {
        pool: market.pool.clone(),
        project: market.project.clone(),
        chain: market.chain.clone(),
        symbol: market.symbol.clone(),
        apy_pct: market.apy_pct,
    }
}
