//! Finds reviewed products, and reads a wallet's shares in them.
//!
//! A product comes from the signing policy's list. Whether it accepts a deposit now is checked by
//! the module `deposit`.

use alloy_primitives::{Address, U256};
use custody::{SigningPolicy, Target, Vault};

use super::{Account, Planner};
use crate::Refused;
use crate::abi::{pool, vault};

/// A product of the reviewed list, with a protocol that this crate supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) chain_id: u64,
    /// The pool or vault.
    pub(crate) contract: Address,
    pub(crate) id: String,
    pub(crate) protocol: Protocol,
    /// The token to deposit.
    pub(crate) asset: Address,
}

/// The supported protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    AaveV3,
    Erc4626,
}

impl Protocol {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::AaveV3 => "aave-v3",
            Self::Erc4626 => "erc4626",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        [Self::AaveV3, Self::Erc4626]
            .into_iter()
            .find(|protocol| protocol.as_str() == word)
    }
}

/// The parts of an Aave v3 reserve on which deposits depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reserve {
    pub(crate) shares: Address,
    pub(crate) is_active: bool,
    pub(crate) is_frozen: bool,
    pub(crate) is_paused: bool,
    /// The cap on deposits, in whole tokens. Zero means no cap.
    pub(crate) supply_cap: u64,
}

impl Reserve {
    /// Reads the bits of Aave's `DataTypes.ReserveConfigurationMap`.
    fn of(reserve: &pool::Reserve) -> Self {
        let bits = reserve.configuration;
        let cap: U256 = (bits >> 116) & ((U256::from(1) << 36) - U256::from(1));
        Self {
            shares: reserve.aTokenAddress,
            is_active: bits.bit(56),
            is_frozen: bits.bit(57),
            is_paused: bits.bit(60),
            supply_cap: cap.saturating_to(),
        }
    }
}

impl Product {
    /// Returns the products of the reviewed list whose protocol this crate supports.
    pub(crate) fn all(policy: &SigningPolicy) -> impl Iterator<Item = Self> {
        let of = |target: &'_ Target| {
            let products = target.vaults().iter();
            let products: Vec<_> = products
                .filter_map(|vault| Self::of(target, vault))
                .collect();
            products
        };
        policy.targets().flat_map(of)
    }

    fn of(target: &Target, vault: &Vault) -> Option<Self> {
        Some(Self {
            chain_id: target.chain_id(),
            contract: target.contract(),
            id: vault.product_id.clone(),
            protocol: Protocol::from_word(&vault.protocol)?,
            asset: vault.asset,
        })
    }

    /// Returns the id that `/yield-farming-active` gives to a position in the product.
    fn position_id(&self, symbol: &str) -> String {
        let symbol = symbol.to_lowercase().replace('₮', "t");
        format!("{}-{}-{symbol}", self.chain_id, self.protocol.as_str())
    }
}

