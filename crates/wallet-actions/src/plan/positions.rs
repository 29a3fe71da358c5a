//! Reads a wallet's positions in reviewed products, and its idle balances of their assets.

use std::collections::BTreeSet;

use alloy_primitives::U256;

use super::product::Protocol;
use super::{ListedProduct, Planner, Product};
use crate::Refused;
use crate::abi::vault;

/// A wallet's position in a reviewed product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The product.
    pub product: ListedProduct,
    /// The wallet's shares, in their smallest unit.
    pub shares: U256,
    /// The worth of the shares in the asset's smallest unit, by the product's own conversion.
    /// Withdrawal fees are not deducted.
    pub assets: U256,
    /// The asset's decimals.
    pub decimals: u8,
}

/// A wallet's balance of the asset of a reviewed product. The wallet can deposit it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// The chain.
    pub chain_id: u64,
    /// The token.
    pub asset: alloy_primitives::Address,
    /// The balance, in the token's smallest unit.
    pub atoms: U256,
    /// The token's decimals.
    pub decimals: u8,
}

impl Planner<'_> {
    /// Reads the wallet's positions on every chain where wallets act. Products without shares are
    /// left out.
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
                        let message = format!("the position in {} cannot be read", product.id);
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

    /// Reads the wallet's balances of the products' assets on every chain where wallets act. Zero
    /// balances are left out.
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
