//! The contracts that wallet actions call, and whole stages.

use alloy_primitives::{Address, U256};

use super::DevChainBuilder;
use crate::{
    accounts::{BUYER, DEV_ACCOUNTS},
    arbitrum, base, chain_196,
    contract::Contract,
    rollup::GAS_PRICE_ORACLE,
    spec::{CctpSpec, DexRouterSpec, LendingSpec, Placement, TokenSpec, VaultSpec},
    xlayer,
};

/// The buyer's funds in [`DevChainBuilder::chain_196_assets`]: 1,000 of each token.
const TOKEN_FUNDS: u64 = 1_000_000_000;

impl DevChainBuilder {
    /// Places a token with authorizations that `minters` may mint in addition to
    /// [`MINTER`](crate::MINTER). It treats a spent authorization as
    /// [`Reuse::Reverts`](crate::Reuse::Reverts).
    #[must_use]
    pub fn token_with_minters(self, token: TokenSpec, minters: &[Address]) -> Self {
        self.place(Placement::token_with_minters(token, minters))
    }

    /// Places a lending market: pool, data provider, price oracle and the tokens of positions. The
    /// supplied tokens are not included.
    #[must_use]
    pub fn lending(self, market: LendingSpec) -> Self {
        market.placements().into_iter().fold(self, Self::place)
    }

    /// Places an ERC-4626 vault.
    #[must_use]
    pub fn vault(self, vault: VaultSpec) -> Self {
        self.place(vault.into())
    }

    /// Places the router of OKX's DEX and its approve proxy.
    #[must_use]
    pub fn dex_router(self, router: DexRouterSpec) -> Self {
        router.placements().into_iter().fold(self, Self::place)
    }

    /// Places both sides of the bridge.
    #[must_use]
    pub fn cctp(self, bridge: CctpSpec) -> Self {
        bridge.placements().into_iter().fold(self, Self::place)
    }

    /// The three assets of chain 196 under their real addresses, names and versions, 10,000
    /// native coins for each of [`DEV_ACCOUNTS`], and 1,000 of each token for [`BUYER`].
    #[must_use]
    pub fn chain_196_assets(self) -> Self {
        chain_196::tokens()
            .into_iter()
            .fold(self.funded(), |builder, token| {
                let address = token.address;
                builder
                    .token(token)
                    .holder(address, BUYER.address, U256::from(TOKEN_FUNDS))
            })
    }

    /// The contracts that swap and bridge plans call, on a chain with the id of Base (module
    /// [`base`]): USDC and WETH, the aggregator's router and fee forwarder, a venue between the two
    /// tokens that the router allows, both sides of the bridge, and the fees of a rollup, which are
    /// zero; 10,000 native coins and 10,000 USDC for each of [`DEV_ACCOUNTS`].
    #[must_use]
    pub fn base_stage(self) -> Self {
        DEV_ACCOUNTS
            .iter()
            .fold(base::RAILS.place(self.funded()), |builder, account| {
                builder.holder(base::USDC, account.address, U256::from(base::USDC_FUNDS))
            })
            .contract(GAS_PRICE_ORACLE, Contract::GasPriceOracle)
    }

    /// The contracts that wallet actions call on chain 196 (module [`xlayer`]), with
    /// [`chain_196_assets`](Self::chain_196_assets): OKX's router, Aave v3 with three reserves, an
    /// ERC-4626 vault, WOKB and the multicall contract.
    #[must_use]
    pub fn xlayer_stage(self) -> Self {
        xlayer::place(self.chain_196_assets())
    }

    /// The contracts of [`base_stage`](Self::base_stage) on a chain with the id of Arbitrum One
    /// (module [`arbitrum`]), also with 10,000 native coins and 10,000 USDC for each of
    /// [`DEV_ACCOUNTS`].
    #[must_use]
    pub fn arbitrum_stage(self) -> Self {
        DEV_ACCOUNTS
            .iter()
            .fold(arbitrum::RAILS.place(self.funded()), |builder, account| {
                let funds = U256::from(base::USDC_FUNDS);
                builder.holder(arbitrum::USDC, account.address, funds)
            })
    }
}
