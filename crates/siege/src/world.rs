//! The servers, as they are shipped, and everything that they depend on, on the loopback interface.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use alloy_primitives::{Address, Bytes, U256, address, hex};
use api_server::Sources;
use bench::process::Server;
use data_sources::evm::PUBLIC_ENDPOINTS;
use dev_chain::{DevChain, GAS_PAYER, USDC, USDG, USDT0};
use tempfile::TempDir;

use crate::SiegeError;
use crate::bank::{Bank, PAYEE};
use crate::judge::Held;
use crate::upstreams::{DAILY, Upstreams};
use crate::weather::Weather;
use crate::{facilitator, node};

/// What an account holds that pays, in the smallest unit of each asset.
const RICH: u64 = 1_000_000_000;
/// What one that pays can pay once: the price of the cheapest call of the crowd.
const POOR: u64 = 2_000;

/// The newcomers' pool, in micro-USD.
pub const POOL_MICRO_USD: u64 = 120_000;
/// What it gets every second.
pub const REFILL_MICRO_USD: u64 = 500;

/// Who has money.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// As much as they need.
    pub rich: Vec<Address>,
    /// Enough for one cheap call in each asset.
    pub poor: Vec<Address>,
    /// Contract wallets and their owners; they are among the rich.
    pub contracts: Vec<(Address, Address)>,
}

/// Who settles payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Settlement {
    /// A facilitator that fails.
    Facilitator,
    /// The paid API, with its own gas.
    Onchain,
}

/// Contract wallets that call every signature valid where their expression is zero, and burn all gas elsewhere. The
/// expressions are `GASPRICE`, which a call does not pay, and `NUMBER & 1`, which differs in the next block.
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
    /// When dependencies fail.
    pub weather: Arc<Weather>,
    settlement: Settlement,
    api_program: PathBuf,
    files: TempDir,
}

impl World {
    /// Starts everything. `programs` is the folder of the servers' binaries.
    ///
    /// # Errors
    /// What cannot be started.
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
        let api = ApiConfig {
            settles,
            rpc: format!("http://{rpc}"),
            proxy: proxy.clone(),
            ledger: files.path().join("service.db"),
            key,
        };
        let api = api.to_toml();
        let api = write(&files, API_CONFIG, &api)?;
        write(&files, "fees.toml", &bench::swap::fees())?;
        let rail = write(&files, "mcp-server.toml", &rail_config(&proxy))?;
        let start = |name: &str, config: &Path| {
            let arguments = ["serve".as_ref(), "--config".as_ref(), config.as_os_str()];
            Server::start(&programs.join(name), arguments)
        };
        Ok(Self {
            api: start("api-server", &api)?,
            rail: start("mcp-server", &rail)?,
            bank,
            upstreams,
            weather,
            settlement,
            api_program: programs.join("api-server"),
            files,
        })
    }

    /// Kills the paid API, and starts it again where it listened.
    ///
    /// # Errors
    /// When it does not start again.
    pub fn kill_and_start_api(&mut self) -> Result<(), SiegeError> {
        let path = self.files.path().join(API_CONFIG);
        let text = fs::read_to_string(&path)?;
        let listen = format!("listen = \"{}\"", self.api.address());
        write(&self.files, API_CONFIG, &text.replace(LISTEN, &listen))?;
        self.api.kill()?;
        let arguments = ["serve".as_ref(), "--config".as_ref(), path.as_os_str()];
        self.api = Server::start(&self.api_program, arguments)?;
        Ok(())
    }

    /// Transactions of the server's own account that moved nothing.
    pub fn failed_transactions(&self) -> u64 {
        match self.settlement {
            Settlement::Facilitator => 0,
            Settlement::Onchain => self.bank.failed_transactions(),
        }
    }

    /// What the servers hold now: the paid API, the agent rail.
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

