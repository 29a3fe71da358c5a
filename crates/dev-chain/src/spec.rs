//! The contracts that can be on a chain from its first block, and the calls that set them up.
//!
//! The specifications are plain values. [`DevChainBuilder`](crate::DevChainBuilder) places them.

mod bridge;
mod dex;
mod lending;

use alloy_primitives::{Address, Bytes, Selector, U256};
use alloy_sol_types::SolCall;

pub use self::{
    bridge::CctpSpec,
    dex::DexRouterSpec,
    lending::{LendingSpec, ReserveSpec, VaultSpec},
};
use crate::{
    abi::MultiMinterToken,
    accounts::MINTER,
    contract::{Contract, Erc20, Exchange, Messenger, Owned, Router, Safe, Token},
};

/// A token's treatment of an authorization that was used or cancelled before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reuse {
    /// The call reverts, as on Circle's and Tether's tokens.
    Reverts,
    /// The call emits `AuthorizationAlreadyUsed` and returns, as on Global Dollar (USDG).
    Returns,
}

/// A token with EIP-3009 authorizations and 6 decimals.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenSpec {
    /// Its address.
    pub address: Address,
    /// `name()`, part of the EIP-712 domain byte for byte.
    pub name: String,
    /// `symbol()`.
    pub symbol: String,
    /// `version()`, part of the EIP-712 domain.
    pub version: String,
    /// Its treatment of a spent authorization.
    pub reuse: Reuse,
}

/// The behaviour of a token without authorizations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Erc20Kind {
    /// As in ERC-20.
    Plain,
    /// Like Tether's on Ethereum: it returns nothing, and `approve` reverts when neither the old
    /// nor the new allowance is zero.
    UsdtLike,
}

/// A token without authorizations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Erc20Spec {
    /// Its address.
    pub address: Address,
    /// `name()`.
    pub name: String,
    /// `symbol()`.
    pub symbol: String,
    /// `decimals()`.
    pub decimals: u8,
    /// Its behaviour.
    pub kind: Erc20Kind,
}

/// The aggregator's router.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RouterSpec {
    /// Its address.
    pub address: Address,
    /// The calls that its legs may make. The selector `ffffffff` means: approve, but not call.
    pub allowed: Vec<(Address, Selector)>,
}

/// A price of a [`FixedRateExchange`](Contract::FixedRateExchange).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    /// The token that the exchange takes.
    pub token_in: Address,
    /// The token that it pays.
    pub token_out: Address,
    /// The amount that the exchange pays, in atomic units of `token_out`, for `denominator` units
    /// of `token_in`.
    pub numerator: U256,
    /// The amount that the exchange takes for it, in atomic units of `token_in`; not zero.
    pub denominator: U256,
}

/// A venue with fixed rates. Its inventory has to be minted to it
/// ([`DevChainBuilder::holder`](crate::DevChainBuilder::holder)).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExchangeSpec {
    /// Its address.
    pub address: Address,
    /// Its prices, each in one direction.
    pub rates: Vec<Rate>,
}

/// The source side of the burn-and-mint bridge (CCTP V2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BurnMessengerSpec {
    /// Its address. The messengers of the other domains have the same address, as on the real
    /// networks.
    pub address: Address,
    /// The CCTP domain of this chain.
    pub local_domain: u32,
    /// The domains that can be reached.
    pub remote_domains: Vec<u32>,
    /// The tokens that can be burned, and the most that one burn may take, in atomic units.
    pub burn_limits: Vec<(Address, U256)>,
}

/// A multi-signature account with read functions only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SafeSpec {
    /// Its address.
    pub address: Address,
    /// `getOwners()`.
    pub owners: Vec<Address>,
    /// `getThreshold()`: at least one, at most the number of owners.
    pub threshold: u64,
    /// `VERSION()`.
    pub version: String,
}

/// A contract at an address, and the calls that set it up.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    pub(crate) address: Address,
    pub(crate) contract: Contract,
    pub(crate) calls: Vec<SetupCall>,
}

/// A call before the first block.
#[derive(Clone, Debug)]
pub(crate) struct SetupCall {
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) data: Bytes,
}

