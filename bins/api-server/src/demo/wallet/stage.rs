//! A server whose sub-wallets act, and its surroundings: an embedded chain 196 with every contract
//! that they call.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, address};
use custody::{CustodyError, LocalCustody};
use data_sources::SystemClock;
use dev_chain::{
    DEV_ACCOUNTS, DevAccount, DevChain, DevChainError, GAS_PAYER, PAYEE, RpcServer, xlayer,
};
use http_edge::Drained;
use replay::{RecordingError, Recordings, ReplayServer};
use secrecy::SecretString;
use tempfile::TempDir;
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::config::{Config, CustodySection, SettlementMode};
use crate::demo::{ledger_url, replay_upstreams};
use crate::error::ServeError;
use crate::serve::ApiServer;

/// The contracts and functions that the wallets' keys may call.
const TARGETS: &str = include_str!("../../../../../docs/wallet-targets.example.toml");
/// The secret that encrypts the demo's wallets, which are deleted with their folder.
const SECRET: &str = "the secret of a demo";
/// The payee in the operator's configuration, which refuses accounts whose keys everybody has. The
/// commands on wallets pay nobody.
const OPERATORS_PAYEE: Address = address!("5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
/// The account that pays the gas of sub-wallets.
const GAS_ACCOUNT: DevAccount = DEV_ACCOUNTS[4];
/// A base fee as low as on rollups, because an owner's top-ups are limited to what it has paid.
const BASE_FEE: u64 = 1_000_000;

/// An error of setting up the stage.
#[derive(Debug, Error)]
pub(crate) enum WalletStageError {
    /// The embedded chain.
    #[error("the embedded chain: {0}")]
    Chain(#[from] DevChainError),
    /// The upstreams.
    #[error("the recorded answers: {0}")]
    Recordings(#[from] RecordingError),
    /// The server.
    #[error("{0}")]
    Serve(#[from] ServeError),
    /// The wallets.
    #[error("the wallets: {0}")]
    Custody(#[from] CustodyError),
    /// Files and sockets.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A running server with `[custody]` on the payment chain.
pub(crate) struct WalletStage {
    /// The address on which it listens.
    pub(crate) address: SocketAddr,
    /// The payment chain, on which the wallets act as well.
    pub(crate) chain: DevChain,
    /// A configuration for `api-server wallets` on the wallets of this server.
    pub(crate) operator: PathBuf,
    stop: oneshot::Sender<()>,
    server: JoinHandle<Drained>,
    /// The services and files that the server uses. They end with the stage.
    _around: (RpcServer, ReplayServer, TempDir),
}

impl WalletStage {
    /// Sets up the stage and starts the server on a free port.
    ///
    /// # Errors
    /// [`WalletStageError`]
    pub(crate) async fn open() -> Result<Self, WalletStageError> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("targets.toml"), TARGETS)?;
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let chain = DevChain::with_xlayer_stage()?;
        chain.set_base_fee(BASE_FEE);
        let rpc = chain.serve(anywhere).await?;
        // Quotes carry deadlines of today.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map(|now| now.as_secs()).unwrap_or_default();
        let recordings = ReplayServer::start(Recordings::embedded()?.at(now)).await?;

        let mut config = Config::default();
        config.server.listen = Some(anywhere);
        config.payment.pay_to = Some(PAYEE.address.into());
        config.settlement.mode = SettlementMode::Onchain;
        config.settlement.rpc_url = Some(rpc.url());
        config.settlement.private_key = Some(SecretString::from(GAS_PAYER.key.to_string()));
        config.storage.url = Some(ledger_url(folder.path()).into());
        replay_upstreams(&mut config, &recordings.url());
        let nodes = config
            .chains
            .0
            .entry(xlayer::CHAIN_ID.to_string())
            .or_default();
        nodes.rpc_urls = vec![rpc.url()];
        nodes.mode = None;
        let wallets = folder.path().join("wallets");
        // They are deleted with the stage.
        drop(LocalCustody::open_weakly_stretched(
            &wallets,
            SECRET.into(),
        )?);
        let operator = operator(folder.path(), &wallets, &rpc.url())?;
        config.custody = Some(CustodySection::local(wallets, SECRET.into()));
        config.wallets.chains = vec![xlayer::CHAIN_ID];
        config.wallets.reviewed = Some(folder.path().join("targets.toml"));
        config.wallets.gas_account_key = Some(GAS_ACCOUNT.key.to_string().into());

        let service = ApiServer::open_at(&config, Arc::new(SystemClock)).await?;
        let address = service.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(service.run(async move {
            drop(stopped.await);
        }));
        Ok(Self {
            address,
            chain,
            operator,
            stop,
            server,
            _around: (rpc, recordings, folder),
        })
    }

    /// Stops the server.
    pub(crate) async fn close(self) {
        drop(self.stop);
        drop(self.server.await);
    }
}

/// Writes the configuration with which the operator's commands find the wallets.
fn operator(folder: &Path, wallets: &Path, rpc_url: &str) -> io::Result<PathBuf> {
    let private = |name: &str, text: &str| {
        let path = folder.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options.open(&path)?.write_all(text.as_bytes())?;
        Ok::<_, io::Error>(path.display().to_string())
    };
    let secret_file = private("secret", SECRET)?;
    let settler = private("settler", &GAS_PAYER.key.to_string())?;
    let path = folder.join("operator.toml");
    let text = format!(
        "[payment]\npay_to = \"{}\"\n\n\
         [settlement]\nmode = \"onchain\"\nrpc_url = \"{rpc_url}\"\nprivate_key_file = \"{settler}\"\n\n\
         [storage]\nurl = \"{}\"\n\n\
         [custody]\nprovider = \"local\"\ndirectory = \"{}\"\nsecret_file = \"{secret_file}\"\n",
        OPERATORS_PAYEE,
        ledger_url(folder),
        wallets.display()
    );
    std::fs::write(&path, text)?;
    Ok(path)
}
