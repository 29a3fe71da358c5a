//! Reading the chain: whether the assets are the configured ones, whether an authorization is unused and
//! covered, and what became of one that was sent.

mod abi;
mod proof;
mod rpc;
mod search;
mod signature;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use alloy_eips::BlockId;
use alloy_primitives::{Address, B256, Bytes, U256};
use secrecy::SecretString;
use x402_wire::{
    Asset, AuthorizationKey, Network, Payment, Reason, Scheme, SignatureStanding, Terms,
};

pub(crate) use self::abi::Eip3009;
use self::abi::Erc1271;
pub(crate) use self::proof::{Proof, of_logs};
pub(crate) use self::rpc::{Head, Rpc, RpcFault, TransactionOutcome};
pub use self::search::LogSearch;
use self::signature::EIP1271_MAGIC;
pub(crate) use self::signature::unwrap_6492;
use crate::http::Http;
use crate::{AssetFault, Call, Cause, Receipt, SettlementError, Timeouts, Verification};

/// How far the chain's clock must be past `validBefore`, in seconds, before an unused authorization is
/// given up: a reorganisation may replace the last blocks by earlier ones.
const EXPIRY_MARGIN_SECONDS: u64 = 30;

/// A reader of the chain that the payments are made on. Cheap to clone.
#[derive(Clone)]
pub struct ChainReader {
    inner: Arc<Inner>,
}

struct Inner {
    rpc: Rpc,
    network: Network,
    assets: Vec<CheckedAsset>,
    chain_confirmed: AtomicBool,
    log_search: LogSearch,
}

/// A configured asset; `confirmed` once the chain has agreed.
struct CheckedAsset {
    asset: Asset,
    separator: B256,
    confirmed: AtomicBool,
}

/// What the chain says about a payment that may have been settled.
#[derive(Debug, Clone)]
pub enum Finding {
    /// Settled, by the transaction of the receipt.
    Settled(Receipt),
    /// The authorization is used or cancelled, and the money did not come to us.
    Spent,
    /// The authorization is unused and can still be used.
    Open,
    /// The authorization is unused and has ended by the chain's own clock.
    Expired,
}

impl ChainReader {
    /// A reader over a JSON-RPC endpoint. Asks nothing yet.
    ///
    /// # Errors
    /// [`SettlementError::Url`] or [`SettlementError::Client`].
    pub fn new(
        rpc_url: &SecretString,
        terms: &Terms,
        timeouts: Timeouts,
        log_search: LogSearch,
    ) -> Result<Self, SettlementError> {
        Self::with_http(
            &Http::new(timeouts.connect)?,
            rpc_url,
            terms,
            timeouts,
            log_search,
        )
    }