impl Placement {
    pub(crate) fn new(address: Address, contract: Contract) -> Self {
        Self {
            address,
            contract,
            calls: Vec::new(),
        }
    }

    /// Adds a call to the contract from [`MINTER`], which owns every contract with an owner.
    pub(crate) fn then(mut self, call: &impl SolCall) -> Self {
        self.calls.push(SetupCall {
            from: MINTER.address,
            to: self.address,
            data: call.abi_encode().into(),
        });
        self
    }

    /// A token with authorizations that others than [`MINTER`] may also mint, without limit.
    pub(crate) fn token_with_minters(spec: TokenSpec, minters: &[Address]) -> Self {
        let token = Self::from(spec);
        let token = Self {
            contract: Contract::MultiMinterToken,
            ..token
        };
        minters.iter().fold(token, |token, account| {
            token.then(&MultiMinterToken::configureMinterCall {
                account: *account,
                allowance: U256::MAX,
            })
        })
    }

    /// An EIP-1271 wallet.
    pub(crate) fn wallet(address: Address, owner: Address) -> Self {
        Self::new(address, Contract::Eip1271Wallet).then(&Owned::initializeCall { owner })
    }

    /// A contract that is set up by appointing its owner.
    fn owned(address: Address, contract: Contract) -> Self {
        Self::new(address, contract).then(&Owned::initializeCall {
            owner: MINTER.address,
        })
    }
}

impl From<TokenSpec> for Placement {
    fn from(spec: TokenSpec) -> Self {
        let contract = match spec.reuse {
            Reuse::Reverts => Contract::Eip3009Token,
            Reuse::Returns => Contract::LenientReuseToken,
        };
        Self::new(spec.address, contract).then(&Token::initializeCall {
            name: spec.name,
            symbol: spec.symbol,
            version: spec.version,
            minter: MINTER.address,
        })
    }
}

impl From<Erc20Spec> for Placement {
    fn from(spec: Erc20Spec) -> Self {
        let contract = match spec.kind {
            Erc20Kind::Plain => Contract::PlainToken,
            Erc20Kind::UsdtLike => Contract::UsdtLikeToken,
        };
        Self::new(spec.address, contract).then(&Erc20::initializeCall {
            name: spec.name,
            symbol: spec.symbol,
            decimals: spec.decimals,
            minter: MINTER.address,
        })
    }
}

impl From<RouterSpec> for Placement {
    fn from(spec: RouterSpec) -> Self {
        let router = Self::owned(spec.address, Contract::AggregatorRouter);
        spec.allowed
            .into_iter()
            .fold(router, |router, (target, selector)| {
                router.then(&Router::setAllowedCall {
                    target,
                    selector,
                    isAllowed: true,
                })
            })
    }
}

impl From<ExchangeSpec> for Placement {
    fn from(spec: ExchangeSpec) -> Self {
        let exchange = Self::owned(spec.address, Contract::FixedRateExchange);
        spec.rates.into_iter().fold(exchange, |exchange, rate| {
            exchange.then(&Exchange::setRateCall {
                tokenIn: rate.token_in,
                tokenOut: rate.token_out,
                numerator: rate.numerator,
                denominator: rate.denominator,
            })
        })
    }
}

impl From<BurnMessengerSpec> for Placement {
    fn from(spec: BurnMessengerSpec) -> Self {
        let messenger =
            Self::new(spec.address, Contract::BurnMessenger).then(&Messenger::initializeCall {
                owner: MINTER.address,
                domain: spec.local_domain,
            });
        let connected = spec
            .remote_domains
            .into_iter()
            .fold(messenger, |messenger, domain| {
                messenger.then(&Messenger::setRemoteTokenMessengerCall {
                    domain,
                    tokenMessenger: spec.address.into_word(),
                })
            });
        spec.burn_limits
            .into_iter()
            .fold(connected, |messenger, (token, limit)| {
                messenger.then(&Messenger::setMaxBurnAmountPerMessageCall { token, limit })
            })
    }
}

impl From<SafeSpec> for Placement {
    fn from(spec: SafeSpec) -> Self {
        Self::new(spec.address, Contract::SafeAccount).then(&Safe::initializeCall {
            owners: spec.owners,
            threshold: U256::from(spec.threshold),
            version: spec.version,
        })
    }
}