fn chain(accounts: &Accounts) -> Result<DevChain, SiegeError> {
    let mut builder = DevChain::builder().chain_196_assets();
    for (wallet, owner) in &accounts.contracts {
        builder = builder.wallet(*wallet, *owner);
    }
    for (wallet, expression) in BURNING_WALLETS {
        builder = builder.code(wallet, burning_code(expression));
    }
    let burning = BURNING_WALLETS.map(|(wallet, _)| wallet).to_vec();
    for (holders, amount) in [
        (&accounts.rich, RICH),
        (&burning, RICH),
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
/// Where it listens at first: at any port.
const LISTEN: &str = "listen = \"127.0.0.1:0\"";

/// What differs from run to run in the configuration of the paid API.
struct ApiConfig {
    /// Who settles, as lines of `[settlement]`.
    settles: String,
    rpc: String,
    proxy: String,
    ledger: PathBuf,
    /// The file with the key that every upstream takes.
    key: PathBuf,
}

impl ApiConfig {
    /// Short time limits and a small pool, so that minutes show what otherwise takes hours. Upstreams are live ones to the
    /// server: it keeps its budgets.
    fn to_toml(&self) -> String {
        let Self {
            settles,
            rpc,
            proxy,
            ..
        } = self;
        let (ledger, key) = (self.ledger.display(), self.key.display());
        let mut text = format!(
            r#"
[server]
{LISTEN}
client_address_header = "x-forwarded-for"
max_connections = 600
header_timeout_seconds = 4
body_timeout_seconds = 4
write_timeout_seconds = 4

[payment]
pay_to = "{PAYEE}"
settle_budget_seconds = 8

[settlement]
{settles}
rpc_url = "{rpc}"
timeout_ms = 3000
reconcile_seconds = 1

[credit]
pool_micro_usd = {POOL_MICRO_USD}
pool_refill_micro_usd_per_second = {REFILL_MICRO_USD}

[storage]
url = "sqlite://{ledger}"

[datasets]
news = false
yields = false

[log]
filter = "off"
"#
        );
        for spec in Sources::specs() {
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "\n[upstreams.{}]\ntimeout_ms = 2000\napi_key_file = \"{key}\"",
                spec.name
            );
            if spec.name == "okx" {
                let _ = writeln!(
                    text,
                    "secret_key_file = \"{key}\"\npassphrase_file = \"{key}\""
                );
            }
            for (name, _, calls) in DAILY {
                if name == spec.name {
                    let _ = writeln!(text, "daily_quota = {calls}");
                }
            }
            for (name, url) in spec.urls {
                let _ = writeln!(text, "{name} = \"{}\"", through(proxy, url));
            }
        }
        for (id, [url, _]) in PUBLIC_ENDPOINTS {
            let url = through(proxy, url);
            let _ = writeln!(text, "\n[chains.{id}]\nrpc_urls = [\"{url}\"]");
        }
        text
    }
}

fn rail_config(proxy: &str) -> String {
    let [lifi, circle, clob, gamma, hyperliquid] = [
        "https://li.quest/v1",
        "https://iris-api.circle.com",
        "https://clob.polymarket.com",
        "https://gamma-api.polymarket.com",
        "https://api.hyperliquid.xyz",
    ]
    .map(|url| through(proxy, url));
    format!(
        r#"
[server]
listen = "127.0.0.1:0"
client_address_header = "x-forwarded-for"
max_connections = 600
header_timeout_seconds = 4
body_timeout_seconds = 4
write_timeout_seconds = 4

[plans]
fee_config = "fees.toml"

[log]
filter = "off"

[upstreams.lifi]
base_url = "{lifi}"
timeout_ms = 4000

[upstreams.circle]
base_url = "{circle}"

[upstreams.polymarket]
clob_url = "{clob}"
gamma_url = "{gamma}"

[upstreams.hyperliquid]
base_url = "{hyperliquid}"
"#
    )
}

fn through(proxy: &str, url: &str) -> String {
    let host_and_path = url.strip_prefix("https://").unwrap_or(url);
    format!("{proxy}/{host_and_path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_this_machine_is_configured() {
        let api = ApiConfig {
            settles: "facilitator_url = \"http://127.0.0.1:1\"".to_owned(),
            rpc: "http://127.0.0.1:2".to_owned(),
            proxy: "http://127.0.0.1:3".to_owned(),
            ledger: "/x.db".into(),
            key: "/x.key".into(),
        };
        for text in [api.to_toml(), rail_config("http://127.0.0.1:3")] {
            assert!(!text.contains("https://"), "{text}");
            let urls = text.split("http://").skip(1);
            assert!(urls.clone().count() > 4);
            for url in urls {
                assert!(url.starts_with("127.0.0.1:"), "{url}");
            }
        }
    }
}
