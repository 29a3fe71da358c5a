//! Reads Aave v3 on chain 196 from its own contracts: what each reserve pays, and what an account
//! has.
//!
//! A yield is computed from the reserve's rate per year, which has 27 digits and compounds every
//! second. A failed call is never read as zero: a reserve with a missing figure is left out, and an
//! account with a missing figure gets no answer. The rows of an account are compared with the
//! totals that the pool states for it. A difference means that the account uses a reserve that this
//! module does not know.

mod contracts;
mod tokens;
mod units;

use std::{sync::Arc, time::Duration};

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;
use readings::{
    Decimal, Figure,
    defi::{
        apy, chains,
        market::Quoted,
        position::{OnChain, Position, Side},
    },
};

use self::{
    contracts::{
        Configuration, DATA_PROVIDER, ORACLE, POOL, Reserve, UserReserve, getAssetPriceCall,
        getPausedCall, getReserveConfigurationDataCall, getReserveDataCall, getUserAccountDataCall,
        getUserReserveDataCall,
    },
    tokens::{TOKENS, Token},
    units::decimal,
};
use crate::{
    cached::{Ages, Cached},
    error::{Error, SourceError, SourceErrorKind},
    evm::{EvmReader, Leg},
    provenance::{Clock, Sourced},
};

/// The chain.
pub const CHAIN_ID: u64 = 196;
/// The protocol as DefiLlama calls it.
const PROJECT: &str = "aave-v3";
/// The source id of the chain's nodes.
const SOURCE: &str = "rpc.xlayer";
/// Decimal digits of the oracle's prices.
const PRICE_DIGITS: u32 = 8;
/// Decimal digits of a health factor.
const HEALTH_DIGITS: u32 = 18;
/// The rows of an account do not cover the pool's own total when they lack more than this share of
/// it, and more than a cent. Rates and prices are of one block, so only roundings differ.
const TOLERANCE: Decimal = Decimal::from_parts(1, 0, 0, false, 3);
const CENT: Decimal = Decimal::from_parts(1, 0, 0, false, 2);
/// How many accounts' positions are kept.
const KEPT_ACCOUNTS: usize = 2_000;

/// Aave on chain 196. Clones share everything.
#[derive(Clone, Debug)]
pub struct Aave {
    evm: EvmReader,
    markets: Cached<(), Arc<Vec<Quoted>>>,
    positions: Cached<Address, Arc<OnChain>>,
}

/// A usable reserve and the price of its token.
struct Read {
    token: &'static Token,
    configuration: Configuration,
    reserve: Reserve,
    /// Dollars for one token.
    price: Decimal,
}

impl Aave {
    /// Reads over the configured nodes.
    #[must_use]
    pub fn new(evm: EvmReader, clock: Arc<dyn Clock>) -> Self {
        Self {
            evm,
            markets: Cached::new(1, Ages::seconds(60, 3600), clock.clone()),
            positions: Cached::new(KEPT_ACCOUNTS, Ages::seconds(30, 300), clock),
        }
    }

