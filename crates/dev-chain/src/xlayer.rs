//! The contracts that [`DevChainBuilder::xlayer_stage`](crate::DevChainBuilder::xlayer_stage)
//! places on chain 196 beside its payment assets: everything that wallet actions call there, at the
//! real addresses.

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::SolCall;

use crate::{
    abi::{AavePool, TokenVault},
    accounts::MINTER,
    builder::DevChainBuilder,
    chain_196,
    contract::{Contract, Token},
    spec::{DexRouterSpec, Erc20Kind, Erc20Spec, LendingSpec, Rate, ReserveSpec, VaultSpec},
};

pub use crate::chain_196::{CHAIN_ID, USDC, USDG, USDT0};

/// Wrapped OKB: a plain ERC-20 token with 18 decimals that wraps nothing.
pub const WOKB: Address = address!("e538905cf8410324e03A5A23C1c177a474D59b2b");

/// The router of OKX's DEX in the recorded quotes.
pub const DEX_ROUTER: Address = address!("7c5bEE2a8091C3ef39072f64F18Fac913060AEaF");

/// The approve proxy of OKX's DEX, which is approved.
pub const DEX_APPROVE_PROXY: Address = address!("8b773D83bc66Be128c60e07E17C8901f7a64F000");

/// The pool of Aave v3.
pub const AAVE_POOL: Address = address!("E3F3Caefdd7180F884c01E57f65Df979Af84f116");

/// The data provider of Aave v3.
pub const AAVE_DATA_PROVIDER: Address = address!("6C505C31714f14e8af2A03633EB2Cdfb4959138F");

/// The price oracle of Aave v3.
pub const AAVE_ORACLE: Address = address!("91FC11136d5615575a0fC5981Ab5C0C54418E2C6");

/// The tokens of positions in USD₮0, USDG and USDC.
pub const A_USDT0: Address = address!("F356ae412dB5df43BD3a10746f7ad4e1C4De4297");
/// See [`A_USDT0`].
pub const A_USDG: Address = address!("228765a3C18065C923F23a0CCb6c7cEFB3eA2223");
/// See [`A_USDT0`].
pub const A_USDC: Address = address!("7Da9B238CBd6A227ff054704Ec5cF7e700f03414");

/// The ERC-4626 vault over USDG.
pub const STATA_USDG: Address = address!("97e7620A3229b3daC7049C537B0E29DA2D1021E1");

/// The first index of every reserve: odd, so that roundings show.
pub const INDEX: u128 = 1_052_341_876_543_210_987_654_321_098;

/// The most that can be supplied of each reserve, in whole tokens.
pub const SUPPLY_CAP: u64 = 50_000_000;

/// The supply of [`MINTER`] to each reserve before the first block: 1,000,000 tokens.
pub const SUPPLIED: u64 = 1_000_000_000_000;

/// The deposit of [`MINTER`] in the vault, and the vault's earnings on it: five percent.
pub const VAULT_DEPOSIT: u64 = 100_000_000_000;
/// See [`VAULT_DEPOSIT`].
pub const VAULT_YIELD: u64 = 5_000_000_000;

/// The prices of the router, as in the recorded quotes: this many atomic units of the second token
/// for this many of the first.
pub const RATES: [(Address, Address, u128, u128); 6] = [
    (USDG, WOKB, 843_608_100_000_000_000, 100_000_000),
    (USDT0, WOKB, 843_541_200_000_000_000, 100_000_000),
    (USDT0, USDG, 99_982_341, 100_000_000),
    (USDG, USDT0, 99_977_661, 100_000_000),
    (WOKB, USDG, 118_360_400, 1_000_000_000_000_000_000),
    (WOKB, USDT0, 118_336_700, 1_000_000_000_000_000_000),
];

/// The router's inventory: 1,000,000 of each stable token and 10,000 WOKB.
const STABLE_INVENTORY: u64 = 1_000_000_000_000;
const WOKB_INVENTORY: u128 = 10_000_000_000_000_000_000_000;

/// Places all of it on a chain that has the payment assets.
pub(crate) fn place(builder: DevChainBuilder) -> DevChainBuilder {
    let placed = builder
        .chain_id(CHAIN_ID)
        .contract(crate::MULTICALL3, Contract::Multicall3)
        .erc20(Erc20Spec {
            address: WOKB,
            name: "Wrapped OKB".to_owned(),
            symbol: "WOKB".to_owned(),
            decimals: 18,
            kind: Erc20Kind::Plain,
        })
        .dex_router(DexRouterSpec {
            router: DEX_ROUTER,
            approve_proxy: DEX_APPROVE_PROXY,
            rates: RATES.map(rate).to_vec(),
        })
        .lending(LendingSpec {
            pool: AAVE_POOL,
            data_provider: AAVE_DATA_PROVIDER,
            oracle: AAVE_ORACLE,
            reserves: vec![
                reserve(USDT0, A_USDT0, "aXlayUSDT0", 40, 99_990_000),
                reserve(USDG, A_USDG, "aXlayUSDG", 35, 100_000_000),
                reserve(USDC, A_USDC, "aXlayUSDC", 30, 100_000_000),
            ],
        })
        .vault(VaultSpec {
            address: STATA_USDG,
            name: "Static Aave X Layer USDG".to_owned(),
            symbol: "stataXlayUSDG".to_owned(),
            decimals: 6,
            asset: USDG,
        })
        .holder(USDT0, DEX_ROUTER, U256::from(STABLE_INVENTORY))
        .holder(USDG, DEX_ROUTER, U256::from(STABLE_INVENTORY))
        .holder(WOKB, DEX_ROUTER, U256::from(WOKB_INVENTORY));
    deposit(chain_196::ALL.into_iter().fold(placed, supply))
}

fn rate((token_in, token_out, numerator, denominator): (Address, Address, u128, u128)) -> Rate {
    Rate {
        token_in,
        token_out,
        numerator: U256::from(numerator),
        denominator: U256::from(denominator),
    }
}

/// A reserve that pays this many thousandths a year.
fn reserve(asset: Address, a_token: Address, symbol: &str, rate: u128, price: u64) -> ReserveSpec {
    ReserveSpec {
        asset,
        a_token,
        symbol: symbol.to_owned(),
        decimals: 6,
        index: INDEX,
        rate: rate.saturating_mul(1_000_000_000_000_000_000_000_000),
        supply_cap: SUPPLY_CAP,
        price,
    }
}

fn supply(builder: DevChainBuilder, asset: Address) -> DevChainBuilder {
    let amount = U256::from(SUPPLIED);
    let call = AavePool::supplyCall {
        asset,
        amount,
        onBehalfOf: MINTER.address,
        referralCode: 0,
    };
    spend(builder, asset, AAVE_POOL, amount, &call)
}

fn deposit(builder: DevChainBuilder) -> DevChainBuilder {
    let assets = U256::from(VAULT_DEPOSIT);
    let call = TokenVault::depositCall {
        assets,
        receiver: MINTER.address,
    };
    spend(builder, USDG, STATA_USDG, assets, &call).holder(
        USDG,
        STATA_USDG,
        U256::from(VAULT_YIELD),
    )
}

/// Mints an amount to [`MINTER`], which then spends it.
fn spend(
    builder: DevChainBuilder,
    token: Address,
    spender: Address,
    value: U256,
    call: &impl SolCall,
) -> DevChainBuilder {
    let approve = Token::approveCall { spender, value };
    builder
        .holder(token, MINTER.address, value)
        .call(MINTER.address, token, approve.abi_encode().into())
        .call(MINTER.address, spender, call.abi_encode().into())
}