    pub(crate) fn with_http(
        http: &Http,
        rpc_url: &SecretString,
        terms: &Terms,
        timeouts: Timeouts,
        log_search: LogSearch,
    ) -> Result<Self, SettlementError> {
        let assets = terms.assets.iter().map(|asset| CheckedAsset {
            asset: asset.clone(),
            separator: asset.domain_separator(terms.network),
            confirmed: AtomicBool::new(false),
        });
        let inner = Inner {
            rpc: Rpc::new(http, rpc_url, timeouts.rpc)?,
            network: terms.network,
            assets: assets.collect(),
            chain_confirmed: AtomicBool::new(false),
            log_search,
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

    /// Compares the chain id and every asset's `DOMAIN_SEPARATOR()` with the configuration. Whatever has
    /// been confirmed is not asked again.
    ///
    /// # Errors
    /// [`Cause::Chain`] or [`Cause::Asset`] when the chain contradicts the configuration; any other cause
    /// when it cannot be read.
    pub async fn confirm(&self) -> Result<(), Cause> {
        self.confirm_chain().await?;
        for asset in &self.inner.assets {
            self.confirm_asset(asset).await?;
        }
        Ok(())
    }

    async fn confirm_chain(&self) -> Result<(), Cause> {
        if self.inner.chain_confirmed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let expected = self.inner.network.chain_id();
        let observed = self.rpc().chain_id().await.map_err(RpcFault::cause)?;
        if observed != expected {
            return Err(Cause::Chain { expected, observed });
        }
        self.inner.chain_confirmed.store(true, Ordering::Relaxed);
        Ok(())
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

    /// Confirms the chain and the payment's asset, when that has not been done yet.
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

    /// `authorizationState`: whether the authorization is used or cancelled (EIP-3009).
    ///
    /// # Errors
    /// When the chain cannot be read.
    pub async fn authorization_used(&self, key: &AuthorizationKey) -> Result<bool, Cause> {
        self.used_at(key, BlockId::latest()).await
    }

    async fn used_at(&self, key: &AuthorizationKey, block: BlockId) -> Result<bool, Cause> {
        let call = Eip3009::authorizationStateCall {
            authorizer: key.payer,
            nonce: key.nonce,
        };
        self.rpc()
            .view(key.asset, &call, block)
            .await
            .map_err(RpcFault::cause)
    }

    /// `balanceOf`, in the asset's smallest unit.
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

    /// What the chain says about a payment before the work: the authorization is unused (which a
    /// simulation does not show for every token), the payer has the money, and a contract wallet agrees
    /// with its signature. Of an `aggr_deferred` payment only the authorization's state is looked at.
    pub async fn verify(&self, payment: &Payment) -> Verification {
        match payment.check_signature() {
            Ok(standing) => self.verify_with(payment, standing).await,
            Err(invalid) => Verification::invalid(invalid.reason()),
        }
    }

    /// As [`verify`](Self::verify), for a caller that has looked at the signature already.
    pub(crate) async fn verify_with(
        &self,
        payment: &Payment,
        standing: SignatureStanding,
    ) -> Verification {
        match self.examine(payment, standing).await {
            Ok(None) => Verification::Valid,
            Ok(Some(reason)) => Verification::invalid(reason),
            Err(cause) => Verification::Unavailable { cause },
        }
    }

    async fn examine(
        &self,
        payment: &Payment,
        standing: SignatureStanding,
    ) -> Result<Option<Reason>, Cause> {
        self.confirm_for(payment).await?;
        let key = payment.key();
        if payment.scheme() == Scheme::AggrDeferred {
            let used = self.authorization_used(&key).await?;
            return Ok(used.then_some(Reason::InvalidExactEvmNonceAlreadyUsed));
        }
        let (used, balance, signature) = tokio::join!(
            self.authorization_used(&key),
            self.balance(key.asset, key.payer),
            self.examine_signature(payment, standing),
        );
        if used? {
            return Ok(Some(Reason::InvalidExactEvmNonceAlreadyUsed));
        }
        if let Some(reason) = signature? {
            return Ok(Some(reason));
        }
        Ok((balance? < payment.requirements().amount).then_some(Reason::InsufficientFunds))
    }

    async fn examine_signature(
        &self,
        payment: &Payment,
        standing: SignatureStanding,
    ) -> Result<Option<Reason>, Cause> {
        // A key's own signature needs no contract, whether or not its account has code (EIP-7702).
        let SignatureStanding::Contract(signature) = standing else {
            return Ok(None);
        };
        let invalid = Ok(Some(Reason::InvalidExactEvmPayloadSignature));
        let Some(signature) = unwrap_6492(&signature) else {
            return invalid;
        };
        let wallet = payment.payer();
        if self
            .rpc()
            .code(wallet)
            .await
            .map_err(RpcFault::cause)?
            .is_empty()
        {
            return Ok(Some(Reason::InvalidExactEvmPayloadUndeployedSmartWallet));
        }
        let call = Erc1271::isValidSignatureCall {
            hash: payment.digest(),
            signature,
        };
        match self.rpc().view(wallet, &call, BlockId::latest()).await {
            Ok(EIP1271_MAGIC) => Ok(None),
            Ok(_) | Err(RpcFault::Reverted(_) | RpcFault::Lost(Cause::Malformed { .. })) => invalid,
            Err(fault) => Err(fault.cause()),
        }
    }

    /// What became of a payment, read from the chain: from the named transaction first, then from the
    /// state of the authorization and the logs of its use.
    ///
    /// # Errors
    /// When the chain cannot be read, or the use lies outside the searched blocks.
    pub async fn find(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
    ) -> Result<Finding, Cause> {
        self.confirm_for(payment).await?;
        if let Some(hash) = transaction.and_then(|text| text.parse::<B256>().ok())
            && self.prove(payment, hash).await? == Some(Proof::Paid)
        {
            return Ok(Finding::Settled(Receipt::of(payment, hash.to_string())));
        }
        // Both readings from one block: state that is older than the clock would give up a payment that
        // has been made in between.
        let head = self.rpc().head().await.map_err(RpcFault::cause)?;
        let key = payment.key();
        if !self.used_at(&key, BlockId::number(head.number())).await? {
            let end = payment.authorization().valid_before;
            let margin = U256::from(EXPIRY_MARGIN_SECONDS);
            let over = U256::from(head.timestamp()) >= end.saturating_add(margin);
            return Ok(if over {
                Finding::Expired
            } else {
                Finding::Open
            });
        }
        let search = self.inner.log_search;
        let not_located = Cause::NotLocated {
            blocks: search.max_blocks,
        };
        let hash = search
            .find(self.rpc(), &key, head.number())
            .await?
            .ok_or(not_located.clone())?;
        match self.prove(payment, hash).await? {
            Some(Proof::Paid) => Ok(Finding::Settled(Receipt::of(payment, hash.to_string()))),
            Some(Proof::Spent) => Ok(Finding::Spent),
            Some(Proof::Nothing) | None => Err(not_located),
        }
    }

    /// What a transaction proves; `None` when it is not in a block. One that failed has left no trace.
    pub(crate) async fn prove(
        &self,
        payment: &Payment,
        hash: B256,
    ) -> Result<Option<Proof>, Cause> {
        let outcome = self.rpc().outcome(hash).await.map_err(RpcFault::cause)?;
        Ok(outcome
            .filter(|outcome| outcome.transaction_hash == hash)
            .map(|outcome| {
                if outcome.succeeded() {
                    of_logs(payment, &outcome.logs)
                } else {
                    Proof::Nothing
                }
            }))
    }
}

impl std::fmt::Debug for ChainReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChainReader")
            .field("network", &self.inner.network)
            .finish_non_exhaustive()
    }
}

/// The bytes that the token is given as a signature: the inner one of a wrapped one.
pub(crate) fn token_signature(payment: &Payment) -> Option<Bytes> {
    unwrap_6492(&payment.payload().signature().to_bytes()?)
}

/// The method's name for causes that stand for several calls.
pub(crate) const RECEIPT: Call = Call::Rpc("eth_getTransactionReceipt");