    /// The yield of each reserve that takes deposits. The stated value is the part that is not lent
    /// out.
    ///
    /// # Errors
    ///
    /// When no node answers, or no reserve can be read.
    pub async fn markets(
        &self,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<Quoted>>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let legs: Vec<_> = TOKENS.iter().flat_map(reserve_legs).collect();
            let batch = this.evm.multicall(CHAIN_ID, &legs).await?;
            let read = |results: &[Option<Bytes>]| -> Vec<Quoted> {
                let parts = results.chunks(RESERVE_LEGS);
                let reserves = TOKENS
                    .iter()
                    .zip(parts)
                    .filter_map(|(token, part)| reserve(token, part));
                reserves
                    .filter(Read::takes_deposits)
                    .filter_map(|read| read.quoted())
                    .collect()
            };
            let quoted = read(&batch.value.results);
            if quoted.is_empty() {
                return Err(unusable("a reserve that can be read").into());
            }
            Ok(batch.map(|_| Arc::new(quoted)))
        };
        self.markets.get((), max_age, fetch).await
    }

    /// The supplied and owed amounts of `account`, and whether the known reserves cover all of
    /// them.
    ///
    /// # Errors
    ///
    /// When no node answers, or the account's part of a reserve cannot be read.
    pub async fn positions(
        &self,
        account: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<OnChain>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let of_account = getUserAccountDataCall { user: account };
            let mut legs = vec![leg(POOL, &of_account)];
            for token in &TOKENS {
                let of_reserve = getUserReserveDataCall {
                    asset: token.address,
                    user: account,
                };
                legs.push(leg(DATA_PROVIDER, &of_reserve));
                legs.extend(reserve_legs(token));
            }
            let batch = this.evm.multicall(CHAIN_ID, &legs).await?;
            let positions = positions(&batch.value.results)?;
            Ok(batch.map(|_| Arc::new(positions)))
        };
        self.positions.get(account, max_age, fetch).await
    }
}

/// How many calls are made about one reserve.
const RESERVE_LEGS: usize = 4;

fn reserve_legs(token: &Token) -> [Leg; RESERVE_LEGS] {
    let asset = token.address;
    [
        leg(DATA_PROVIDER, &getReserveConfigurationDataCall { asset }),
        leg(DATA_PROVIDER, &getReserveDataCall { asset }),
        leg(DATA_PROVIDER, &getPausedCall { asset }),
        leg(ORACLE, &getAssetPriceCall { asset }),
    ]
}

fn leg(to: Address, call: &impl SolCall) -> Leg {
    let data = call.abi_encode().into();
    Leg { to, data }
}

/// `None` for a token that is no reserve, or whose figures are incomplete.
fn reserve(token: &'static Token, results: &[Option<Bytes>]) -> Option<Read> {
    let [configuration, reserve, paused, price] = results else {
        return None;
    };
    let configuration = Configuration::read(configuration.as_ref()?)?;
    let paused = getPausedCall::abi_decode_returns(paused.as_ref()?).ok()?;
    let price = getAssetPriceCall::abi_decode_returns(price.as_ref()?).ok()?;
    let price = decimal(price, PRICE_DIGITS).filter(|price| *price > Decimal::ZERO)?;
    Some(Read {
        token,
        configuration: Configuration {
            paused,
            ..configuration
        },
        reserve: Reserve::read(reserve.as_ref()?)?,
        price,
    })
}

impl Read {
    fn takes_deposits(&self) -> bool {
        let now = &self.configuration;
        now.active && !now.frozen && !now.paused
    }

    fn quoted(&self) -> Option<Quoted> {
        let unlent = self
            .reserve
            .supplied
            .checked_sub(self.reserve.borrowed)
            .unwrap_or(U256::ZERO);
        Some(Quoted {
            pool: format!("{PROJECT}-xlayer-{}", self.token.id),
            chain_id: CHAIN_ID,
            chain: chains::name_of(CHAIN_ID)?.to_owned(),
            project: PROJECT.to_owned(),
            symbol: self.token.symbol.to_owned(),
            underlying: Some(self.token.address.to_string()),
            apy_pct: apy::of_liquidity_rate(self.reserve.liquidity_rate)?,
            is_base: true,
            tvl_usd: self.worth(unlent)?,
            // A loan is paid back in the token that was lent.
            il_risk: Some(false),
            source: SOURCE,
        })
    }

    fn amount(&self, atoms: U256) -> Option<Decimal> {
        decimal(atoms, self.configuration.decimals)
    }

    fn worth(&self, atoms: U256) -> Option<Decimal> {
        self.amount(atoms)?.checked_mul(self.price)
    }

