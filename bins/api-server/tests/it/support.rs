//! The world of the tests: a paid API in this process, its buyer and its upstreams. It settles on
//! an embedded chain or behind a facilitator that a test scripts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    dead_code,
    unreachable_pub,
    reason = "every test file uses its part"
)]

// The paths are also correct where `prompts.rs` includes this file.
#[path = "support/buyer.rs"]
pub mod buyer;
#[path = "support/facilitator.rs"]
pub mod facilitator;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use api_server::config::{Config, CustodySection, SettlementMode};
use api_server::{ApiServer, recorded_clock, replay_upstreams};
use custody::LocalCustody;
use data_sources::Clock;
use dev_chain::{BUYER, DevChain, GAS_PAYER, PAYEE, RpcServer, USDT0};
use ledger::{Options, SqliteLedger};
use replay::{Recordings, ReplayServer};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use watch_server::Mover;

use self::buyer::Buyer;

pub const TOKEN: &str = "0xe538905cf8410324e03A5A23C1c177a474D59b2b";

/// The section of wallets in a folder whose secret is hardly stretched, so that a start does not
/// take a second. An existing folder stays as it is, and only the start judges the secret.
pub fn weakly_stretched(folder: impl AsRef<Path>, secret: &str) -> CustodySection {
    let folder = folder.as_ref();
    drop(LocalCustody::open_weakly_stretched(folder, secret.into()));
    CustodySection::local(folder.to_owned(), secret.into())
}

/// A running server and the world around it.
pub struct World {
    pub chain: DevChain,
    pub replay: ReplayServer,
    pub address: SocketAddr,
    pub buyer: Buyer,
    pub config: Config,
    /// Moves the money of mandates. A change takes effect at the next start.
    pub mover: Option<Arc<dyn Mover>>,
    data_clock: Arc<dyn Clock>,
    rpc: RpcServer,
    folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    server: Option<JoinHandle<()>>,
}

impl World {
    /// Starts a server that settles by itself on the embedded chain.
    pub async fn onchain() -> Self {
        Self::start(|_config, _rpc| {}).await
    }

    /// Starts a server that settles through a facilitator and reads no chain.
    pub async fn behind(facilitator: &str) -> Self {
        let url = facilitator.to_owned();
        Self::start(move |config, _rpc| {
            config.settlement.mode = SettlementMode::Facilitator;
            config.settlement.facilitator_url = Some(url);
            config.settlement.rpc_url = None;
            config.settlement.private_key = None;
            config.settlement.timeout_ms = 1_000;
        })
        .await
    }

    /// Starts a server that settles on the embedded chain. The test may change the configuration.
    pub async fn start(change: impl FnOnce(&mut Config, &str)) -> Self {
        let recordings = Recordings::embedded().unwrap();
        Self::with(recordings, |config, rpc, _replay| change(config, rpc)).await
    }

    /// Starts a server over the given recordings.
    pub async fn replaying(
        recordings: Recordings,
        change: impl FnOnce(&mut Config, &ReplayServer),
    ) -> Self {
        Self::with(recordings, |config, _rpc, replay| change(config, replay)).await
    }

    /// Starts a server over the given chain and recordings.
    pub async fn made_of(
        chain: DevChain,
        recordings: Recordings,
        change: impl FnOnce(&mut Config, &ReplayServer),
    ) -> Self {
        let change =
            |config: &mut Config, _rpc: &str, replay: &ReplayServer| change(config, replay);
        Self::over(chain, recorded_clock(), recordings, change).await
    }

    async fn with(
        recordings: Recordings,
        change: impl FnOnce(&mut Config, &str, &ReplayServer),
    ) -> Self {
        Self::timed(recorded_clock(), recordings, change).await
    }

    /// Like [`Self::replaying`], with the given clock for the ages of data.
    pub async fn at(
        data_clock: Arc<dyn Clock>,
        recordings: Recordings,
        change: impl FnOnce(&mut Config, &ReplayServer),
    ) -> Self {
        let change =
            |config: &mut Config, _rpc: &str, replay: &ReplayServer| change(config, replay);
        Self::timed(data_clock, recordings, change).await
    }

