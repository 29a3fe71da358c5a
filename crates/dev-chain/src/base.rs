//! The contracts that [`DevChainBuilder::base_stage`](crate::DevChainBuilder::base_stage) places on
//! a chain with the id of Base: everything that swap and bridge plans call, at the real addresses.

use alloy_primitives::{Address, Selector, U256, address, fixed_bytes};

use crate::{
    builder::DevChainBuilder,
    cctp,
    contract::Contract,
    spec::{CctpSpec, Erc20Kind, Erc20Spec, ExchangeSpec, Rate, Reuse, RouterSpec, TokenSpec},
};

/// The token messenger of CCTP V2.
pub use crate::cctp::TOKEN_MESSENGER;

/// The chain's id.
pub const CHAIN_ID: u64 = 8453;

/// USDC, issued by Circle: a token with EIP-3009 authorizations, name "USD Coin", version "2".
pub const USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");

/// Wrapped ether: a plain ERC-20 token with 18 decimals that wraps nothing.
pub const WETH: Address = address!("4200000000000000000000000000000000000006");

/// The aggregator's router.
pub const ROUTER: Address = address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE");

/// The aggregator's fee forwarder, version 2.
pub const FORWARDER: Address = address!("CE40449B773a3E6E5e769ADb4e567179d4828cbd");

/// The venue, under the address of one that the aggregator allows on Base.
pub const EXCHANGE: Address = address!("AC4c6e212A361c968F1725b4d055b47E63F80b75");

/// The CCTP domain of Base.
pub const DOMAIN: u32 = 6;

/// `forwardERC20Fees(address,(address,uint256)[])`, allowed on [`FORWARDER`].
pub const FORWARD_FEES: Selector = fixed_bytes!("332d746b");

/// `snwap(address,uint256,address,address,uint256,address,bytes)`, allowed on [`EXCHANGE`].
pub const SNWAP: Selector = fixed_bytes!("5f3bd1c8");

/// Atomic units of USDC that each of [`DEV_ACCOUNTS`](crate::DEV_ACCOUNTS) holds: 10,000 USDC.
pub const USDC_FUNDS: u64 = 10_000_000_000;

/// Wei for one atomic unit of USDC on [`EXCHANGE`], in both directions: 2,500 USDC for one WETH.
pub const WEI_PER_USDC_UNIT: u64 = 400_000_000;

/// The inventory of [`EXCHANGE`]: 1,000,000 USDC and 1,000 WETH.
const USDC_INVENTORY: u64 = 1_000_000_000_000;
const WETH_INVENTORY: u128 = 1_000_000_000_000_000_000_000;

/// The differences between the chains of the swap and bridge rails.
#[derive(Clone, Copy)]
pub(crate) struct Rails {
    pub(crate) chain_id: u64,
    pub(crate) domain: u32,
    pub(crate) usdc: Address,
    pub(crate) weth: Address,
}

/// The contracts and numbers of this chain.
pub(crate) const RAILS: Rails = Rails {
    chain_id: CHAIN_ID,
    domain: DOMAIN,
    usdc: USDC,
    weth: WETH,
};

impl Rails {
    /// Places all of it on the chain, except funded accounts.
    pub(crate) fn place(self, builder: DevChainBuilder) -> DevChainBuilder {
        let (one, rate) = (U256::ONE, U256::from(WEI_PER_USDC_UNIT));
        let usdc = TokenSpec {
            address: self.usdc,
            name: "USD Coin".to_owned(),
            symbol: "USDC".to_owned(),
            version: "2".to_owned(),
            reuse: Reuse::Reverts,
        };
        builder
            .chain_id(self.chain_id)
            .token_with_minters(usdc, &[cctp::TOKEN_MINTER])
            .erc20(Erc20Spec {
                address: self.weth,
                name: "Wrapped Ether".to_owned(),
                symbol: "WETH".to_owned(),
                decimals: 18,
                kind: Erc20Kind::Plain,
            })
            .contract(FORWARDER, Contract::FeeForwarder)
            .router(RouterSpec {
                address: ROUTER,
                allowed: vec![(FORWARDER, FORWARD_FEES), (EXCHANGE, SNWAP)],
            })
            .exchange(ExchangeSpec {
                address: EXCHANGE,
                rates: vec![
                    Rate {
                        token_in: self.usdc,
                        token_out: self.weth,
                        numerator: rate,
                        denominator: one,
                    },
                    Rate {
                        token_in: self.weth,
                        token_out: self.usdc,
                        numerator: one,
                        denominator: rate,
                    },
                ],
            })
            .cctp(CctpSpec::of(self.domain, self.usdc))
            .contract(crate::MULTICALL3, Contract::Multicall3)
            .holder(self.usdc, EXCHANGE, U256::from(USDC_INVENTORY))
            .holder(self.weth, EXCHANGE, U256::from(WETH_INVENTORY))
    }
}
