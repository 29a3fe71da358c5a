//! Configuration, and the settler that it describes.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, U256};
use secrecy::SecretString;
use thiserror::Error;
use tx_sender::{MemoryStore, Store, TransactionSigner};
use x402_wire::{Authorization, AuthorizationKey, Payment, Scheme, SignatureStanding, Terms};

use crate::chain::METHODS;
use crate::http::Http;
use crate::onchain;
use crate::{
    Cause, ChainOptions, ChainReader, Facilitator, GasPolicy, Okx, OkxCredentials, OnchainSettler,
    Readiness, Reconciliation, RemoteCall, Settlement, SettlementError, Settler, Verification,
    WithChain, observe,
};

/// The kind of settler: `settlement.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Any x402 v2 facilitator.
    #[default]
    Facilitator,
    /// The OKX broker.
    Okx,
    /// This process, with its own key.
    Onchain,
}

/// The text is no mode.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected `facilitator`, `okx` or `onchain`, observed `{observed}`")]
pub struct UnknownMode {
    /// The text, at most 80 characters.
    pub observed: String,
}

impl Mode {
    /// The name in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Facilitator => "facilitator",
            Self::Okx => "okx",
            Self::Onchain => "onchain",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Facilitator, Self::Okx, Self::Onchain]
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| UnknownMode {
                observed: text.chars().take(80).collect(),
            })
    }
}

/// The time limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For one answer to `/verify`, `/supported` or a status query.
    pub verify: Duration,
    /// For one answer to `/settle`; a broker that settles synchronously takes up to 30 seconds.
    pub settle: Duration,
    /// For one JSON-RPC answer.
    pub rpc: Duration,
    /// For the receipt of our own transaction.
    pub receipt: Duration,
    /// The total time for polling a broker's state.
    pub poll_budget: Duration,
    /// The time between two polls of a state or a receipt.
    pub poll_interval: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            verify: Duration::from_secs(10),
            settle: Duration::from_secs(35),
            rpc: Duration::from_secs(10),
            receipt: Duration::from_secs(30),
            poll_budget: Duration::from_secs(5),
            poll_interval: Duration::from_millis(500),
        }
    }
}

/// The table `[settlement]` of the configuration, with its secrets.
#[derive(Clone, Default)]
pub struct SettlementConfig {
    /// The kind of settler.
    pub mode: Mode,
    /// Mode `facilitator`: its base URL.
    pub facilitator_url: Option<String>,
    /// Mode `okx`: the broker's base URL; `https://web3.okx.com` when absent.
    pub okx_base_url: Option<String>,
    /// Mode `okx`: the API credentials.
    pub okx: Option<OkxCredentials>,
    /// A JSON-RPC endpoint; required by mode `onchain`, and used by every mode to read the chain.
    /// May hold a key, so it is never printed.
    pub rpc_url: Option<SecretString>,
    /// Further endpoints. They are asked when the first one does not answer, and together with it
    /// about decisions. They are used only with [`rpc_url`](Self::rpc_url).
    pub more_rpc_urls: Vec<SecretString>,
    /// Mode `onchain`: the key that pays the gas, 32 bytes as hexadecimal digits.
    pub private_key: Option<SecretString>,
    /// Mode `onchain`: the signer of the account that pays the gas, instead of `private_key`.
    pub signer: Option<Arc<dyn TransactionSigner>>,
    /// The time limits.
    pub timeouts: Timeouts,
    /// Mode `onchain`: the limits of a settlement's cost.
    pub gas: GasPolicy,
    /// Mode `onchain`: the store of our own transactions, which only this process may use. Without
    /// it they are recorded in memory, and a transaction that is pending when the process ends is
    /// found on the chain only.
    pub records: Option<Arc<dyn Store>>,
    /// How the chain is read.
    pub chain: ChainOptions,
}

/// Leaves out the URLs and the secrets.
impl fmt::Debug for SettlementConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettlementConfig")
            .field("mode", &self.mode)
            .field("timeouts", &self.timeouts)
            .field("gas", &self.gas)
            .field("chain", &self.chain)
            .finish_non_exhaustive()
    }
}

/// The broker's public host.
const OKX_BASE_URL: &str = "https://web3.okx.com";