    /// Starts a server over the given chain.
    pub async fn on(chain: DevChain, change: impl FnOnce(&mut Config, &str)) -> Self {
        let recordings = Recordings::embedded().unwrap();
        let change = |config: &mut Config, rpc: &str, _: &ReplayServer| change(config, rpc);
        Self::over(chain, recorded_clock(), recordings, change).await
    }

    async fn timed(
        data_clock: Arc<dyn Clock>,
        recordings: Recordings,
        change: impl FnOnce(&mut Config, &str, &ReplayServer),
    ) -> Self {
        let chain = DevChain::with_chain_196_assets().unwrap();
        Self::over(chain, data_clock, recordings, change).await
    }

    /// Starts a server over the given chain, clock for the data, and recordings.
    pub async fn over(
        chain: DevChain,
        data_clock: Arc<dyn Clock>,
        recordings: Recordings,
        change: impl FnOnce(&mut Config, &str, &ReplayServer),
    ) -> Self {
        let rpc = chain.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
        let replay = ReplayServer::start(recordings).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.server.listen = Some(([127, 0, 0, 1], 0).into());
        config.payment.pay_to = Some(PAYEE.address.into());
        config.settlement.mode = SettlementMode::Onchain;
        config.settlement.rpc_url = Some(rpc.url());
        config.settlement.private_key = Some(GAS_PAYER.key.to_string().into());
        // The server reconciles at its start, and then not again during a test.
        config.settlement.reconcile_seconds = 3600;
        let url = format!("sqlite://{}", folder.path().join("ledger.db").display());
        config.storage.url = Some(url.into());
        replay_upstreams(&mut config, &replay.url());
        change(&mut config, &rpc.url(), &replay);

        let mut world = Self {
            buyer: Buyer::new(BUYER, "http://127.0.0.1:0"),
            address: config.listen(),
            chain,
            replay,
            config,
            mover: None,
            data_clock,
            rpc,
            folder,
            stop: None,
            server: None,
        };
        world.open().await;
        world
    }

    async fn open(&mut self) {
        let service = ApiServer::open_at(&self.config, self.data_clock.clone())
            .await
            .unwrap();
        let service = match &self.mover {
            Some(mover) => service.with_mover(mover.clone()),
            None => service,
        };
        self.address = service.local_addr();
        self.buyer = Buyer::new(BUYER, &format!("http://{}", self.address));
        let (stop, stopped) = oneshot::channel::<()>();
        let run = service.run(async move {
            let _ = stopped.await;
        });
        self.server = Some(tokio::spawn(async move {
            run.await;
        }));
        self.stop = Some(stop);
    }

    /// Shuts the server down and starts it again on the same ledger.
    pub async fn restart(&mut self) {
        self.stop.take();
        self.server.take().unwrap().await.unwrap();
        self.open().await;
    }

    /// Shuts the server down and starts it again on the same ledger with another configuration.
    pub async fn restart_with(&mut self, change: impl FnOnce(&mut Config)) {
        change(&mut self.config);
        self.restart().await;
    }

    /// Shuts the server down, runs `change` on its ledger, and starts it again.
    pub async fn restart_over(&mut self, change: impl AsyncFnOnce(&SqliteLedger)) {
        self.stop.take();
        self.server.take().unwrap().await.unwrap();
        let ledger = SqliteLedger::open(self.config.storage.url(), Options::default()).unwrap();
        change(&ledger).await;
        drop(ledger);
        self.open().await;
    }

    /// The answer of the free look-up about a payment.
    pub async fn look_up(&self, payment: &serde_json::Value) -> serde_json::Value {
        let asset = payment["accepted"]["asset"].as_str().unwrap();
        let authorization = &payment["payload"]["authorization"];
        let payer = authorization["from"].as_str().unwrap();
        let nonce = authorization["nonce"].as_str().unwrap();
        let target = format!("/payments/{asset}/{payer}/{nonce}");
        let answer = self.buyer.get(&target).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body()
    }

    /// The folder of the server's files.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// The sum that the buyer has paid so far, in atoms of the first asset.
    pub fn paid(&self) -> u64 {
        let balance = self.chain.balance_of(USDT0, PAYEE.address).unwrap();
        balance.try_into().unwrap()
    }

    pub fn price(&self) -> String {
        format!("/price?token={TOKEN}")
    }
}
