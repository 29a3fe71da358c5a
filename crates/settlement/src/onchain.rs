//! Settling without a facilitator: the authorization is sent to its token from an account of our own.

mod account;

use alloy_eips::BlockId;
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rpc_types_eth::TransactionRequest;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::SolCall;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;
use x402_wire::{Authorization, Payment, Reason, Scheme};

use self::account::{Account, Fees, Outgoing, SendFault};
use crate::answer;
use crate::chain::{
    Eip3009, Finding, Proof, RECEIPT, RpcFault, TransactionOutcome, of_logs, token_signature,
};
use crate::with_chain::doubt;
use crate::{
    Cause, ChainReader, Readiness, Receipt, Reconciliation, Settlement, SettlementError, Settler,
    Timeouts, Verification,
};

/// Settles scheme `exact` by sending `transferWithAuthorization` itself (x402 `exact` scheme on EVM,
/// settlement phase; EIP-3009). Scheme `aggr_deferred` needs the broker and is refused.
///
/// One instance owns its key: its transactions leave in order, and their receipts are awaited concurrently.
pub struct OnchainSettler {
    chain: ChainReader,
    account: Account,
    timeouts: Timeouts,
}

/// What stands in the way of sending.
enum Obstacle {
    /// The payment would not settle.
    Refused(Reason),
    /// It cannot be told.
    Unreadable(Cause),
}

impl OnchainSettler {
    /// A settler that pays its gas with `private_key`, 32 bytes as hexadecimal digits.
    ///
    /// # Errors
    /// [`SettlementError::PrivateKey`].
    pub fn new(
        chain: ChainReader,
        private_key: &SecretString,
        timeouts: Timeouts,
    ) -> Result<Self, SettlementError> {
        let signer: PrivateKeySigner =
            private_key.expose_secret().trim().parse().map_err(|_| {
                SettlementError::PrivateKey {
                    key: "settlement.private_key",
                }
            })?;
        let account = Account::new(signer, chain.network().chain_id());
        Ok(Self {
            chain,
            account,
            timeouts,
        })
    }

    /// The account that pays the gas.
    #[must_use]
    pub fn address(&self) -> Address {
        self.account.address()
    }

    /// The chain reader.
    #[must_use]
    pub fn chain(&self) -> &ChainReader {
        &self.chain
    }

    fn request(&self, payment: &Payment, input: &Bytes) -> TransactionRequest {
        TransactionRequest::default()
            .from(self.address())
            .to(payment.requirements().asset)
            .input(input.clone().into())
    }

    async fn simulate(&self, payment: &Payment) -> Verification {
        let Some(input) = calldata(payment) else {
            return Verification::invalid(Reason::InvalidExactEvmPayloadSignature);
        };
        let request = self.request(payment, &input);
        match self.chain.rpc().execute(request, BlockId::latest()).await {
            Ok(_) => Verification::Valid,
            Err(RpcFault::Reverted(_)) => {
                let otherwise = Reason::InvalidExactEvmTransactionSimulationFailed;
                match self.diagnose(payment, otherwise).await {
                    Ok(reason) => Verification::invalid(reason),
                    Err(cause) => Verification::Unavailable { cause },
                }
            }
            Err(fault) => Verification::Unavailable {
                cause: fault.cause(),
            },
        }
    }

    /// Why the token refuses a payment that looked good.
    async fn diagnose(&self, payment: &Payment, otherwise: Reason) -> Result<Reason, Cause> {
        let key = payment.key();
        let (used, balance, head) = tokio::join!(
            self.chain.authorization_used(&key),
            self.chain.balance(key.asset, key.payer),
            self.chain.rpc().head(),
        );
        let Authorization {
            valid_after,
            valid_before,
            ..
        } = *payment.authorization();
        let clock = U256::from(head.map_err(RpcFault::cause)?.timestamp());
        // Both bounds are strict in the token.
        Ok(if used? {
            Reason::InvalidExactEvmNonceAlreadyUsed
        } else if clock >= valid_before {
            Reason::InvalidExactEvmPayloadAuthorizationValidBefore
        } else if clock <= valid_after {
            Reason::InvalidExactEvmPayloadAuthorizationValidAfter
        } else if balance? < payment.requirements().amount {
            Reason::InsufficientFunds
        } else {
            otherwise
        })
    }