    fn position(&self, side: Side, atoms: U256, rate: U256, health: Option<Figure>) -> Position {
        let suffix = match side {
            Side::Supply => "",
            Side::Borrow => "-borrow",
        };
        let apy_pct = apy::of_liquidity_rate(rate).map(Figure);
        Position {
            position_id: format!("{CHAIN_ID}-{PROJECT}-{}{suffix}", self.token.id),
            chain_id: CHAIN_ID,
            protocol: PROJECT.to_owned(),
            asset: Some(self.token.symbol.to_owned()),
            amount: self.amount(atoms).map(Figure),
            value_usd: self.worth(atoms).map(|usd| Figure(usd.trunc_with_scale(6))),
            apy_source: apy_pct.map(|_| SOURCE),
            apy_pct,
            health,
            opened_at: None,
            side,
            source: SOURCE,
        }
    }
}

fn positions(results: &[Option<Bytes>]) -> Result<OnChain, SourceError> {
    let missing = || unusable("every figure of the account");
    let (account, parts) = results.split_first().ok_or_else(missing)?;
    let account = account.as_ref().ok_or_else(missing)?;
    let account = getUserAccountDataCall::abi_decode_returns(account).map_err(|_| missing())?;
    // Without a debt the factor is the largest possible number, which carries no information.
    let health = (!account.totalDebtBase.is_zero())
        .then(|| decimal(account.healthFactor, HEALTH_DIGITS))
        .flatten()
        .map(|health| Figure(health.trunc_with_scale(4)));
    let mut reserves = 0_usize;
    let mut rows = Vec::new();
    let (mut collateral, mut debt) = (Some(Decimal::ZERO), Some(Decimal::ZERO));
    let plus = |sum: Option<Decimal>, worth: Option<Decimal>| sum?.checked_add(worth?);
    for (token, part) in TOKENS.iter().zip(parts.chunks(1 + RESERVE_LEGS)) {
        let (user, about) = part.split_first().ok_or_else(missing)?;
        let configuration = about.first().and_then(Option::as_ref).ok_or_else(missing)?;
        let listed = Configuration::read(configuration).is_some_and(|read| read.decimals > 0);
        if !listed {
            continue;
        }
        reserves = reserves.saturating_add(1);
        let user = user
            .as_ref()
            .and_then(|returned| UserReserve::read(returned));
        let user = user.ok_or_else(missing)?;
        if user.is_empty() {
            continue;
        }
        let read = reserve(token, about).ok_or_else(missing)?;
        if !user.supplied.is_zero() {
            if user.collateral {
                collateral = plus(collateral, read.worth(user.supplied));
            }
            let rate = read.reserve.liquidity_rate;
            rows.push(read.position(Side::Supply, user.supplied, rate, health));
        }
        if !user.borrowed.is_zero() {
            debt = plus(debt, read.worth(user.borrowed));
            let rate = read.reserve.borrow_rate;
            rows.push(read.position(Side::Borrow, user.borrowed, rate, health));
        }
    }
    if reserves == 0 {
        return Err(unusable("a reserve that can be read"));
    }
    let complete =
        covers(account.totalCollateralBase, collateral) && covers(account.totalDebtBase, debt);
    Ok(OnChain {
        positions: rows,
        complete,
    })
}

/// Whether the amount that was `read` covers the amount that the pool states, in dollars.
fn covers(stated: U256, read: Option<Decimal>) -> bool {
    let lacking = || {
        let stated = decimal(stated, PRICE_DIGITS)?;
        let slack = stated.checked_mul(TOLERANCE)?.checked_add(CENT)?;
        Some(stated.checked_sub(read?)? > slack)
    };
    lacking() == Some(false)
}

fn unusable(expected: &'static str) -> SourceError {
    let kind = SourceErrorKind::Malformed {
        path: "$.result".to_owned(),
        expected,
        observed: "less".to_owned(),
    };
    SourceError {
        source: SOURCE,
        kind,
    }
}
