//! Starts the servers as they are shipped, and everything that they depend on, on the loopback
//! interface.

mod config;

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::{Address, Bytes, U256, address, hex};
use api_server::EmbeddedPlans;
use bench::process::Server;
use custody::LocalCustody;
use dev_chain::{DEV_ACCOUNTS, DevAccount, DevChain, GAS_PAYER, USDC, USDG, USDT0, base};
use postgres_cluster::Cluster;
use tempfile::TempDir;

use self::config::{ApiConfig, Custody, LISTEN, rail_config, terms};
use crate::SiegeError;
use crate::bank::{Bank, PAYEE};
use crate::judge::Held;
use crate::scale::{Scale, Settlement};
use crate::upstreams::Upstreams;
use crate::weather::Weather;
use crate::{facilitator, node};

/// The balance of an account with much money, in the smallest unit of each asset.
const RICH: u64 = 1_000_000_000;
/// The balance of an account that can pay once. It is the price of the crowd's cheapest call.
const POOR: u64 = 2_000;

/// The time between two blocks of the chain on which delegates trade.
const BLOCK_TIME: Duration = Duration::from_secs(1);

/// The contracts and functions that the wallets' keys may call.
const TARGETS: &str = include_str!("../../../docs/wallet-targets.example.toml");
/// The key that would redeem delegations. Without one a fence keeps no revocations of strangers.
const REDEEMER: DevAccount = DEV_ACCOUNTS[5];
/// The operator's secret.
const SECRET: &str = "the secret of a siege";
/// The folder of the wallets' files.
const WALLETS: &str = "wallets";

/// The size of the pool for newcomers, in millionths of a dollar.
pub const POOL_MICRO_USD: u64 = 120_000;
/// How much is refilled into the pool each second, in millionths of a dollar.
pub const REFILL_MICRO_USD: u64 = 500;

/// How long one of several servers keeps its work without a heartbeat. This is the shortest time
/// that a configuration may state.
pub const LEASE: Duration = Duration::from_secs(3);

/// The accounts that get money or code.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// Accounts with much money.
    pub rich: Vec<Address>,
    /// Accounts with enough money for one cheap call in each asset.
    pub poor: Vec<Address>,
    /// Contract wallets with their owners. They are among the rich accounts.
    pub contracts: Vec<(Address, Address)>,
    /// Owners of sub-wallets. They are among the rich accounts, and have money on Base as well.
    pub owners: Vec<Address>,
    /// Rich accounts that have delegated (EIP-7702) to code that accepts every signature.
    pub delegated: Vec<Address>,
    /// Rich accounts that have delegated to code that refuses every signature.
    pub refusing: Vec<Address>,
}

/// Contract wallets that accept every signature when their expression is zero, and otherwise burn
/// all gas. The expressions are `GASPRICE`, which is zero in a call, and `NUMBER & 1`, which
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

/// Makes the code of an account that has delegated (EIP-7702) to the code at this address.
fn delegated_to(code: Address) -> Bytes {
    [&[0xef, 0x01, 0x00], code.as_slice()].concat().into()
}

/// Makes the code `if (expression == 0) return EIP1271_MAGIC; while (true) {}`.
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

/// The servers, and what they depend on.
#[derive(Debug)]
pub struct World {
    /// The servers of the paid API.
    apis: Vec<PaidApi>,
    /// The agent rail.
    pub rail: Server,
    /// The chain.
    pub bank: Bank,
    /// The upstreams, which count their requests.
    pub upstreams: Upstreams,
    /// The weather, which decides about the failures of dependencies.
    pub weather: Arc<Weather>,
    settlement: Settlement,
    programs: PathBuf,
    files: TempDir,
    /// The robber's own wallet file, while another one is in its place.
    robbers: Option<String>,
    /// The database, when there are several servers. It is dropped after them.
    _cluster: Option<Cluster>,
}

/// A server of the paid API.
#[derive(Debug)]
struct PaidApi {
    server: Server,
    /// The name of the server in the report.
    name: String,
    config: ApiConfig,
    /// How often the server was killed.
    kills: u32,
}