    /// The last look before sending: the authorization is unused, and the token would accept it now.
    async fn prepare(&self, payment: &Payment) -> Result<Outgoing, Obstacle> {
        self.chain.confirm_for(payment).await?;
        let input =
            calldata(payment).ok_or(Obstacle::Refused(Reason::InvalidExactEvmPayloadSignature))?;
        let key = payment.key();
        let (used, gas, fees) = tokio::join!(
            self.chain.authorization_used(&key),
            self.chain.rpc().estimate_gas(self.request(payment, &input)),
            self.fees(),
        );
        // Some tokens accept a used authorization and do nothing, so the estimate does not show it.
        if used? {
            return Err(Obstacle::Refused(Reason::InvalidExactEvmNonceAlreadyUsed));
        }
        let gas = match gas {
            Ok(gas) => gas,
            Err(RpcFault::Reverted(_)) => {
                let otherwise = Reason::InvalidExactEvmTransactionSimulationFailed;
                return Err(Obstacle::Refused(self.diagnose(payment, otherwise).await?));
            }
            Err(fault) => return Err(Obstacle::Unreadable(fault.cause())),
        };
        // A quarter more: balances and storage may differ a little when the block is made.
        let gas_limit = gas.saturating_add(gas / 4);
        Ok(Outgoing {
            to: key.asset,
            input,
            gas_limit,
            fees: fees?,
        })
    }

    async fn fees(&self) -> Result<Fees, Cause> {
        let head = self.chain.rpc().head().await.map_err(RpcFault::cause)?;
        Fees::at(self.chain.rpc(), &head).await
    }

    /// Waits until the transaction is in a block. A node that does not answer is asked again.
    async fn receipt(&self, hash: B256) -> Result<TransactionOutcome, Cause> {
        let after = self.timeouts.receipt;
        let deadline = Instant::now() + after;
        loop {
            match self.chain.rpc().outcome(hash).await {
                Ok(Some(outcome)) if outcome.transaction_hash == hash => return Ok(outcome),
                Ok(_) => {}
                Err(fault) => {
                    let cause = fault.cause();
                    tracing::debug!(transaction = %hash, code = cause.code(), "receipt not readable, asking again");
                }
            }
            let next = Instant::now() + self.timeouts.poll_interval;
            if next > deadline {
                return Err(Cause::Timeout {
                    call: RECEIPT,
                    after,
                });
            }
            tokio::time::sleep_until(next).await;
        }
    }

    async fn conclude(&self, payment: &Payment, outcome: &TransactionOutcome) -> Settlement {
        let hash = outcome.transaction_hash;
        let otherwise = if outcome.succeeded() {
            if of_logs(payment, &outcome.logs) == Proof::Paid {
                return Settlement::Settled(Receipt::of(payment, hash.to_string()));
            }
            Reason::InvalidExactEvmTransferEventMismatch
        } else {
            Reason::TransactionFailed
        };
        match self.diagnose(payment, otherwise).await {
            Ok(reason) => doubt(&self.chain, payment, reason, None).await,
            Err(cause) => Settlement::Unknown {
                transaction: Some(hash.to_string()),
                cause,
            },
        }
    }
}

impl Settler for OnchainSettler {
    async fn supports(&self, scheme: Scheme) -> Verification {
        match scheme {
            Scheme::Exact => Verification::Valid,
            Scheme::AggrDeferred => Verification::invalid(Reason::UnsupportedScheme),
        }
    }

    async fn verify(&self, payment: &Payment, _now: u64) -> Verification {
        let supported = self.supports(payment.scheme()).await;
        if supported != Verification::Valid {
            return supported;
        }
        let (state, simulation) = tokio::join!(self.chain.verify(payment), self.simulate(payment));
        match state {
            Verification::Valid => simulation,
            // The reading names the cause better than the simulation.
            other => other,
        }
    }