/// The settler that a configuration describes.
#[derive(Debug)]
pub enum AnySettler {
    /// Mode `facilitator`.
    Facilitator(WithChain<Facilitator>),
    /// Mode `okx`.
    Okx(WithChain<Okx>),
    /// Mode `onchain`.
    Onchain(OnchainSettler),
}

impl AnySettler {
    /// Sets up the configured settler, and compares the chain and the assets with the configuration
    /// when there is an RPC endpoint. An endpoint that does not answer, or a facilitator that is
    /// down, is not an error: both are asked again at the first payment.
    ///
    /// # Errors
    /// When the configuration is incomplete or unusable; and [`SettlementError::Chain`] or
    /// [`SettlementError::Asset`] when the chain contradicts it.
    pub async fn connect(config: SettlementConfig, terms: &Terms) -> Result<Self, SettlementError> {
        let SettlementConfig { mode, timeouts, .. } = config;
        let missing = |key| SettlementError::Missing { key, mode };
        observe::describe();
        tx_sender::describe();
        let http = Http::new(timeouts.connect)?;
        let network = terms.network;
        let chain = match &config.rpc_url {
            Some(url) => {
                observe::start_rpc(&METHODS);
                let urls: Vec<_> = std::iter::once(url)
                    .chain(&config.more_rpc_urls)
                    .cloned()
                    .collect();
                let chain = ChainReader::with_http(&http, &urls, terms, timeouts, config.chain)?;
                confirm(&chain).await?;
                Some(chain)
            }
            None => None,
        };
        match mode {
            Mode::Facilitator => {
                observe::start_facilitator(&[
                    RemoteCall::Supported,
                    RemoteCall::Verify,
                    RemoteCall::Settle,
                ]);
                let url = config
                    .facilitator_url
                    .ok_or(missing("settlement.facilitator_url"))?;
                let facilitator = Facilitator::with_http(http, &url, network, timeouts)?;
                Ok(Self::Facilitator(WithChain::new(
                    facilitator,
                    chain,
                    timeouts,
                )))
            }
            Mode::Okx => {
                let calls = [
                    RemoteCall::Supported,
                    RemoteCall::Verify,
                    RemoteCall::Settle,
                    RemoteCall::SettleStatus,
                ];
                observe::start_facilitator(&calls);
                let url = config.okx_base_url.as_deref().unwrap_or(OKX_BASE_URL);
                let credentials = config.okx.ok_or(missing("settlement.okx_api_key"))?;
                let okx = Okx::with_http(http, url, credentials, network, timeouts)?;
                Ok(Self::Okx(WithChain::new(okx, chain, timeouts)))
            }
            Mode::Onchain => {
                let chain = chain.ok_or(missing("settlement.rpc_url"))?;
                let signer = match (config.signer, config.private_key) {
                    (Some(signer), _) => signer,
                    (None, Some(key)) => onchain::local_key(&key)?,
                    (None, None) => return Err(missing("settlement.private_key")),
                };
                let records = config
                    .records
                    .unwrap_or_else(|| Arc::new(MemoryStore::default()));
                let gas = config.gas;
                let settler =
                    OnchainSettler::signed_by(chain, signer, timeouts, gas, records).await?;
                Ok(Self::Onchain(settler))
            }
        }
    }

    /// The chain reader, when an RPC endpoint is configured.
    #[must_use]
    pub fn chain(&self) -> Option<&ChainReader> {
        match self {
            Self::Facilitator(settler) => settler.chain(),
            Self::Okx(settler) => settler.chain(),
            Self::Onchain(settler) => Some(settler.chain()),
        }
    }
}

async fn confirm(chain: &ChainReader) -> Result<(), SettlementError> {
    match chain.confirm().await {
        Ok(()) => Ok(()),
        Err(Cause::Asset(fault)) => Err(SettlementError::Asset(fault)),
        Err(Cause::Chain { expected, observed }) => {
            Err(SettlementError::Chain { expected, observed })
        }
        Err(cause) => {
            tracing::warn!(code = cause.code(), %cause, "the chain cannot be read yet; asking again before the first payment");
            Ok(())
        }
    }
}

/// Runs the same expression for every kind of settler.
macro_rules! each {
    ($settler:expr, $inner:ident => $body:expr) => {
        match $settler {
            AnySettler::Facilitator($inner) => $body,
            AnySettler::Okx($inner) => $body,
            AnySettler::Onchain($inner) => $body,
        }
    };
}

