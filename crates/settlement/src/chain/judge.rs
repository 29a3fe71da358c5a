//! Judges a payment before the work: its authorization, the balance of its payer, and its signature
//! if the payer has code.

use alloy_eips::BlockId;
use alloy_primitives::U256;
use alloy_rpc_types_eth::TransactionRequest;
use x402_wire::{Authorization, Payment, Reason, Scheme, SignatureStanding};

use super::abi::Erc1271;
use super::signature::{EIP1271_MAGIC, unwrap_6492};
use super::{ChainReader, RpcFault, calldata};
use crate::{Cause, Verification};

/// The judgement of a payment by the chain's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// Why the payment is refused. `None` when nothing speaks against it.
    pub(crate) refusal: Option<Reason>,
    /// Whether the payer has code. The token then judges the signature.
    pub(crate) has_code: bool,
}

impl ChainReader {
    /// Judges a payment on the chain before the work. The authorization must be unused, which a
    /// simulation does not show for every token. The payer's balance must cover `committed` and
    /// this payment's amount. The signature must be the payer's. For an `aggr_deferred` payment,
    /// only the state of the authorization is checked.
    ///
    /// If the payer has no code, its key judges the signature. If the payer has code, the token
    /// judges it, as it will at the settlement: the transfer is simulated.
    pub async fn verify(&self, payment: &Payment, committed: U256) -> Verification {
        let judged = async {
            let State { refusal, has_code } = self.state(payment, committed).await?;
            if refusal.is_some() || !has_code {
                return Ok(refusal);
            }
            self.simulate(payment).await
        };
        match judged.await {
            Ok(None) => Verification::Valid,
            Ok(Some(reason)) => Verification::invalid(reason),
            Err(cause) => Verification::Unavailable { cause },
        }
    }

    /// Like [`Self::verify`], without the judgement of the token.
    pub(crate) async fn state(&self, payment: &Payment, committed: U256) -> Result<State, Cause> {
        self.confirm_for(payment).await?;
        let key = payment.key();
        let decided = |refusal| State {
            refusal,
            has_code: false,
        };
        if payment.scheme() == Scheme::AggrDeferred {
            let used = self.authorization_used(&key).await?;
            return Ok(decided(
                used.then_some(Reason::InvalidExactEvmNonceAlreadyUsed),
            ));
        }
        let signature = match payment.check_signature() {
            Err(invalid) if payment.wallet_signature().is_none() => {
                return Ok(decided(Some(invalid.reason())));
            }
            judged => judged,
        };
        let (used, balance, has_code) = tokio::join!(
            self.authorization_used(&key),
            self.balance(key.asset, key.payer),
            self.has_code(key.payer),
        );
        let has_code = has_code?;
        let needed = committed.saturating_add(payment.requirements().amount);
        let refusal = if used? {
            Some(Reason::InvalidExactEvmNonceAlreadyUsed)
        } else if let Some(reason) = (!has_code).then(|| key_signature(&signature)).flatten() {
            Some(reason)
        } else {
            (balance? < needed).then_some(Reason::InsufficientFunds)
        };
        Ok(State { refusal, has_code })
    }

    /// Runs the transfer without sending it. Returns why the token refuses it.
    async fn simulate(&self, payment: &Payment) -> Result<Option<Reason>, Cause> {
        let Some(input) = calldata(payment) else {
            return Ok(Some(Reason::InvalidExactEvmPayloadSignature));
        };
        let request = TransactionRequest::default()
            .from(payment.requirements().pay_to)
            .to(payment.requirements().asset)
            .input(input.into());
        match self.rpc().execute(request, BlockId::latest()).await {
            Ok(_) => Ok(None),
            Err(RpcFault::Reverted(_)) => self.why_refused(payment).await.map(Some),
            Err(fault) => Err(fault.cause()),
        }
    }

    /// Returns why the token refuses a payment.
    pub(crate) async fn why_refused(&self, payment: &Payment) -> Result<Reason, Cause> {
        let key = payment.key();
        let (used, balance, head, signature) = tokio::join!(
            self.authorization_used(&key),
            self.balance(key.asset, key.payer),
            self.rpc().head(),
            self.examine_signature(payment),
        );
        let Authorization {
            valid_after,
            valid_before,
            ..
        } = *payment.authorization();
        let clock = U256::from(head.map_err(RpcFault::cause)?.timestamp());
        // The token excludes both bounds.
        Ok(if used? {
            Reason::InvalidExactEvmNonceAlreadyUsed
        } else if clock >= valid_before {
            Reason::InvalidExactEvmPayloadAuthorizationValidBefore
        } else if clock <= valid_after {
            Reason::InvalidExactEvmPayloadAuthorizationValidAfter
        } else if let Some(reason) = signature? {
            reason
        } else if balance? < payment.requirements().amount {
            Reason::InsufficientFunds
        } else {
            Reason::InvalidExactEvmTransactionSimulationFailed
        })
    }

    /// Whether it is proven that the payer signed the payment: by the recovery of its key, or by
    /// its code (EIP-1271), on two nodes when two are configured. No proof exists for an
    /// `aggr_deferred` payment, whose signature only the broker can judge.
    ///
    /// # Errors
    /// When the chain cannot be read by as many nodes as are needed.
    pub async fn proves_signer(&self, payment: &Payment) -> Result<bool, Cause> {
        match (payment.scheme(), payment.check_signature()) {
            (Scheme::Exact, Ok(SignatureStanding::Recovered)) => return Ok(true),
            (Scheme::Exact, _) => {}
            _ => return Ok(false),
        }
        let signature = payment.wallet_signature();
        let Some(signature) = signature.as_ref().and_then(unwrap_6492) else {
            return Ok(false);
        };
        self.confirm_for(payment).await?;
        let call = Erc1271::isValidSignatureCall {
            hash: payment.digest(),
            signature,
        };
        self.rpc()
            .is_confirmed_by_two(payment.payer(), &call, &EIP1271_MAGIC)
            .await
    }

    /// Returns what is wrong with the signature. `None` when neither the payer's code nor its key
    /// finds a fault.
    async fn examine_signature(&self, payment: &Payment) -> Result<Option<Reason>, Cause> {
        let wallet = payment.payer();
        if !self.has_code(wallet).await? {
            return Ok(key_signature(&payment.check_signature()));
        }
        let invalid = Ok(Some(Reason::InvalidExactEvmPayloadSignature));
        let signature = payment.wallet_signature();
        let Some(signature) = signature.as_ref().and_then(unwrap_6492) else {
            return invalid;
        };
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
}

/// Returns what is wrong with the signature of a payer without code. The wallet that signed may not
/// be deployed yet.
fn key_signature(judged: &Result<SignatureStanding, x402_wire::Invalid>) -> Option<Reason> {
    match judged {
        Ok(SignatureStanding::Recovered | SignatureStanding::Session) => None,
        Ok(SignatureStanding::Contract(_)) => {
            Some(Reason::InvalidExactEvmPayloadUndeployedSmartWallet)
        }
        Err(invalid) => Some(invalid.reason()),
    }
}