impl World {
    /// Starts everything. `programs` is the folder with the servers' programs.
    ///
    /// # Errors
    /// When a part cannot be started.
    pub async fn open(
        programs: &Path,
        accounts: &Accounts,
        scale: Scale,
        weather: Arc<Weather>,
    ) -> Result<Self, SiegeError> {
        let Scale {
            servers,
            settlement,
            ..
        } = scale;
        let bank = Bank::new(chain(accounts)?, base_chain(accounts)?);
        let mut nodes = Vec::new();
        for (name, chain) in [
            ("node", bank.chain()),
            ("second node", bank.chain()),
            ("node of base", bank.base()),
            ("second node of base", bank.base()),
        ] {
            nodes.push(node::open(name, chain.clone(), weather.clone()).await?);
        }
        let url = |number: usize| nodes.get(number).map(|node| format!("http://{node}"));
        let [rpc, second, base_rpc, second_base] =
            [0, 1, 2, 3].map(|number| url(number).unwrap_or_default());
        // The fence compares the times of grants and orders with those of the blocks.
        let base = bank.base().clone();
        tokio::spawn(async move {
            loop {
                base.mine();
                tokio::time::sleep(BLOCK_TIME).await;
            }
        });
        let facilitator = facilitator::open(bank.clone(), weather.clone()).await?;
        let callers = servers.saturating_add(1);
        let upstreams = Upstreams::open(callers, weather.clone(), Instant::now()).await?;
        let mut proxies = upstreams.addresses.iter();
        let files = tempfile::Builder::new().prefix("siege-").tempdir()?;
        let cluster = match servers {
            0 | 1 => None,
            _ => Some(Cluster::start()?),
        };
        let key = write(&files, "upstream.key", "siege")?;
        let gas_key = hex::encode_prefixed(GAS_PAYER.key);
        let gas_key = write(&files, "gas.key", &gas_key)?;
        let settles = match settlement {
            Settlement::Facilitator => format!(
                "mode = \"facilitator\"\nfacilitator_url = \"http://{facilitator}\"\n\
                 timeout_ms = 3000"
            ),
            Settlement::Onchain => format!(
                "mode = \"onchain\"\nprivate_key_file = \"{}\"\ntimeout_ms = {}",
                gas_key.display(),
                match servers {
                    0 | 1 => 3_000,
                    // A call must outlive the lease of a dead server that sends for all.
                    _ => 8_000,
                }
            ),
        };
        let storage = match &cluster {
            None => format!(
                "url = \"sqlite://{}\"",
                files.path().join("service.db").display()
            ),
            Some(cluster) => format!(
                "url = \"{}\"\nlease_seconds = {}",
                cluster.url(),
                LEASE.as_secs()
            ),
        };
        let plans = EmbeddedPlans::new(PAYEE)?;
        write(&files, "fees.toml", plans.fees())?;
        write(&files, "targets.toml", TARGETS)?;
        write(&files, "policy.json", EmbeddedPlans::policy_document())?;
        let secret = write(&files, "operator.secret", SECRET)?;
        // The wallets are deleted with the siege, so guessing their secret may be cheap.
        drop(LocalCustody::open_weakly_stretched(
            &files.path().join(WALLETS),
            SECRET.into(),
        )?);
        let redeemer = hex::encode_prefixed(REDEEMER.key);
        write(&files, "redeemer.key", &redeemer)?;
        let custody = Custody {
            files: files.path().to_owned(),
            secret,
            nodes: [[rpc.clone(), second], [base_rpc, second_base]],
            policy_digest: plans.policy().digest().to_string(),
        };
        let mut apis = Vec::new();
        for (number, proxy) in (1..=servers).zip(&mut proxies) {
            let config = ApiConfig {
                terms: terms(0),
                settles: settles.clone(),
                rpc: rpc.clone(),
                proxy: format!("http://{proxy}"),
                storage: storage.clone(),
                key: key.clone(),
                servers,
                custody: custody.clone(),
            };
            let name = match servers {
                1 => "api-server".to_owned(),
                _ => format!("api-server {number}"),
            };
            let file = write(&files, &api_file(&name), &config.to_toml())?;
            apis.push(PaidApi {
                server: start(programs, "api-server", &file)?,
                name,
                config,
                kills: 0,
            });
        }
        let storage = files.path().join("rail.db");
        let proxy = proxies.next().map(|proxy| format!("http://{proxy}"));
        let rail = rail_config(&proxy.unwrap_or_default(), &storage);
        let rail = write(&files, RAIL_CONFIG, &rail)?;
        Ok(Self {
            apis,
            rail: start(programs, "mcp-server", &rail)?,
            bank,
            upstreams,
            weather,
            settlement,
            programs: programs.to_owned(),
            files,
            robbers: None,
            _cluster: cluster,
        })
    }

    /// Returns the addresses of the paid API's servers.
    pub fn apis(&self) -> Vec<SocketAddr> {
        let servers = self.apis.iter();
        servers.map(|api| api.server.address()).collect()
    }

