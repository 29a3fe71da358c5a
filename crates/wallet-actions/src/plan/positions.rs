//! What a wallet has: in reviewed products, and idle of their assets.

use std::collections::BTreeSet;

use alloy_primitives::U256;

use super::product::Protocol;
use super::{ListedProduct, Planner, Product};
use crate::Refused;
use crate::abi::vault;

/// What a wallet has in a reviewed product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The product.
    pub product: ListedProduct,
    /// The wallet's shares, in their smallest unit.
    pub shares: U256,
    /// What they are worth by the product's own word, in the asset's smallest unit. Fees of leaving
    /// are not taken off.
    pub assets: U256,
    /// The asset's decimals.
    pub decimals: u8,
}

/// What a wallet holds of the asset of a reviewed product, and could deposit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// The chain.
    pub chain_id: u64,
    /// The token.
    pub asset: alloy_primitives::Address,
    /// How much, in its smallest unit.
    pub atoms: U256,
    /// The token's decimals.
    pub decimals: u8,
}

impl Planner<'_> {
    /// Its positions in the products of the chains on which it acts; none without shares.
    pub(crate) async fn positions(&self) -> Result<Vec<Position>, Refused> {
        let mut positions = Vec::new();
        for product in self.products() {
            let (_, shares) = self.shares(&product).await?;
            if shares.is_zero() {
                continue;
            }
            let assets = match product.protocol {
                Protocol::AaveV3 => shares,
                Protocol::Erc4626 => {
                    let worth = vault::convertToAssetsCall { shares };
                    let worth = self
                        .read(product.chain_id, product.contract, &worth)
                        .await?;
                    worth.ok_or_else(|| {
                        let message = format!("what is in {} cannot be read", product.id);
                        Refused::unsupported("product_unreadable", message)
                    })?
                }
            };
            let decimals = self.held(product.chain_id, product.asset).await?.decimals;
            positions.push(Position {
                product: product.into(),
                shares,
                assets,
                decimals,
            });
        }
        Ok(positions)
    }

    /// What it holds of the products' assets on the chains on which it acts; none of which it holds
    /// nothing.
    pub(crate) async fn idle(&self) -> Result<Vec<Idle>, Refused> {
        let tokens: BTreeSet<_> = self
            .products()
            .map(|product| (product.chain_id, product.asset))
            .collect();
        let mut idle = Vec::new();
        for (chain_id, asset) in tokens {
            let held = self.held(chain_id, asset).await?;
            if !held.balance.is_zero() {
                idle.push(Idle {
                    chain_id,
                    asset,
                    atoms: held.balance,
                    decimals: held.decimals,
                });
            }
        }
        Ok(idle)
    }

    fn products(&self) -> impl Iterator<Item = Product> + '_ {
        let acts = |product: &Product| self.shared.chain(product.chain_id).is_ok();
        Product::all(&self.shared.policy).filter(acts)
    }
}
