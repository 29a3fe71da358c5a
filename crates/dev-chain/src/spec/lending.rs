//! Deposit contracts: a lending market and a vault.

use alloy_primitives::{Address, U256};

use super::Placement;
use crate::{
    abi::{AaveDataProvider, AaveOracle, AavePool, AaveToken, TokenVault},
    accounts::MINTER,
    contract::Contract,
};

/// A lending market with the interface of Aave v3. [`MINTER`] owns it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LendingSpec {
    /// The address of the pool.
    pub pool: Address,
    /// The address of the data provider.
    pub data_provider: Address,
    /// The address of the price oracle.
    pub oracle: Address,
    /// The tokens that can be supplied.
    pub reserves: Vec<ReserveSpec>,
}

/// A reserve of a lending market: active, neither frozen nor paused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReserveSpec {
    /// The token that is supplied.
    pub asset: Address,
    /// The address of the position's token.
    pub a_token: Address,
    /// The symbol of the position's token.
    pub symbol: String,
    /// The decimals of both.
    pub decimals: u8,
    /// Its first index, 27 decimals.
    pub index: u128,
    /// Its rate per year, 27 decimals.
    pub rate: u128,
    /// The most that can be supplied, in whole tokens; zero for no limit.
    pub supply_cap: u64,
    /// Dollars for a token, 8 decimals.
    pub price: u64,
}

/// An ERC-4626 vault that behaves correctly until its owner, [`MINTER`], changes that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VaultSpec {
    /// Its address.
    pub address: Address,
    /// `name()` of the shares.
    pub name: String,
    /// `symbol()` of the shares.
    pub symbol: String,
    /// `decimals()` of the shares, those of the asset.
    pub decimals: u8,
    /// `asset()`.
    pub asset: Address,
}

impl LendingSpec {
    pub(crate) fn placements(self) -> Vec<Placement> {
        let owner = MINTER.address;
        let pool = Placement::new(self.pool, Contract::AavePool).then(&AavePool::initializeCall {
            owner,
            oracle: self.oracle,
        });
        let oracle = Placement::new(self.oracle, Contract::AaveOracle)
            .then(&AaveOracle::initializeCall { owner });
        let provider = Placement::new(self.data_provider, Contract::AaveDataProvider)
            .then(&AaveDataProvider::initializeCall { pool: self.pool });
        let (mut pool, mut oracle, mut tokens) = (pool, oracle, Vec::new());
        for reserve in self.reserves {
            let asset = reserve.asset;
            pool = pool.then(&AavePool::initReserveCall {
                asset,
                aToken: reserve.a_token,
                decimals: reserve.decimals,
                index: reserve.index,
                rate: reserve.rate,
                supplyCap: U256::from(reserve.supply_cap),
            });
            oracle = oracle.then(&AaveOracle::setAssetPriceCall {
                asset,
                price: U256::from(reserve.price),
            });
            let token = Placement::new(reserve.a_token, Contract::AaveToken);
            tokens.push(token.then(&AaveToken::initializeCall {
                name: format!("Aave {}", reserve.symbol),
                symbol: reserve.symbol,
                decimals: reserve.decimals,
                pool: self.pool,
                underlying: asset,
            }));
        }
        [pool, oracle, provider].into_iter().chain(tokens).collect()
    }
}

impl From<VaultSpec> for Placement {
    fn from(spec: VaultSpec) -> Self {
        Self::new(spec.address, Contract::TokenVault).then(&TokenVault::initializeCall {
            name: spec.name,
            symbol: spec.symbol,
            decimals: spec.decimals,
            asset: spec.asset,
            owner: MINTER.address,
        })
    }
}