impl Settler for AnySettler {
    async fn supports(&self, scheme: Scheme) -> Verification {
        each!(self, settler => settler.supports(scheme).await)
    }

    fn reads_chain(&self) -> bool {
        each!(self, settler => settler.reads_chain())
    }

    async fn accepts_wallet(&self, payer: Address) -> Result<bool, Cause> {
        each!(self, settler => settler.accepts_wallet(payer).await)
    }

    async fn is_void(&self, key: &AuthorizationKey, valid_before: U256) -> Result<bool, Cause> {
        each!(self, settler => settler.is_void(key, valid_before).await)
    }

    async fn is_spent(
        &self,
        key: &AuthorizationKey,
        authorization: &Authorization,
    ) -> Result<bool, Cause> {
        each!(self, settler => settler.is_spent(key, authorization).await)
    }

    async fn verify(&self, payment: &Payment, committed: U256, now: u64) -> Verification {
        let outcome = each!(self, settler => settler.verify(payment, committed, now).await);
        match &outcome {
            Verification::Valid => tracing::debug!(key = %payment.key(), "payment valid"),
            Verification::Invalid { reason, .. } => {
                // Callers can send these in any number.
                tracing::debug!(key = %payment.key(), %reason, "payment invalid");
            }
            // Signatures that only a chain can judge can also come in any number.
            Verification::Unavailable { cause }
                if payment.check_signature() != Ok(SignatureStanding::Recovered) =>
            {
                tracing::debug!(key = %payment.key(), code = cause.code(), %cause, "payment not verifiable");
            }
            Verification::Unavailable { cause } => {
                tracing::warn!(key = %payment.key(), code = cause.code(), %cause, "payment not verifiable");
            }
        }
        outcome
    }

    fn pays_gas(&self) -> bool {
        each!(self, settler => settler.pays_gas())
    }

    async fn affords(&self, others: usize) -> Result<(), Cause> {
        each!(self, settler => settler.affords(others).await)
    }

    async fn settle(&self, payment: &Payment) -> Settlement {
        let outcome = each!(self, settler => settler.settle(payment).await);
        match &outcome {
            Settlement::Settled(receipt) => {
                tracing::info!(key = %payment.key(), transaction = %receipt.transaction, "payment settled");
            }
            Settlement::Rejected { reason, .. } => {
                tracing::info!(key = %payment.key(), %reason, "payment rejected");
            }
            Settlement::StillOpen { reason, .. } => {
                tracing::info!(key = %payment.key(), %reason, "payment refused, and its authorization still open");
            }
            Settlement::Failed {
                transaction,
                reason,
            } => {
                tracing::warn!(key = %payment.key(), %transaction, %reason, "own settlement failed, gas was spent");
            }
            Settlement::NotSent { cause } => {
                tracing::warn!(key = %payment.key(), code = cause.code(), %cause, "settlement not sent");
            }
            Settlement::Unknown { transaction, cause } => {
                tracing::warn!(key = %payment.key(), ?transaction, code = cause.code(), %cause, "settlement unknown");
            }
        }
        outcome
    }

    async fn reconcile(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
        now: u64,
    ) -> Reconciliation {
        let outcome = each!(self, settler => settler.reconcile(payment, transaction, now).await);
        match &outcome {
            Reconciliation::Settled(receipt) => {
                tracing::info!(key = %payment.key(), transaction = %receipt.transaction, "payment reconciled: settled");
            }
            Reconciliation::NotSettled { reason } => {
                tracing::info!(key = %payment.key(), %reason, "payment reconciled: not settled");
            }
            Reconciliation::Failed {
                transaction,
                reason,
            } => {
                tracing::warn!(key = %payment.key(), %transaction, %reason, "payment reconciled: own settlement failed");
            }
            Reconciliation::Undecided { transaction, cause } => {
                tracing::warn!(key = %payment.key(), ?transaction, code = cause.code(), %cause, "payment still undecided");
            }
            Reconciliation::Undecidable { transaction, cause } => {
                tracing::error!(key = %payment.key(), ?transaction, code = cause.code(), %cause, "payment undecidable: left to the operator");
            }
        }
        outcome
    }

    async fn forget(&self, submitted_before: u64) {
        each!(self, settler => settler.forget(submitted_before).await);
    }

    async fn readiness(&self) -> Readiness {
        each!(self, settler => settler.readiness().await)
    }
}
