//! Reads the chain of the payments: whether the assets are the configured ones, whether an
//! authorization is unused and covered, and the outcome of a settlement that was sent. It sends no
//! transaction.

mod abi;
mod clock;
mod code;
mod find;
mod head;
mod judge;
mod proof;
mod rpc;
mod search;
mod signature;
mod transfer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alloy_eips::BlockId;
use alloy_primitives::{Address, B256, U256};
use secrecy::SecretString;
use x402_wire::{Asset, AuthorizationKey, Network, Payment, Terms};

pub(crate) use self::abi::Eip3009;
use self::clock::HeadWatch;
use self::code::CodeCache;
pub use self::find::Finding;
pub(crate) use self::find::proof;
pub(crate) use self::judge::State;
pub(crate) use self::proof::Proof;
pub(crate) use self::rpc::{Head, METHODS, Rpc, RpcFault, TransactionOutcome};
pub use self::search::LogSearch;
pub(crate) use self::transfer::calldata;
use crate::http::Http;
use crate::{AssetFault, Cause, RemoteCall, SettlementError, Timeouts};

/// How the chain is read.
#[derive(Debug, Clone, Default)]
pub struct ChainOptions {
    /// How a transaction that used an authorization is searched for.
    pub log_search: LogSearch,
    /// How many blocks must follow a transaction's block before the transaction counts. With 0, its
    /// block must only be canonical.
    pub confirmations: u64,
    /// The time between the chain's blocks. When absent, the usual time of the chain.
    pub block_time: Option<Duration>,
    /// The clock of the machine. It is compared with the chain's clock.
    pub clock: tx_sender::Clock,
}

/// Reads the chain of the payments. Cheap to clone.
#[derive(Clone)]
pub struct ChainReader {
    inner: Arc<Inner>,
}

struct Inner {
    rpc: Rpc,
    network: Network,
    assets: Vec<CheckedAsset>,
    options: ChainOptions,
    code: CodeCache,
    head_watch: HeadWatch,
}

/// A configured asset. `confirmed` is true once the chain has agreed with the configuration.
struct CheckedAsset {
    asset: Asset,
    separator: B256,
    confirmed: AtomicBool,
}

impl ChainReader {
    /// Makes a reader of one JSON-RPC endpoint. Sends no request yet.
    ///
    /// # Errors
    /// [`SettlementError::Url`] or [`SettlementError::Client`].
    pub fn new(
        rpc_url: &SecretString,
        terms: &Terms,
        timeouts: Timeouts,
        options: ChainOptions,
    ) -> Result<Self, SettlementError> {
        Self::over(std::slice::from_ref(rpc_url), terms, timeouts, options)
    }

    /// Makes a reader of several endpoints, which are asked in this order. An endpoint that does
    /// not answer, or is far behind, is asked last for a while. Requests that decide about money go
    /// to every endpoint, and contradicting answers are refused. Sends no request yet.
    ///
    /// # Errors
    /// [`SettlementError::Url`] or [`SettlementError::Client`].
    pub fn over(
        rpc_urls: &[SecretString],
        terms: &Terms,
        timeouts: Timeouts,
        options: ChainOptions,
    ) -> Result<Self, SettlementError> {
        let http = Http::new(timeouts.connect)?;
        Self::with_http(&http, rpc_urls, terms, timeouts, options)
    }

