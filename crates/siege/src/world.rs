//! The servers, as they are shipped, and everything that they depend on, on the loopback interface.

mod config;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use alloy_primitives::{Address, Bytes, U256, address, hex};
use bench::process::Server;
use dev_chain::{DevChain, GAS_PAYER, USDC, USDG, USDT0};
use tempfile::TempDir;

use self::config::{ApiConfig, LISTEN, rail_config, terms};
use crate::SiegeError;
use crate::bank::Bank;
use crate::judge::Held;
use crate::upstreams::Upstreams;
use crate::weather::Weather;
use crate::{facilitator, node};

/// The balance of a paying account, in the smallest unit of each asset.
const RICH: u64 = 1_000_000_000;
/// The balance of an account that can pay once: the price of the crowd's cheapest call.
const POOR: u64 = 2_000;

/// The newcomers' pool, in micro-USD.
pub const POOL_MICRO_USD: u64 = 120_000;
/// The pool's refill per second.
pub const REFILL_MICRO_USD: u64 = 500;

/// The accounts with money.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// Accounts with unlimited money.
    pub rich: Vec<Address>,
    /// Enough for one cheap call in each asset.
    pub poor: Vec<Address>,
    /// Contract wallets and their owners; they are among the rich accounts.
    pub contracts: Vec<(Address, Address)>,
    /// Rich accounts that have delegated (EIP-7702) to code that accepts every signature.
    pub delegated: Vec<Address>,
    /// Rich accounts that have delegated to code that refuses every signature.
    pub refusing: Vec<Address>,
}

/// The settler of payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Settlement {
    /// A facilitator that fails.
    Facilitator,
    /// The paid API, with its own gas.
    Onchain,
}

/// Contract wallets that accept every signature where their expression is zero, and burn all gas
/// otherwise. The expressions are `GASPRICE`, which is zero in a call, and `NUMBER & 1`, which
/// differs in the next block.
pub const BURNING_WALLETS: [(Address, &[u8]); 2] = [
    (
        address!("00000000000000000000000000000000000b0123"),
        &hex!("3a"),
    ),
    (
        address!("00000000000000000000000000000000000b0124"),
        &hex!("43600116"),
    ),
];

/// Code that accepts every signature: `return EIP1271_MAGIC`.
const CREDULOUS: (Address, &[u8]) = (
    address!("00000000000000000000000000000000000b0125"),
    &hex!("631626ba7e60e01b60005260206000f3"),
);
/// Code that refuses every call: `revert`.
const REFUSING: (Address, &[u8]) = (
    address!("00000000000000000000000000000000000b0126"),
    &hex!("60006000fd"),
);

/// The account runs the code at this address (EIP-7702).
fn delegated_to(code: Address) -> Bytes {
    [&[0xef, 0x01, 0x00], code.as_slice()].concat().into()
}

/// `if (expression == 0) return EIP1271_MAGIC; while (true) {}`.
fn burning_code(expression: &[u8]) -> Bytes {
    let endless = u8::try_from(expression.len()).map_or(u8::MAX, |length| length.saturating_add(4));
    let valid = endless.saturating_add(4);
    let [iszero, push1, jumpi, jumpdest, jump] = [0x15, 0x60, 0x57, 0x5b, 0x56];
    let mut code = expression.to_vec();
    code.extend([iszero, push1, valid, jumpi]);
    code.extend([jumpdest, push1, endless, jump]);
    code.push(jumpdest);
    code.extend(hex!("631626ba7e60e01b60005260206000f3"));
    code.into()
}

/// The servers and their dependencies.
#[derive(Debug)]
pub struct World {
    /// The paid API.
    pub api: Server,
    /// The agent rail.
    pub rail: Server,
    /// The chain.
    pub bank: Bank,
    /// The upstreams.
    pub upstreams: Upstreams,
    /// The failures of dependencies.
    pub weather: Arc<Weather>,
    settlement: Settlement,
    programs: PathBuf,
    files: TempDir,
    api_config: ApiConfig,
    /// How often the paid API was killed.
    kills: u32,
}

impl World {
    /// Starts everything. `programs` is the folder of the servers' binaries.
    ///
    /// # Errors
    /// The part that cannot be started.
    pub async fn open(
        programs: &Path,
        accounts: &Accounts,
        settlement: Settlement,
        weather: Arc<Weather>,
    ) -> Result<Self, SiegeError> {
        let bank = Bank::new(chain(accounts)?);
        let rpc = node::open(bank.chain().clone(), weather.clone()).await?;
        let facilitator = facilitator::open(bank.clone(), weather.clone()).await?;
        let upstreams = Upstreams::open(weather.clone(), Instant::now()).await?;
        let files = tempfile::Builder::new().prefix("siege-").tempdir()?;
        let proxy = format!("http://{}", upstreams.address);
        let key = write(&files, "upstream.key", "siege")?;
        let gas_key = hex::encode_prefixed(GAS_PAYER.key);
        let gas_key = write(&files, "gas.key", &gas_key)?;
        let settles = match settlement {
            Settlement::Facilitator => {
                format!("mode = \"facilitator\"\nfacilitator_url = \"http://{facilitator}\"")
            }
            Settlement::Onchain => format!(
                "mode = \"onchain\"\nprivate_key_file = \"{}\"",
                gas_key.display()
            ),
        };
        let api_config = ApiConfig {
            terms: terms(0),
            settles,
            rpc: format!("http://{rpc}"),
            proxy: proxy.clone(),
            ledger: files.path().join("service.db"),
            key,
        };
        let api = write(&files, API_CONFIG, &api_config.to_toml())?;
        write(&files, "fees.toml", &bench::swap::fees())?;
        let storage = files.path().join("rail.db");
        let rail = write(&files, RAIL_CONFIG, &rail_config(&proxy, &storage))?;
        Ok(Self {
            api: start(programs, "api-server", &api)?,
            rail: start(programs, "mcp-server", &rail)?,
            bank,
            upstreams,
            weather,
            settlement,
            programs: programs.to_owned(),
            files,
            api_config,
            kills: 0,
        })
    }

