//! Stand-ins for the outside world of the demo: a chain, an aggregator, and an aggregator that
//! lies. The server itself is the real one.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;
use calldata_checks::Rail;
use dev_chain::{BUYER, DevChain, RpcServer, base};
use http_edge::Drained;
use plan_builder::{FeeDocument, Policy, Refusal, Request};
use replay::{Recordings, ReplayServer};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::DemoError;
use super::peer::Peer;
use super::plan::approveCall;
use crate::config::Config;
use crate::serve::{McpServer, Parts};

/// The reviewed fee configuration of the demo, as a file of its own.
const FEES: &str = include_str!("../../../../fixtures/vectors/plans/fees.toml");
/// The recording whose calldata pays another account than its quote states.
const LIE: &str = "lifi_receiver_changed";

/// The account of the plan: one of the embedded chain.
pub(super) const ACCOUNT: Address = BUYER.address;
/// The swapped amount: 1,000 USDC.
pub(super) const AMOUNT: u64 = 1_000_000_000;
/// The most by which the output may fall below the quote, in basis points.
pub(super) const SLIPPAGE_BPS: u16 = 50;
/// The router's allowance before the swap: 5 USDC.
pub(super) const LEFT_OVER: u64 = 5_000_000;

const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The stand-ins and the files of the demo.
pub(super) struct Stage {
    pub(super) chain: DevChain,
    pub(super) rpc: RpcServer,
    pub(super) policy: Policy,
    aggregator: ReplayServer,
    folder: TempDir,
}

/// A server of the agent rail.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Drained>,
}

impl Stage {
    pub(super) async fn open() -> Result<Self, DemoError> {
        let approval = approveCall {
            spender: base::ROUTER,
            value: U256::from(LEFT_OVER),
        };
        let chain = DevChain::builder()
            .base_stage()
            .call(ACCOUNT, base::USDC, approval.abi_encode().into())
            .build()?;
        let rpc = chain.serve(ANYWHERE).await?;
        let document: FeeDocument = toml::from_str(FEES)?;
        let stage = Self {
            chain,
            rpc,
            policy: Policy::new(document.review()?),
            aggregator: ReplayServer::start(recorded()?).await?,
            folder: tempfile::tempdir()?,
        };
        stage.write("fees.toml", FEES)?;
        stage.write("arguments.json", &arguments().to_string())?;
        Ok(stage)
    }

    /// The server over the recorded upstreams.
    pub(super) async fn serve(&self, listen: SocketAddr) -> Result<Running, DemoError> {
        Running::start(&self.config(listen, &self.aggregator)?).await
    }

    /// The server over an aggregator that lies.
    pub(super) async fn serve_deceived(&self) -> Result<(Running, ReplayServer), DemoError> {
        let liar = ReplayServer::start(recorded()?.with_scenario(LIE)).await?;
        let running = Running::start(&self.config(ANYWHERE, &liar)?).await?;
        Ok((running, liar))
    }

    /// A client of the embedded chain.
    pub(super) fn node(&self) -> Peer {
        Peer {
            address: self.rpc.address(),
            path: "/",
        }
    }

    /// A file beside the configuration.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), DemoError> {
        Ok(std::fs::write(self.path(name), text)?)
    }

    fn config(&self, listen: SocketAddr, upstreams: &ReplayServer) -> Result<Config, DemoError> {
        let table = |host: &str| json!({"mode": "replay", "base_url": upstreams.base_url(host)});
        let config = json!({
            "server": {"listen": listen.to_string()},
            "plans": {"fee_config": self.path("fees.toml")},
            "chains": {base::CHAIN_ID.to_string(): {"rpc_urls": [self.rpc.url()]}},
            "upstreams": {
                "lifi": table("li.quest/v1"),
                "circle": table("iris-api.circle.com"),
                "hyperliquid": table("api.hyperliquid.xyz"),
                // Its recordings have no pair of the embedded exchange.
                "dexscreener": {"enabled": false},
                "defillama": {
                    "mode": "replay",
                    "coins_url": upstreams.base_url("coins.llama.fi"),
                },
                "polymarket": {
                    "mode": "replay",
                    "clob_url": upstreams.base_url("clob.polymarket.com"),
                    "gamma_url": upstreams.base_url("gamma-api.polymarket.com"),
                },
            },
        });
        // The configuration has only values that JSON and TOML share.
        let text = toml::to_string(&config).map_err(std::io::Error::other)?;
        Ok(Config::parse(&text, [])?)
    }
}

impl Running {
    async fn start(config: &Config) -> Result<Self, DemoError> {
        let service = McpServer::compose(config, Parts::open(config)?).await?;
        let address = service.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(service.run(async move {
            // Dropping the server drops the sender of `stopped`, which ends the wait.
            drop(stopped.await);
        }));
        Ok(Self {
            address,
            stop,
            task,
        })
    }

    /// A client of its tools.
    pub(super) fn tools(&self) -> Peer {
        Peer {
            address: self.address,
            path: "/mcp",
        }
    }

    pub(super) async fn stop(self) {
        drop(self.stop);
        drop(self.task.await);
    }
}

/// The recordings. Their prices are as old as when they were recorded.
fn recorded() -> Result<Recordings, DemoError> {
    let now = UNIX_EPOCH.elapsed().map_err(std::io::Error::other)?;
    Ok(Recordings::embedded()?.at(now.as_secs()))
}

/// The arguments of the agent.
pub(super) fn arguments() -> Value {
    arguments_for(AMOUNT)
}

/// The arguments for another amount.
pub(super) fn arguments_for(amount: u64) -> Value {
    json!({
        "accountProfile": {"kind": "eoa", "address": ACCOUNT, "chainId": base::CHAIN_ID},
        "chainId": base::CHAIN_ID,
        "fromToken": base::USDC,
        "toToken": base::WETH,
        "fromAmount": amount.to_string(),
        "slippage": {"maxBps": SLIPPAGE_BPS},
    })
}

/// The arguments in the verifier's form.
pub(super) fn request(arguments: &Value) -> Result<Request, Refusal> {
    Request::parse(Rail::Swap, &arguments.to_string())
}
