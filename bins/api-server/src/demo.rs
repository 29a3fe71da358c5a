//! `api-server demo`: shows a paid call from end to end, a round of the fence and the actions of a
//! sub-wallet, with this binary alone.
//!
//! The servers are composed like production servers: the on-chain settler, the SQLite ledger,
//! custody and the sender of plans are the real ones. Embedded chains run real tokens and the
//! interface of the aggregator's router, and recorded upstream answers are served over HTTP. The
//! fence has a server of its own because its chain is not one of the recorded ones.

mod buyer;
mod fence;
mod transcript;
mod wallet;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use data_sources::Clock;
use data_sources::evm::PUBLIC_ENDPOINTS;
use dev_chain::{BUYER, DevChain, DevChainError, GAS_PAYER, PAYEE};
use http_edge::{announce, shutdown_signal};
use jiff::Timestamp;
use replay::{RecordingError, Recordings, ReplayServer};
use secrecy::SecretString;
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use self::fence::{EmbeddedPlan, EmbeddedPlans, FenceStage, FenceStageError};
use self::wallet::{WalletStage, WalletStageError};
use crate::Sources;
use crate::config::{ChainTable, Config, LogSection, SettlementMode, UpstreamMode, UpstreamTable};
use crate::error::ServeError;
use crate::serve::ApiServer;

/// An error of the demo.
#[derive(Debug, Error)]
pub(crate) enum DemoError {
    #[error("the embedded chain: {0}")]
    Chain(#[from] DevChainError),
    #[error("the recorded answers: {0}")]
    Recordings(#[from] RecordingError),
    #[error("{0}")]
    Serve(#[from] ServeError),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the fence: {0}")]
    Fence(#[from] FenceStageError),
    #[error("the wallet: {0}")]
    Wallet(#[from] WalletStageError),
    #[error("a task of the demo failed: {0}")]
    Task(#[from] tokio::task::JoinError),
    #[error("the buyer: {0}")]
    Buyer(#[from] buyer::BuyerError),
    #[error("step {step}: expected {expected}, observed {observed}")]
    Step {
        step: u8,
        expected: &'static str,
        observed: String,
    },
}

/// Makes every upstream of a configuration use the recordings that are served at `root`. The first
/// path segment there is the upstream's host.
pub fn replay_upstreams(config: &mut Config, root: &str) {
    for spec in Sources::specs() {
        let mut table = UpstreamTable {
            mode: Some(UpstreamMode::Replay),
            ..UpstreamTable::default()
        };
        for (key, public) in spec.urls {
            let host_and_path = public.strip_prefix("https://").unwrap_or(public);
            let known = table.set_url(key, format!("{root}/{host_and_path}"));
            debug_assert!(known, "{key}");
        }
        config.upstreams.0.insert(spec.name.to_owned(), table);
    }
    for (id, [public, _]) in PUBLIC_ENDPOINTS {
        let host_and_path = public.strip_prefix("https://").unwrap_or(public);
        let table = ChainTable {
            rpc_urls: vec![format!("{root}/{host_and_path}")],
            mode: Some(UpstreamMode::Replay),
            ..ChainTable::default()
        };
        config.chains.0.insert(id.to_string(), table);
    }
}

/// Returns a clock for recorded data: its wall time is always the time of the recording.
///
/// Recorded answers never become newer. With a running clock they would grow stale during a demo,
/// and would be refused in the end. Monotonic time, which for example budgets of upstreams use,
/// runs as usual.
pub fn recorded_clock() -> Arc<dyn Clock> {
    let at = i64::try_from(replay::RECORDED_AT).unwrap_or_default();
    Arc::new(RecordedClock {
        at: Timestamp::from_second(at).unwrap_or_default(),
        since: Instant::now(),
    })
}

#[derive(Debug)]
struct RecordedClock {
    at: Timestamp,
    since: Instant,
}

impl Clock for RecordedClock {
    fn now(&self) -> Timestamp {
        self.at
    }

    fn monotonic(&self) -> Duration {
        self.since.elapsed()
    }
}

/// Prints the transcript, then serves until Ctrl-C or ends at once.
pub(crate) async fn run(listen: SocketAddr, once: bool) -> Result<(), DemoError> {
    let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| "error".to_owned());
    server_config::start_log(&LogSection {
        filter: Some(filter),
        ..LogSection::default()
    });

    let chain = DevChain::with_chain_196_assets()?;
    let rpc = chain.serve(([127, 0, 0, 1], 0).into()).await?;
    let recordings = ReplayServer::start(Recordings::embedded()?).await?;
    let folder = tempfile::tempdir()?;

    let mut config = Config::default();
    config.server.listen = Some(listen);
    config.payment.pay_to = Some(PAYEE.address.into());
    config.settlement.mode = SettlementMode::Onchain;
    config.settlement.rpc_url = Some(rpc.url());
    config.settlement.private_key = Some(SecretString::from(GAS_PAYER.key.to_string()));
    config.storage.url = Some(ledger_url(folder.path()).into());
    replay_upstreams(&mut config, &recordings.url());

    let service = ApiServer::open_at(&config, recorded_clock()).await?;
    let address = service.local_addr();
    announce(address);
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(service.run(async move {
        drop(stopped.await);
    }));

    // Custody takes seconds to derive keys, so the paid call is shown meanwhile.
    let staging = tokio::spawn(FenceStage::open());
    let acting = tokio::spawn(WalletStage::open());
    let buyer = buyer::Buyer::new(BUYER, address)?;
    let mut out = io::stdout();
    let shown = match transcript::show(&buyer, &chain, &mut out).await {
        Ok(()) => fenced(staging, acting, &buyer, once, &mut out).await,
        Err(broken) => Err(broken),
    };
    drop(stop);
    drop(server.await);
    shown
}

/// Shows the fence's part and the wallet's. Then the servers run until Ctrl-C, or end at once.
async fn fenced(
    staging: JoinHandle<Result<FenceStage, FenceStageError>>,
    acting: JoinHandle<Result<WalletStage, WalletStageError>>,
    buyer: &buyer::Buyer,
    once: bool,
    out: &mut impl Write,
) -> Result<(), DemoError> {
    let stage = staging.await??;
    let wallets = acting.await??;
    let shown = match fence::show(&stage, out).await {
        Ok(()) => Box::pin(wallet::show(&wallets, out)).await,
        Err(broken) => Err(broken),
    };
    if shown.is_ok() && !once {
        transcript::invite(buyer, out).await?;
        wallet::invite(&wallets, out)?;
        fence::invite(&stage, out)?;
        shutdown_signal().await;
    }
    wallets.close().await;
    stage.close().await;
    shown
}

/// The URL of a demo's ledger in a folder.
fn ledger_url(folder: &Path) -> String {
    format!("sqlite://{}", folder.join("service.db").display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_data_does_not_age_while_a_demo_runs() {
        let clock = recorded_clock();
        let (time, stretch) = (clock.now(), clock.monotonic());
        while clock.monotonic() < stretch + Duration::from_millis(5) {
            std::hint::spin_loop();
        }
        assert_eq!(clock.now(), time);
        assert_eq!(time.as_second().unsigned_abs(), replay::RECORDED_AT);
    }
}
