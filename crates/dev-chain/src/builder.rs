//! Setting a chain up.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use alloy_primitives::{Address, Bytes, U256, address, keccak256};
use alloy_sol_types::SolCall;
use revm::{bytecode::Bytecode, state::AccountInfo};

use crate::{
    accounts::{BUYER, DEV_ACCOUNTS, MINTER},
    chain::DevChain,
    contract::{Contract, Token, Wallet},
    error::DevChainError,
    evm::{BlockContext, Checks, execute, free_call},
    node::{Clock, Mining, Node, Settings, expect_success},
    state::State,
};

/// What a token does with an authorization that was used or cancelled before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reuse {
    /// The call reverts, as on Circle's and Tether's tokens.
    Reverts,
    /// The call emits `AuthorizationAlreadyUsed` and returns, as on Global Dollar (USDG).
    Returns,
}

/// A token that stands on the chain from its first block, with 6 decimals.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenSpec {
    /// Where it stands.
    pub address: Address,
    /// `name()`, part of the EIP-712 domain byte for byte.
    pub name: String,
    /// `symbol()`.
    pub symbol: String,
    /// `version()`, part of the EIP-712 domain.
    pub version: String,
    /// What it does with a spent authorization.
    pub reuse: Reuse,
}

/// Where USD₮0 stands on chain 196.
pub const USDT0: Address = address!("779Ded0c9e1022225f8E0630b35a9b54bE713736");

/// Where USDC, issued by Circle, stands on chain 196.
pub const USDC: Address = address!("B6CEceAB302E2E4948951eE7843FC24E92933061");

/// Where USDG stands on chain 196.
pub const USDG: Address = address!("4ae46a509F6b1D9056937BA4500cb143933D2dc8");

/// The chain of service document 2.1.
const CHAIN_ID: u64 = 196;

/// Wei per gas of every block.
const BASE_FEE: u64 = 20_000_000;

/// What [`DevChainBuilder::chain_196_assets`] gives each account: 10,000 native coins.
const NATIVE_FUNDS: u128 = 10_000_000_000_000_000_000_000;

/// What [`DevChainBuilder::chain_196_assets`] gives the buyer of each token: 1,000 tokens.
const TOKEN_FUNDS: u64 = 1_000_000_000;

/// Collects what stands on a chain before its first block.
#[derive(Clone)]
pub struct DevChainBuilder {
    settings: Settings,
    receipt_polls: u32,
    accounts: Vec<(Address, U256)>,
    codes: Vec<(Address, Bytes)>,
    tokens: Vec<TokenSpec>,
    wallets: Vec<(Address, Address)>,
    holders: Vec<(Address, Address, U256)>,
}

