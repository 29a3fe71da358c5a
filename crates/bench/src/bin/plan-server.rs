//! `plan-server`: the agent rail with a quote that is fetched once and kept, so that a tool call
//! costs only the server's own part.
#![allow(clippy::print_stderr, reason = "a command-line tool")]
#![expect(
    unused_crate_dependencies,
    reason = "the library of this package uses them"
)]

use std::error::Error;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use bench::swap::{KeptQuote, PLANS_CONFIG, policy};
use calldata_checks::Step;
use data_sources::SystemClock;
use mcp_server::{Config, McpServer, NoUpstreams, Parts, Tools};
use plan_builder::ports::{
    Accounts, BridgeFeeReading, BridgeFees, NoAccounts, NoSimulator, PerpAsset, PerpVenue,
    PmBuilderFee, PmMarket, PmVenue, PortError, PortErrorReason, SimulatedCall, Simulator, SwapAsk,
    SwapQuote, SwapQuotes,
};
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = Config::parse(PLANS_CONFIG, [])?;
    let clock = Arc::new(SystemClock);
    let ports = OnlySwaps(KeptQuote::of_the_recording(clock.clone()).await?);
    let parts = Parts {
        toolbox: Tools::new(config.brand(), ports, policy()?, clock, entropy),
        health: Arc::new(NoUpstreams),
    };
    let service = McpServer::compose(&config, parts).await?;
    let mut terminated = signal(SignalKind::terminate())?;
    eprintln!("listening on http://{}", service.local_addr());
    service
        .run(async move {
            terminated.recv().await;
        })
        .await;
    Ok(())
}

fn entropy() -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).is_ok().then_some(bytes)
}

/// Quotes of swaps, and nothing else.
struct OnlySwaps(KeptQuote);

fn absent<T>(source_name: &'static str) -> Result<T, PortError> {
    let reason = PortErrorReason::Unavailable {
        detail: "not measured".to_owned(),
    };
    Err(PortError {
        source_name: source_name.into(),
        reason,
    })
}

impl SwapQuotes for OnlySwaps {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        self.0.quote(ask).await
    }
}

impl Simulator for OnlySwaps {
    fn simulates(&self, chain_id: u64) -> bool {
        NoSimulator.simulates(chain_id)
    }

    async fn simulate(
        &self,
        chain_id: u64,
        account: Address,
        calls: &[Step],
    ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
        NoSimulator.simulate(chain_id, account, calls).await
    }
}

impl Accounts for OnlySwaps {
    async fn code(&self, chain_id: u64, address: Address) -> Result<Bytes, PortError> {
        NoAccounts.code(chain_id, address).await
    }

    async fn call(
        &self,
        chain_id: u64,
        to: Address,
        data: Bytes,
    ) -> Result<Option<Bytes>, PortError> {
        NoAccounts.call(chain_id, to, data).await
    }
}

impl BridgeFees for OnlySwaps {
    async fn fees(&self, _: u32, _: u32, _: bool) -> Result<BridgeFeeReading, PortError> {
        absent("circle")
    }

    async fn fast_allowance(&self) -> Result<U256, PortError> {
        absent("circle")
    }
}

impl PmVenue for OnlySwaps {
    async fn market(&self, _: U256) -> Result<PmMarket, PortError> {
        absent("polymarket")
    }

    async fn builder_fee(&self, _: B256) -> Result<PmBuilderFee, PortError> {
        absent("polymarket")
    }
}

impl PerpVenue for OnlySwaps {
    async fn asset(&self, _: &str) -> Result<PerpAsset, PortError> {
        absent("hyperliquid")
    }

    async fn max_builder_fee(&self, _: Address, _: Address) -> Result<u64, PortError> {
        absent("hyperliquid")
    }
}