    pub(crate) fn with_http(
        http: &Http,
        rpc_urls: &[SecretString],
        terms: &Terms,
        timeouts: Timeouts,
        options: ChainOptions,
    ) -> Result<Self, SettlementError> {
        let assets = terms.assets.iter().map(|asset| CheckedAsset {
            asset: asset.clone(),
            separator: asset.domain_separator(terms.network),
            confirmed: AtomicBool::new(false),
        });
        let inner = Inner {
            rpc: Rpc::new(http, rpc_urls, timeouts.rpc)?,
            network: terms.network,
            assets: assets.collect(),
            options,
            code: CodeCache::default(),
            head_watch: HeadWatch::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    pub(crate) fn rpc(&self) -> &Rpc {
        &self.inner.rpc
    }

    pub(crate) fn network(&self) -> Network {
        self.inner.network
    }

    /// Returns how many blocks must follow a transaction's block before the transaction counts.
    pub(crate) fn confirmations(&self) -> u64 {
        self.inner.options.confirmations
    }

    /// Returns the time between the chain's blocks.
    pub(crate) fn block_time(&self) -> Duration {
        let usual = || tx_sender::Policy::usual_block_time(self.network().chain_id());
        self.inner.options.block_time.unwrap_or_else(usual)
    }

    /// Compares the chain id and every asset's `DOMAIN_SEPARATOR()` with the configuration. Does
    /// not ask again for what is confirmed.
    ///
    /// # Errors
    /// [`Cause::Chain`] or [`Cause::Asset`] when the chain contradicts the configuration. Another
    /// cause when the chain cannot be read.
    pub async fn confirm(&self) -> Result<(), Cause> {
        self.confirm_chain().await?;
        for asset in &self.inner.assets {
            self.confirm_asset(asset).await?;
        }
        Ok(())
    }

    async fn confirm_chain(&self) -> Result<(), Cause> {
        self.rpc().confirm(self.inner.network.chain_id()).await
    }

    async fn confirm_asset(&self, checked: &CheckedAsset) -> Result<(), Cause> {
        if checked.confirmed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Asset {
            address: asset,
            name,
            version,
        } = checked.asset.clone();
        if self
            .rpc()
            .code(asset)
            .await
            .map_err(RpcFault::cause)?
            .is_empty()
        {
            return Err(AssetFault::NoCode {
                asset,
                name,
                network: self.inner.network,
            }
            .into());
        }
        let call = Eip3009::DOMAIN_SEPARATORCall {};
        let observed = match self.rpc().view(asset, &call, BlockId::latest()).await {
            Ok(separator) => separator,
            Err(RpcFault::Reverted(_) | RpcFault::Lost(Cause::Malformed { .. })) => {
                return Err(AssetFault::NoSeparator { asset, name }.into());
            }
            Err(fault) => return Err(fault.cause()),
        };
        if observed != checked.separator {
            let expected = checked.separator;
            return Err(AssetFault::AssetMismatch {
                asset,
                name,
                version,
                expected,
                observed,
            }
            .into());
        }
        checked.confirmed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Confirms the chain and the payment's asset, unless they are confirmed.
    pub(crate) async fn confirm_for(&self, payment: &Payment) -> Result<(), Cause> {
        let asset = payment.requirements().asset;
        let checked = self
            .inner
            .assets
            .iter()
            .find(|checked| checked.asset.address == asset);
        self.confirm_chain().await?;
        self.confirm_asset(checked.ok_or(Cause::UnknownAsset { asset })?)
            .await
    }

    /// Calls `authorizationState`: whether the authorization is used or cancelled (EIP-3009).
    ///
    /// # Errors
    /// When the chain cannot be read.
    pub async fn authorization_used(&self, key: &AuthorizationKey) -> Result<bool, Cause> {
        let call = Eip3009::authorizationStateCall {
            authorizer: key.payer,
            nonce: key.nonce,
        };
        self.rpc()
            .view(key.asset, &call, BlockId::latest())
            .await
            .map_err(RpcFault::cause)
    }

    /// Whether the authorization was used or cancelled as of a block. Asks every endpoint that has
    /// the block.
    async fn used_as_of(&self, key: &AuthorizationKey, head: &Head) -> Result<bool, Cause> {
        let call = Eip3009::authorizationStateCall {
            authorizer: key.payer,
            nonce: key.nonce,
        };
        self.rpc().agreed_view(key.asset, &call, head).await
    }

    /// Calls `balanceOf`. The result is in the asset's smallest unit.
    ///
    /// # Errors
    /// When the chain cannot be read.
    pub async fn balance(&self, asset: Address, account: Address) -> Result<U256, Cause> {
        let call = Eip3009::balanceOfCall { account };
        self.rpc()
            .view(asset, &call, BlockId::latest())
            .await
            .map_err(RpcFault::cause)
    }

    /// Whether the account has code. It is then a contract wallet, or the account of a key that has
    /// delegated (EIP-7702). The answer is kept for a while, and callers at the same time share one
    /// request.
    ///
    /// # Errors
    /// When the chain cannot be read.
    pub async fn has_code(&self, account: Address) -> Result<bool, Cause> {
        let ask = async {
            let code = self.rpc().code(account).await.map_err(RpcFault::cause)?;
            Ok(!code.is_empty())
        };
        self.inner.code.get(account, ask).await
    }

    /// Compares the machine's clock with the time of the newest block. Reads a block at most once a
    /// second.
    ///
    /// # Errors
    /// [`Cause::Clock`] when they contradict each other. Another cause when the chain cannot be
    /// read.
    pub(crate) async fn check_clock(&self) -> Result<(), Cause> {
        let now = self.inner.options.clock.now();
        let watch = &self.inner.head_watch;
        if !watch.looked_at(now) {
            watch.look(&self.rpc().head().await.map_err(RpcFault::cause)?, now);
        }
        watch.verdict()
    }
}

impl std::fmt::Debug for ChainReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChainReader")
            .field("network", &self.inner.network)
            .finish_non_exhaustive()
    }
}

/// The call that a cause names when several calls belong to one question.
pub(crate) const RECEIPT: RemoteCall = RemoteCall::Rpc("eth_getTransactionReceipt");