impl Default for DevChainBuilder {
    fn default() -> Self {
        Self {
            settings: Settings {
                chain_id: CHAIN_ID,
                base_fee: BASE_FEE,
                mining: Mining::Auto,
                clock: system_clock(),
            },
            receipt_polls: 0,
            accounts: Vec::new(),
            codes: Vec::new(),
            tokens: Vec::new(),
            wallets: Vec::new(),
            holders: Vec::new(),
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

    /// Where the time comes from, in Unix seconds; the system clock unless set. A block is never
    /// older than the one before it, even when the clock goes back.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.settings.clock = Arc::new(clock);
        self
    }

    /// When blocks are made.
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

    /// Places a token. [`MINTER`] may mint it.
    #[must_use]
    pub fn token(mut self, token: TokenSpec) -> Self {
        self.tokens.push(token);
        self
    }

    /// Places an EIP-1271 wallet that `owner` signs for.
    #[must_use]
    pub fn wallet(mut self, address: Address, owner: Address) -> Self {
        self.wallets.push((address, owner));
        self
    }

    /// Mints `amount` atomic units of a placed token to an account.
    #[must_use]
    pub fn holder(mut self, token: Address, account: Address, amount: U256) -> Self {
        self.holders.push((token, account, amount));
        self
    }

    /// The three assets of chain 196 under their real addresses, names and versions, 10,000
    /// native coins for each of [`DEV_ACCOUNTS`], and 1,000 of each token for [`BUYER`].
    #[must_use]
    pub fn chain_196_assets(self) -> Self {
        let funded = DEV_ACCOUNTS.iter().fold(self, |builder, account| {
            builder.account(account.address, U256::from(NATIVE_FUNDS))
        });
        chain_196_tokens()
            .into_iter()
            .fold(funded, |builder, token| {
                let address = token.address;
                builder
                    .token(token)
                    .holder(address, BUYER.address, U256::from(TOKEN_FUNDS))
            })
    }

    /// Builds the chain: its block 0 holds all of this.
    ///
    /// # Errors
    ///
    /// When an address is taken twice, code is malformed, or a contract refuses its set-up (a
    /// holder of an address that is no token, an amount of zero).
    pub fn build(self) -> Result<DevChain, DevChainError> {
        let mut genesis = Genesis::new(self.settings.chain_id, &self.accounts);
        for (address, code) in self.codes {
            genesis.place(address, code)?;
        }
        for TokenSpec {
            address,
            name,
            symbol,
            version,
            reuse,
        } in self.tokens
        {
            let contract = match reuse {
                Reuse::Reverts => Contract::Eip3009Token,
                Reuse::Returns => Contract::LenientReuseToken,
            };
            genesis.place(address, contract.runtime_code()?)?;
            let minter = MINTER.address;
            genesis.call(
                address,
                &Token::initializeCall {
                    name,
                    symbol,
                    version,
                    minter,
                },
            )?;
        }
        for (address, owner) in self.wallets {
            genesis.place(address, Contract::Eip1271Wallet.runtime_code()?)?;
            genesis.call(address, &Wallet::initializeCall { owner })?;
        }
        for (token, to, amount) in self.holders {
            if !genesis.placed.contains(&token) {
                return Err(DevChainError::Call {
                    contract: token,
                    output: Bytes::new(),
                });
            }
            genesis.call(token, &Token::mintCall { to, amount })?;
        }
        let mut node = Node::new(self.settings, genesis.finish());
        node.faults.delay_receipts(self.receipt_polls);
        Ok(DevChain::new(node))
    }
}

/// The state before the first block, while it is put together.
struct Genesis {
    chain_id: u64,
    state: State,
    placed: HashSet<Address>,
    minter: AccountInfo,
}

impl Genesis {
    fn new(chain_id: u64, accounts: &[(Address, U256)]) -> Self {
        let mut state = State::default();
        state.begin_block();
        for (address, wei) in accounts {
            state.insert_account(*address, AccountInfo::default().with_balance(*wei));
        }
        let minter = state.latest().account(MINTER.address);
        Self {
            chain_id,
            state,
            placed: HashSet::new(),
            minter,
        }
    }

    fn place(&mut self, address: Address, code: Bytes) -> Result<(), DevChainError> {
        if !self.placed.insert(address) {
            return Err(DevChainError::AddressTaken { address });
        }
        let code_hash = keccak256(&code);
        let code =
            Bytecode::new_raw_checked(code).map_err(|_| DevChainError::InvalidCode { address })?;
        let balance = self.state.latest().balance(address);
        self.state
            .insert_account(address, AccountInfo::new(balance, 1, code_hash, code));
        Ok(())
    }

    /// Calls a contract in the name of the minter, without fee.
    fn call(&mut self, to: Address, call: &impl SolCall) -> Result<(), DevChainError> {
        let tx = free_call(self.chain_id, MINTER.address, to, call.abi_encode().into());
        let context = BlockContext {
            chain_id: self.chain_id,
            number: 0,
            timestamp: 0,
            base_fee: 0,
            gas_limit: u64::MAX,
        };
        let done = execute(self.state.latest(), context, tx, Checks::Call)?;
        expect_success(to, done.result)?;
        self.state.commit(done.state);
        Ok(())
    }

    /// The state, in which the minter has sent nothing yet.
    fn finish(mut self) -> State {
        self.state.insert_account(MINTER.address, self.minter);
        self.state
    }
}

fn chain_196_tokens() -> [TokenSpec; 3] {
    let token = |address, name: &str, symbol: &str, version: &str, reuse| TokenSpec {
        address,
        name: name.to_owned(),
        symbol: symbol.to_owned(),
        version: version.to_owned(),
        reuse,
    };
    [
        token(USDT0, "USD\u{20ae}0", "USD\u{20ae}0", "1", Reuse::Reverts),
        token(USDC, "USD Coin", "USDC", "2", Reuse::Reverts),
        token(USDG, "Global Dollar", "USDG", "1", Reuse::Returns),
    ]
}

fn system_clock() -> Clock {
    Arc::new(|| {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |elapsed| elapsed.as_secs())
    })
}