    async fn settle(&self, payment: &Payment) -> Settlement {
        if payment.scheme() == Scheme::AggrDeferred {
            return Settlement::rejected(Reason::UnsupportedScheme);
        }
        let unknown = |hash: B256, cause| Settlement::Unknown {
            transaction: Some(hash.to_string()),
            cause,
        };
        let outgoing = match self.prepare(payment).await {
            Ok(outgoing) => outgoing,
            Err(Obstacle::Refused(reason)) => {
                return doubt(&self.chain, payment, reason, None).await;
            }
            Err(Obstacle::Unreadable(cause)) => return Settlement::NotSent { cause },
        };
        let hash = match self.account.send(self.chain.rpc(), &outgoing).await {
            Ok(hash) => hash,
            Err(SendFault::NotSent(cause)) => return Settlement::NotSent { cause },
            Err(SendFault::Lost { hash, cause }) => return unknown(hash, cause),
        };
        tracing::info!(key = %payment.key(), transaction = %hash, "settlement sent");
        match self.receipt(hash).await {
            Ok(outcome) => self.conclude(payment, &outcome).await,
            Err(cause) => {
                self.account.resync().await;
                unknown(hash, cause)
            }
        }
    }

    async fn reconcile(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
        _now: u64,
    ) -> Reconciliation {
        let undecided = |cause| Reconciliation::Undecided {
            transaction: transaction.map(str::to_owned),
            cause,
        };
        match self.chain.find(payment, transaction).await {
            Ok(Finding::Settled(receipt)) => return Reconciliation::Settled(receipt),
            Ok(Finding::Spent) => {
                return Reconciliation::NotSettled {
                    reason: Reason::InvalidExactEvmNonceAlreadyUsed,
                };
            }
            Ok(Finding::Expired) => {
                return Reconciliation::NotSettled {
                    reason: Reason::InvalidExactEvmPayloadAuthorizationValidBefore,
                };
            }
            Ok(Finding::Open) => {}
            Err(cause) => return undecided(cause),
        }
        // Unused and still usable. A transaction that waits for its block is waited for; a second one would
        // only burn gas.
        if let Some(hash) = transaction.and_then(|text| text.parse().ok()) {
            match self.waits(hash).await {
                Ok(true) => {
                    let state = "waiting for a block".to_owned();
                    return undecided(Cause::Pending {
                        call: RECEIPT,
                        state,
                    });
                }
                Ok(false) => {}
                Err(cause) => return undecided(cause),
            }
        }
        answer::after_resend(self.settle(payment).await, transaction)
    }

    async fn readiness(&self) -> Readiness {
        if let Err(reason) = self.chain.confirm().await {
            return Readiness::NotReady { reason };
        }
        let account = self.address();
        match self.chain.rpc().coin_balance(account).await {
            Ok(balance) if balance.is_zero() => Readiness::NotReady {
                reason: Cause::NoGas { account },
            },
            Ok(_) => Readiness::Ready {
                aggr_deferred: false,
            },
            Err(fault) => Readiness::NotReady {
                reason: fault.cause(),
            },
        }
    }
}

impl OnchainSettler {
    /// The node has the transaction and no block has it.
    async fn waits(&self, hash: B256) -> Result<bool, Cause> {
        let rpc = self.chain.rpc();
        let (known, outcome) = tokio::join!(rpc.knows(hash), rpc.outcome(hash));
        Ok(known.map_err(RpcFault::cause)? && outcome.map_err(RpcFault::cause)?.is_none())
    }
}

impl From<Cause> for Obstacle {
    fn from(cause: Cause) -> Self {
        Self::Unreadable(cause)
    }
}

impl std::fmt::Debug for OnchainSettler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnchainSettler")
            .field("account", &self.address())
            .finish_non_exhaustive()
    }
}

/// The call of the token: `(v, r, s)` for 65 bytes, which every EIP-3009 token has, and `(bytes)` for a
/// contract wallet's signature.
fn calldata(payment: &Payment) -> Option<Bytes> {
    let Authorization {
        from,
        to,
        value,
        valid_after,
        valid_before,
        nonce,
    } = *payment.authorization();
    let signature = token_signature(payment)?;
    let Ok([rs @ .., v]) = <&[u8; 65]>::try_from(&signature[..]) else {
        let call = Eip3009::transferWithAuthorization_1Call {
            from,
            to,
            value,
            validAfter: valid_after,
            validBefore: valid_before,
            nonce,
            signature,
        };
        return Some(call.abi_encode().into());
    };
    let (r, s) = rs.split_at(32);
    let call = Eip3009::transferWithAuthorization_0Call {
        from,
        to,
        value,
        validAfter: valid_after,
        validBefore: valid_before,
        nonce,
        // The token knows 27 and 28 only.
        v: if *v < 27 { v.saturating_add(27) } else { *v },
        r: B256::from_slice(r),
        s: B256::from_slice(s),
    };
    Some(call.abi_encode().into())
}
