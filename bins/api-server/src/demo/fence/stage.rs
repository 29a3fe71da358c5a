//! A server with the fence and its surroundings: an embedded chain with the id of Base, custody in
//! a temporary folder, and the plan builder over quotes of the embedded exchange.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall as _, sol};
use custody::{Custody, CustodyError, LocalCustody, Owner};
use delegation_fence::{Policy, Refusal as FenceRefusal};
use dev_chain::{
    BUYER, DEV_ACCOUNTS, DevAccount, DevChain, DevChainError, GAS_PAYER, PAYEE, RpcServer, base,
};
use http_edge::Drained;
use plan_builder::{FeeConfigError, Refusal};
use replay::{RecordingError, Recordings, ReplayServer};
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::plans::{EmbeddedPlan, EmbeddedPlans};
use crate::config::{Config, CustodySection, DelegationSection, SettlementMode};
use crate::demo::{ledger_url, recorded_clock, replay_upstreams};
use crate::error::ServeError;
use crate::serve::ApiServer;

sol! {
    /// ERC-20.
    function transfer(address to, uint256 value) external returns (bool);
}

/// The secret that encrypts the demo's wallets, which are deleted with their folder.
const SECRET: &str = "the secret of a demo";
/// A thousandth of a coin: more than the gas of several plans.
const GAS_COINS_WEI: u64 = 1_000_000_000_000_000;

/// The account that pays the gas of sub-wallets.
const GAS_ACCOUNT: DevAccount = DEV_ACCOUNTS[4];