    /// Returns the owners whose wallets have a file.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn wallet_owners(&self) -> Result<Vec<Address>, SiegeError> {
        let mut owners = Vec::new();
        for entry in fs::read_dir(self.files.path().join(WALLETS))? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            let owner = name.strip_prefix("eip155-196-").unwrap_or_default();
            owners.extend(owner.trim_end_matches(".json").parse::<Address>().ok());
        }
        Ok(owners)
    }

    /// Puts the wallet's file of `owner` in the place of the robber's, or the robber's back. Every
    /// other time the file says that it is the robber's.
    fn exchange_wallet_files(
        &mut self,
        robber: Address,
        owner: Address,
        kills: u32,
    ) -> Result<(), SiegeError> {
        let name = |owner: Address| format!("{WALLETS}/eip155-196-{owner:#x}.json");
        let text = match self.robbers.take() {
            Some(own) => own,
            None => {
                let read = |owner| fs::read_to_string(self.files.path().join(name(owner)));
                self.robbers = Some(read(robber)?);
                let theirs = read(owner)?;
                match kills % 4 {
                    1 => theirs.replace(&owner.to_string(), &robber.to_string()),
                    _ => theirs,
                }
            }
        };
        write(&self.files, &name(robber), &text).map(drop)
    }

    /// Kills a server of the paid API, and starts it again at the same address. If it is the only
    /// server, every other start has another payee and another order of the assets. Several servers
    /// keep their terms, which can only change for all of them together. While the first server is
    /// down, the wallet's file of the robber is exchanged for the one of an owner, or put back.
    ///
    /// # Errors
    /// When the server does not start again.
    pub fn kill_and_start_api(
        &mut self,
        number: usize,
        robber: Address,
        owner: Address,
    ) -> Result<(), SiegeError> {
        let is_alone = self.apis.len() == 1;
        let Some(api) = self.apis.get_mut(number) else {
            return Ok(());
        };
        api.kills = api.kills.saturating_add(1);
        if is_alone {
            api.config.terms = terms(api.kills);
        }
        let kills = api.kills;
        let config = listening_at(&api.server, &api.config.to_toml());
        let config = write(&self.files, &api_file(&api.name), &config)?;
        api.server.kill()?;
        if number == 0 {
            self.exchange_wallet_files(robber, owner, kills)?;
        }
        let Some(api) = self.apis.get_mut(number) else {
            return Ok(());
        };
        api.server = start(&self.programs, "api-server", &config)?;
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

    /// Returns how many transactions of the servers' own account failed. It is 0 with a
    /// facilitator.
    pub fn failed_transactions(&self) -> u64 {
        match self.settlement {
            Settlement::Facilitator => 0,
            Settlement::Onchain => self.bank.failed_transactions(),
        }
    }

    /// Returns the current memory and descriptors of the servers, with their names in the report.
    ///
    /// # Errors
    /// When a server has ended.
    pub fn held(&self) -> Result<Vec<(String, Held)>, SiegeError> {
        let apis = self.apis.iter().map(|api| (api.name.as_str(), &api.server));
        let all = apis.chain([("mcp-server", &self.rail)]);
        all.map(|(name, server)| {
            let held = Held {
                memory: server.memory_bytes()?,
                descriptors: server.open_descriptors()?,
            };
            Ok((name.to_owned(), held))
        })
        .collect()
    }

    /// Stops all servers.
    ///
    /// # Errors
    /// When a server does not stop.
    pub fn close(self) -> Result<(), SiegeError> {
        for api in self.apis {
            api.server.stop()?;
        }
        Ok(self.rail.stop()?)
    }
}

fn start(programs: &Path, name: &str, config: &Path) -> Result<Server, SiegeError> {
    let arguments = ["serve".as_ref(), "--config".as_ref(), config.as_os_str()];
    Ok(Server::start(&programs.join(name), arguments)?)
}

/// Returns the configuration of a server, with the address at which it listens now.
fn listening_at(server: &Server, config: &str) -> String {
    config.replace(LISTEN, &format!("listen = \"{}\"", server.address()))
}

/// The chain on which delegates trade.
fn base_chain(accounts: &Accounts) -> Result<DevChain, SiegeError> {
    let builder = DevChain::builder().base_stage();
    let owners = accounts.owners.iter();
    let builder = owners.fold(builder, |builder, owner| {
        builder.holder(base::USDC, *owner, U256::from(RICH))
    });
    Ok(builder.build()?)
}

/// The chain of payments, on which sub-wallets act.
fn chain(accounts: &Accounts) -> Result<DevChain, SiegeError> {
    let mut builder = DevChain::builder().xlayer_stage();
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
    // Some of the files hold keys.
    let private = Permissions::from_mode(0o600);
    let written = fs::write(&path, text).and_then(|()| fs::set_permissions(&path, private));
    match written {
        Ok(()) => Ok(path),
        Err(source) => Err(SiegeError::File { path, source }),
    }
}

/// Returns the name of the configuration file of a paid API's server.
fn api_file(name: &str) -> String {
    format!("{name}.toml")
}

/// The name of the agent rail's configuration file.
const RAIL_CONFIG: &str = "mcp-server.toml";
