//! Sets up the settler that a configuration describes, and logs the outcomes of all settlers.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use tx_sender::MemoryStore;
use x402_wire::{Authorization, AuthorizationKey, Payment, Scheme, SignatureStanding, Terms};

use crate::chain::METHODS;
use crate::http::Http;
use crate::onchain;
use crate::{
    Cause, ChainReader, Facilitator, Mode, Okx, OnchainSettler, Readiness, Reconciliation,
    RemoteCall, Settlement, SettlementConfig, SettlementError, Settler, Verification, WithChain,
    observe,
};

/// The public address of the broker.
const OKX_BASE_URL: &str = "https://web3.okx.com";

/// The settler that a configuration describes. It passes each call on to the settler of its mode,
/// and logs the outcome.
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
    /// Sets up the configured settler. With an RPC endpoint, it also compares the chain and the
    /// assets with the configuration. An endpoint that does not answer and a facilitator that is
    /// down are no errors: the settler asks them again at the first payment.
    ///
    /// # Errors
    /// When the configuration is incomplete or unusable. [`SettlementError::Chain`] or
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
                let records = (records, config.sender);
                let settler = OnchainSettler::shared(chain, signer, timeouts, gas, records);
                let settler = settler.await?;
                Ok(Self::Onchain(settler))
            }
        }
    }

    /// Returns the chain reader. `None` without a configured RPC endpoint.
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

/// Evaluates the same expression for every kind of settler.
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

    async fn paid_by(
        &self,
        key: &AuthorizationKey,
        authorization: &Authorization,
    ) -> Result<Option<String>, Cause> {
        each!(self, settler => settler.paid_by(key, authorization).await)
    }

    async fn verify(&self, payment: &Payment, committed: U256, now: u64) -> Verification {
        let outcome = each!(self, settler => settler.verify(payment, committed, now).await);
        match &outcome {
            Verification::Valid => tracing::debug!(key = %payment.key(), "payment valid"),
            Verification::Invalid { reason, .. } => {
                // Callers can send such payments in any number, so they do not warn.
                tracing::debug!(key = %payment.key(), %reason, "payment invalid");
            }
            // Callers can also send signatures that only a chain can judge in any number.
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

    async fn proves_signer(&self, payment: &Payment) -> Result<bool, Cause> {
        each!(self, settler => settler.proves_signer(payment).await)
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

    async fn close(&self) {
        each!(self, settler => settler.close().await);
    }

    async fn readiness(&self) -> Readiness {
        each!(self, settler => settler.readiness().await)
    }
}