/// An error of setting up the stage, or of making a plan.
#[derive(Debug, Error)]
pub enum FenceStageError {
    /// The embedded chains.
    #[error("the embedded chain: {0}")]
    Chain(#[from] DevChainError),
    /// The upstreams.
    #[error("the recorded answers: {0}")]
    Recordings(#[from] RecordingError),
    /// The server.
    #[error("{0}")]
    Serve(#[from] ServeError),
    /// Files and sockets.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The policy, or a message of the fence.
    #[error("the fence: {0}")]
    Fence(Box<FenceRefusal>),
    /// A plan without this member.
    #[error("the envelope has no usable {0}")]
    Envelope(&'static str),
    /// The fees.
    #[error("the fee configuration: {0}")]
    Fees(#[from] FeeConfigError),
    /// The fees, before they are reviewed.
    #[error("the fee configuration: {0}")]
    FeesForm(#[from] toml::de::Error),
    /// The wallets.
    #[error("the wallets: {0}")]
    Custody(#[from] CustodyError),
    /// The plan builder.
    #[error("the plan: {0}")]
    Plan(Box<Refusal>),
    /// A transfer on the embedded chain.
    #[error("the embedded chain refuses a transfer: {0}")]
    Transfer(String),
}

impl From<Refusal> for FenceStageError {
    fn from(refusal: Refusal) -> Self {
        Self::Plan(Box::new(refusal))
    }
}

/// A running server with `[delegation]` and `[custody]`. Its clock runs; only recorded data keeps
/// its time.
pub struct FenceStage {
    /// The address on which it listens.
    pub address: SocketAddr,
    /// The chain on which plans are sent.
    pub base: DevChain,
    /// The policy of its fence, which `fence-cli` pins too.
    pub policy: Policy,
    plans: EmbeddedPlans,
    custody: Option<Arc<dyn Custody>>,
    folder: TempDir,
    stop: oneshot::Sender<()>,
    server: JoinHandle<Drained>,
    /// The services that the server asks. They stop with the stage.
    _around: (RpcServer, RpcServer, ReplayServer),
}

impl FenceStage {
    /// The project that grants name.
    pub const PROJECT: &str = "3f2c9b1e-5a44-4d0a-9a52-0c6f3a9b7e11";
    /// The salt of the domain.
    pub const SALT: B256 = B256::repeat_byte(0x11);

    /// Sets up the stage and starts the server on a free port.
    ///
    /// # Errors
    /// [`FenceStageError`]
    pub async fn open() -> Result<Self, FenceStageError> {
        let plans = EmbeddedPlans::new(PAYEE.address)?;
        let policy = plans.policy().clone();
        let folder = tempfile::tempdir()?;
        std::fs::write(
            folder.path().join("policy.json"),
            EmbeddedPlans::policy_document(),
        )?;
        std::fs::write(folder.path().join("fees.toml"), plans.fees())?;

        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let paid_on = DevChain::with_chain_196_assets()?.serve(anywhere).await?;
        let base = DevChain::with_base_stage()?;
        let rpc = base.serve(anywhere).await?;
        let recordings = ReplayServer::start(Recordings::embedded()?).await?;
        let path = |name: &str| folder.path().join(name);

        let mut config = Config::default();
        config.server.listen = Some(anywhere);
        config.payment.pay_to = Some(PAYEE.address.into());
        config.settlement.mode = SettlementMode::Onchain;
        config.settlement.rpc_url = Some(paid_on.url());
        config.settlement.private_key = Some(SecretString::from(GAS_PAYER.key.to_string()));
        config.storage.url = Some(ledger_url(folder.path()).into());
        replay_upstreams(&mut config, &recordings.url());
        let nodes = config
            .chains
            .0
            .entry(base::CHAIN_ID.to_string())
            .or_default();
        nodes.rpc_urls = vec![rpc.url()];
        nodes.mode = None;
        // The wallets are deleted with the stage.
        drop(LocalCustody::open_weakly_stretched(
            &path("wallets"),
            SECRET.into(),
        )?);
        config.custody = Some(CustodySection::local(path("wallets"), SECRET.into()));
        config.wallets.gas_account_key = Some(GAS_ACCOUNT.key.to_string().into());
        config.delegation = Some(DelegationSection {
            project_id: Self::PROJECT.to_owned(),
            instance_salt: Self::SALT.to_string(),
            policy: Some(path("policy.json")),
            policy_digest: policy.digest().to_string(),
            // Recorded prices belong to the day of the recording, so today's plans are not checked
            // against them.
            max_deviation_bps: 10_000,
            ..DelegationSection::default()
        });
        let fees = path("fees.toml").to_string_lossy().into_owned();
        config.plans.insert("fee_config".to_owned(), fees.into());

        let service = ApiServer::open_at(&config, recorded_clock()).await?;
        let address = service.local_addr();
        let custody = service.custody();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(service.run(async move {
            drop(stopped.await);
        }));
        Ok(Self {
            address,
            base,
            policy,
            plans,
            custody,
            folder,
            stop,
            server,
            _around: (paid_on, rpc, recordings),
        })
    }

    /// The reviewed fee configuration.
    #[must_use]
    pub fn fees(&self) -> PathBuf {
        self.folder.path().join("fees.toml")
    }

    /// The sub-wallet of an owner, as `GET /sub-wallet` shows it, without a payment.
    ///
    /// # Errors
    /// Custody that cannot be used.
    pub async fn wallet_of(&self, owner: Address) -> Result<Address, FenceStageError> {
        let custody = self.custody.as_ref();
        let custody = custody.ok_or(CustodyError::UnknownWallet(owner))?;
        let wallet = custody.get_or_create(Owner::new(PAID_ON, owner)).await?;
        Ok(wallet.address)
    }

    /// Gives an account USDC and coins for gas in a sealed block. The server's own account gives an
    /// owner no more coins than the owner has paid for, which is one call here.
    /// # Errors
    /// An amount that the embedded chain's rich account does not have.
    pub fn fund(&self, account: Address, amount: u64) -> Result<(), FenceStageError> {
        let transfer = transferCall {
            to: account,
            value: U256::from(amount),
        };
        let data = Bytes::from(transfer.abi_encode());
        self.send(&json!({ "from": BUYER.address, "to": base::USDC, "data": data }))?;
        let wei = U256::from(GAS_COINS_WEI);
        self.send(&json!({ "from": BUYER.address, "to": account, "value": wei }))?;
        // The server reads blocks that have another block above them.
        self.base.mine();
        Ok(())
    }

    fn send(&self, transaction: &Value) -> Result<(), FenceStageError> {
        let sent = self
            .base
            .request("eth_sendTransaction", json!([transaction]));
        sent.map(drop)
            .map_err(|refused| FenceStageError::Transfer(refused.to_string()))
    }

    /// Makes a plan that swaps an account's USDC for WETH, sealed now by the rail's plan builder.
    ///
    /// # Errors
    /// The plan builder's refusal.
    pub async fn plan(
        &self,
        account: Address,
        amount: u64,
    ) -> Result<EmbeddedPlan, FenceStageError> {
        self.plans.plan(account, amount).await
    }

    /// Makes the plan for the `arguments` of the tool.
    ///
    /// # Errors
    /// The plan builder's refusal.
    pub async fn plan_for(&self, arguments: &Value) -> Result<EmbeddedPlan, FenceStageError> {
        self.plans.plan_for(arguments).await
    }

    /// Stops the server in order.
    pub async fn close(self) {
        drop(self.stop);
        drop(self.server.await);
    }
}

/// The chain of payments. The owners of custody are payers on it.
const PAID_ON: u64 = 196;
