//! The builder of a chain: what is on it before its first block.
//!
//! A chain from the same calls of the builder has the same state, so tests may rely on balances and
//! addresses. The clock is the caller's.

mod genesis;
mod parts;

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;

use self::genesis::Genesis;
use crate::{
    accounts::{DEV_ACCOUNTS, MINTER},
    chain::DevChain,
    chain_196,
    contract::{Contract, Token},
    error::DevChainError,
    node::{Clock, Mining, Node, Settings},
    spec::{
        BurnMessengerSpec, Erc20Spec, ExchangeSpec, Placement, RouterSpec, SafeSpec, SetupCall,
        TokenSpec,
    },
};

/// The base fee of every block, in wei per gas.
const BASE_FEE: u64 = 20_000_000;

/// The funds of each account in the presets: 10,000 native coins.
const NATIVE_FUNDS: u128 = 10_000_000_000_000_000_000_000;

/// Collects the content of a chain before its first block.
#[derive(Clone)]
pub struct DevChainBuilder {
    settings: Settings,
    receipt_polls: u32,
    accounts: Vec<(Address, U256)>,
    codes: Vec<(Address, Bytes)>,
    placements: Vec<Placement>,
    calls: Vec<SetupCall>,
}

impl Default for DevChainBuilder {
    fn default() -> Self {
        Self {
            settings: Settings {
                chain_id: chain_196::CHAIN_ID,
                base_fee: BASE_FEE,
                mining: Mining::Auto,
                clock: system_clock(),
                legacy: false,
                least_tip: 0,
            },
            receipt_polls: 0,
            accounts: Vec::new(),
            codes: Vec::new(),
            placements: Vec::new(),
            calls: Vec::new(),
        }
    }
}

impl DevChainBuilder {
    /// The chain id, 196 unless set.
    #[must_use]
    pub fn chain_id(mut self, chain_id: u64) -> Self {
        self.settings.chain_id = chain_id;
        self
    }

    /// The source of the time, in Unix seconds; by default the system clock. A block is never older
    /// than the one before it, even when the clock goes back.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.settings.clock = Arc::new(clock);
        self
    }

    /// Sets when blocks are made.
    #[must_use]
    pub fn mining(mut self, mining: Mining) -> Self {
        self.settings.mining = mining;
        self
    }

    /// The base fee of every block, in wei per gas.
    #[must_use]
    pub fn base_fee(mut self, wei: u64) -> Self {
        self.settings.base_fee = wei;
        self
    }

    /// Makes the chain one without a base fee (EIP-1559): blocks show none, and it is zero.
    #[must_use]
    pub fn legacy(mut self) -> Self {
        self.settings.legacy = true;
        self.settings.base_fee = 0;
        self
    }

    /// Withholds the receipt of each transaction for this many requests.
    #[must_use]
    pub fn receipt_delay(mut self, polls: u32) -> Self {
        self.receipt_polls = polls;
        self
    }

    /// Gives an account native coins, in wei.
    #[must_use]
    pub fn account(mut self, address: Address, wei: U256) -> Self {
        self.accounts.push((address, wei));
        self
    }

    /// Places code, which may be an EIP-7702 delegation, at an address.
    #[must_use]
    pub fn code(mut self, address: Address, runtime_code: Bytes) -> Self {
        self.codes.push((address, runtime_code));
        self
    }

    /// Places one of this crate's contracts, without setting it up.
    #[must_use]
    pub fn contract(self, address: Address, contract: Contract) -> Self {
        self.place(Placement::new(address, contract))
    }

    /// Places a token with authorizations. [`MINTER`] may mint it.
    #[must_use]
    pub fn token(self, token: TokenSpec) -> Self {
        self.place(token.into())
    }

    /// Places a token without authorizations. [`MINTER`] may mint it.
    #[must_use]
    pub fn erc20(self, token: Erc20Spec) -> Self {
        self.place(token.into())
    }

    /// Places an EIP-1271 wallet whose signatures `owner` makes.
    #[must_use]
    pub fn wallet(self, address: Address, owner: Address) -> Self {
        self.place(Placement::wallet(address, owner))
    }

    /// Places a multi-signature account.
    #[must_use]
    pub fn safe(self, safe: SafeSpec) -> Self {
        self.place(safe.into())
    }

    /// Places the aggregator's router. [`MINTER`] manages its allow-list.
    #[must_use]
    pub fn router(self, router: RouterSpec) -> Self {
        self.place(router.into())
    }

    /// Places a venue. [`MINTER`] sets its rates.
    #[must_use]
    pub fn exchange(self, exchange: ExchangeSpec) -> Self {
        self.place(exchange.into())
    }

    /// Places the source side of the bridge. [`MINTER`] owns it.
    #[must_use]
    pub fn burn_messenger(self, messenger: BurnMessengerSpec) -> Self {
        self.place(messenger.into())
    }

    /// Mints `amount` atomic units of a placed token to an account.
    #[must_use]
    pub fn holder(self, token: Address, account: Address, amount: U256) -> Self {
        let call = Token::mintCall {
            to: account,
            amount,
        };
        self.call(MINTER.address, token, call.abi_encode().into())
    }

    /// Calls a placed contract from any account without a signature, after everything has been set
    /// up. The order of these calls and of [`holder`](Self::holder) is kept. It can prepare an
    /// allowance, or a further leg that a router allows.
    #[must_use]
    pub fn call(mut self, from: Address, to: Address, data: Bytes) -> Self {
        self.calls.push(SetupCall { from, to, data });
        self
    }

    /// Builds the chain: its block 0 holds all of this.
    ///
    /// # Errors
    ///
    /// When an address is used twice, code is malformed, or a contract refuses a call (a holder at
    /// an address without a token, a rate with denominator zero).
    pub fn build(self) -> Result<DevChain, DevChainError> {
        let mut genesis = Genesis::new(self.settings.chain_id, &self.accounts);
        for (address, code) in self.codes {
            genesis.place(address, code)?;
        }
        for Placement {
            address,
            contract,
            calls,
        } in self.placements
        {
            genesis.place(address, contract.runtime_code()?)?;
            for call in calls {
                genesis.call(call)?;
            }
        }
        for call in self.calls {
            genesis.call(call)?;
        }
        let mut node = Node::new(self.settings, genesis.finish());
        node.faults.delay_receipts(self.receipt_polls);
        Ok(DevChain::new(node))
    }

    fn place(mut self, placement: Placement) -> Self {
        self.placements.push(placement);
        self
    }

    /// Native coins for each of [`DEV_ACCOUNTS`].
    fn funded(self) -> Self {
        DEV_ACCOUNTS.iter().fold(self, |builder, account| {
            builder.account(account.address, U256::from(NATIVE_FUNDS))
        })
    }
}

fn system_clock() -> Clock {
    Arc::new(|| {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |elapsed| elapsed.as_secs())
    })
}