impl Planner<'_> {
    /// Finds the only product of a chain, protocol and asset. With `product_id`, only the product
    /// with this id counts.
    pub(super) async fn product(
        &self,
        chain_id: u64,
        protocol: &str,
        asset: &str,
        product_id: Option<&str>,
    ) -> Result<Product, Refused> {
        if Protocol::from_word(protocol).is_none() {
            let message = format!("expected aave-v3 or erc4626, observed {protocol}");
            return Err(Refused::unsupported("protocol_unsupported", message));
        }
        let mut found = Vec::new();
        for product in Product::all(&self.shared.policy) {
            let is_meant = product.chain_id == chain_id
                && product.protocol.as_str() == protocol
                && product_id.is_none_or(|id| id == product.id);
            if is_meant && self.is_asset(&product, asset).await? {
                found.push(product);
            }
        }
        let mut found = found.into_iter();
        match (found.next(), found.next()) {
            (Some(product), None) => Ok(product),
            (None, _) => Err(Refused::nothing(
                "no_such_product",
                format!("no reviewed product of {protocol} on chain {chain_id} takes {asset}"),
            )),
            (Some(one), Some(other)) => Err(Refused::invalid(
                "product_id",
                format!(
                    "several products take {asset}, such as {} and {}",
                    one.id, other.id
                ),
            )),
        }
    }

    /// Finds a product by its id, or by the id of a position in it.
    pub(super) async fn product_of(&self, name: &str) -> Result<Product, Refused> {
        for product in Product::all(&self.shared.policy) {
            if product.id == name {
                return Ok(product);
            }
            let symbol = self.symbol(product.chain_id, product.asset).await?;
            if product.position_id(&symbol) == name {
                return Ok(product);
            }
        }
        Err(Refused::nothing(
            "no_such_position",
            format!("no reviewed product or position has the id {name}"),
        ))
    }

    async fn is_asset(&self, product: &Product, asset: &str) -> Result<bool, Refused> {
        if let Ok(address) = asset.parse::<Address>() {
            return Ok(address == product.asset);
        }
        let symbol = self.symbol(product.chain_id, product.asset).await?;
        let plain = |text: &str| {
            text.trim_start_matches('$')
                .to_uppercase()
                .replace('₮', "T")
        };
        Ok(plain(&symbol) == plain(asset))
    }

    pub(super) async fn symbol(&self, chain_id: u64, token: Address) -> Result<String, Refused> {
        self.account(chain_id)?.symbol(token).await
    }

    /// Returns the share token of a product, and the wallet's balance of it.
    pub(super) async fn shares(&self, product: &Product) -> Result<(Address, U256), Refused> {
        let shares = match product.protocol {
            Protocol::AaveV3 => {
                self.account(product.chain_id)?
                    .reserve(product)
                    .await?
                    .shares
            }
            Protocol::Erc4626 => product.contract,
        };
        let call = vault::balanceOfCall {
            owner: self.wallet.address,
        };
        let balance = self.read(product.chain_id, shares, &call).await?;
        let balance = balance.ok_or_else(|| {
            let message = format!(
                "the shares {shares} of chain {} cannot be read",
                product.chain_id
            );
            Refused::unsupported("product_unreadable", message)
        })?;
        Ok((shares, balance))
    }
}

impl Account<'_> {
    /// Reads the reserve of a product's asset in its Aave v3 pool.
    pub(super) async fn reserve(&self, product: &Product) -> Result<Reserve, Refused> {
        let call = pool::getReserveDataCall {
            asset: product.asset,
        };
        let reserve = self.read(product.contract, &call).await?;
        let reserve = reserve.map(|reserve| Reserve::of(&reserve));
        reserve
            .filter(|reserve| !reserve.shares.is_zero())
            .ok_or_else(|| {
                let message = format!(
                    "the pool {} has no reserve of {}",
                    product.contract, product.asset
                );
                Refused::unsupported("product_unreadable", message)
            })
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::uint;

    use super::*;

    #[test]
    fn the_configuration_bits_of_a_reserve_are_those_of_aave() {
        let configuration = (U256::from(1) << 56)
            | (U256::from(1) << 60)
            | (U256::from(5_000_000_u64) << 116)
            | (uint!(123_U256) << 152);
        let reserve = pool::Reserve {
            configuration,
            liquidityIndex: 0,
            currentLiquidityRate: 0,
            variableBorrowIndex: 0,
            currentVariableBorrowRate: 0,
            currentStableBorrowRate: 0,
            lastUpdateTimestamp: Default::default(),
            id: 0,
            aTokenAddress: Address::repeat_byte(7),
            stableDebtTokenAddress: Address::ZERO,
            variableDebtTokenAddress: Address::ZERO,
            interestRateStrategyAddress: Address::ZERO,
            accruedToTreasury: 0,
            unbacked: 0,
            isolationModeTotalDebt: 0,
        };
        assert_eq!(
            Reserve::of(&reserve),
            Reserve {
                shares: Address::repeat_byte(7),
                is_active: true,
                is_frozen: false,
                is_paused: true,
                supply_cap: 5_000_000,
            }
        );
    }
}