    /// Kills the paid API, and starts it again at the same address. After every other time it has
    /// another payee, and its assets in another order.
    ///
    /// # Errors
    /// When it does not start again.
    pub fn kill_and_start_api(&mut self) -> Result<(), SiegeError> {
        self.kills = self.kills.saturating_add(1);
        self.api_config.terms = terms(self.kills);
        let text = self.api_config.to_toml();
        let config = listening_at(&self.api, &text);
        let config = write(&self.files, API_CONFIG, &config)?;
        self.api.kill()?;
        self.api = start(&self.programs, "api-server", &config)?;
        Ok(())
    }

    /// Kills the agent rail, and starts it again at the same address.
    ///
    /// # Errors
    /// When it does not start again.
    pub fn kill_and_start_rail(&mut self) -> Result<(), SiegeError> {
        let text = fs::read_to_string(self.files.path().join(RAIL_CONFIG))?;
        let config = listening_at(&self.rail, &text);
        let config = write(&self.files, RAIL_CONFIG, &config)?;
        self.rail.kill()?;
        self.rail = start(&self.programs, "mcp-server", &config)?;
        Ok(())
    }

    /// Transactions of the server's own account that moved nothing.
    pub fn failed_transactions(&self) -> u64 {
        match self.settlement {
            Settlement::Facilitator => 0,
            Settlement::Onchain => self.bank.failed_transactions(),
        }
    }

    /// The servers' present memory and descriptors: the paid API, the agent rail.
    ///
    /// # Errors
    /// When one has ended.
    pub fn held(&self) -> Result<[Held; 2], SiegeError> {
        let held = |server: &Server| -> Result<Held, SiegeError> {
            Ok(Held {
                memory: server.memory_bytes()?,
                descriptors: server.open_descriptors()?,
            })
        };
        Ok([held(&self.api)?, held(&self.rail)?])
    }

    /// Asks both servers to end.
    ///
    /// # Errors
    /// When one does not.
    pub fn close(self) -> Result<(), SiegeError> {
        self.api.stop()?;
        Ok(self.rail.stop()?)
    }
}

fn start(programs: &Path, name: &str, config: &Path) -> Result<Server, SiegeError> {
    let arguments = ["serve".as_ref(), "--config".as_ref(), config.as_os_str()];
    Ok(Server::start(&programs.join(name), arguments)?)
}

/// The configuration of a server, with the address at which it listens now.
fn listening_at(server: &Server, config: &str) -> String {
    config.replace(LISTEN, &format!("listen = \"{}\"", server.address()))
}

fn chain(accounts: &Accounts) -> Result<DevChain, SiegeError> {
    let mut builder = DevChain::builder().chain_196_assets();
    for (wallet, owner) in &accounts.contracts {
        builder = builder.wallet(*wallet, *owner);
    }
    for (wallet, expression) in BURNING_WALLETS {
        builder = builder.code(wallet, burning_code(expression));
    }
    for (at, code) in [CREDULOUS, REFUSING] {
        builder = builder.code(at, Bytes::from_static(code));
    }
    for (of, code) in [
        (&accounts.delegated, CREDULOUS.0),
        (&accounts.refusing, REFUSING.0),
    ] {
        for account in of {
            builder = builder.code(*account, delegated_to(code));
        }
    }
    let burning = BURNING_WALLETS.map(|(wallet, _)| wallet).to_vec();
    for (holders, amount) in [
        (&accounts.rich, RICH),
        (&burning, RICH),
        (&accounts.refusing, RICH),
        (&accounts.poor, POOR),
    ] {
        for holder in holders {
            for token in [USDT0, USDC, USDG] {
                builder = builder.holder(token, *holder, U256::from(amount));
            }
        }
    }
    Ok(builder.build()?)
}

fn write(files: &TempDir, name: &str, text: &str) -> Result<PathBuf, SiegeError> {
    let path = files.path().join(name);
    match fs::write(&path, text) {
        Ok(()) => Ok(path),
        Err(source) => Err(SiegeError::File { path, source }),
    }
}

/// The file of the paid API's configuration.
const API_CONFIG: &str = "api-server.toml";
/// The file of the agent rail's configuration.
const RAIL_CONFIG: &str = "mcp-server.toml";
