//! The checks before the work and before sending: whether the token would accept the payment, with
//! how much gas, and whether our account can pay for it in time.

use std::sync::atomic::Ordering;

use alloy_primitives::{Bytes, U256};
use alloy_rpc_types_eth::TransactionRequest;
use tx_sender::{Fees, Request};
use x402_wire::{Payment, Reason, SignatureStanding};

use super::OnchainSettler;
use super::funds::GasState;
use crate::chain::{Finding, RpcFault, State, calldata};
use crate::reason::{Weight, is_used, may_have_settled, weight};
use crate::{Cause, Settlement};

/// Why a payment is not sent.
pub(super) enum Obstacle {
    /// The payment would not settle.
    Refused {
        reason: Reason,
        message: Option<String>,
    },
    /// The payment cannot be judged, or its gas cannot be paid.
    Unreadable(Cause),
}

impl OnchainSettler {
    /// Checks a payment before the work. `now` is in Unix seconds.
    pub(super) async fn examine(
        &self,
        payment: &Payment,
        committed: U256,
        now: u64,
    ) -> Result<(), Obstacle> {
        let input = self.input(payment)?;
        let funds = self.affordable(self.open.load(Ordering::Relaxed)).await?;
        self.in_time(payment, now)?;
        self.chain.confirm_for(payment).await?;
        let (state, gas) = tokio::join!(
            self.chain.state(payment, committed),
            self.estimate(payment, &input, funds.fees),
        );
        let State { refusal, has_code } = state?;
        // The chain's state names the cause better than the estimate does.
        if let Some(reason) = refusal {
            return Err(reason.into());
        }
        self.admits_wallet(has_code)?;
        gas.map(drop)
    }

    /// Checks a payment just before sending: the authorization is unused, and the token would
    /// accept it now. Returns the transaction to send.
    pub(super) async fn prepare(&self, payment: &Payment) -> Result<Request, Obstacle> {
        let input = self.input(payment)?;
        // The caller has counted this settlement as begun.
        let others = self.open.load(Ordering::Relaxed).saturating_sub(1);
        let funds = self.affordable(others).await?;
        self.chain.confirm_for(payment).await?;
        let key = payment.key();
        let (used, gas) = tokio::join!(
            self.chain.authorization_used(&key),
            self.estimate(payment, &input, funds.fees),
        );
        // Some tokens accept a used authorization and do nothing, so an estimate does not show it.
        if used? {
            return Err(Reason::InvalidExactEvmNonceAlreadyUsed.into());
        }
        let gas = gas?;
        // A quarter more, because balances and storage may differ a little in the real block.
        let gas_limit = gas.saturating_add(gas / 4).min(self.policy.gas_cap);
        let end = payment.authorization().valid_before;
        Ok(Request {
            to: key.asset,
            value: U256::ZERO,
            input,
            gas_limit,
            // Each later check then uses the account's cap as it is configured at that time.
            max_fee_per_gas: None,
            // After this time the token refuses the authorization, and the transaction would still
            // cost gas.
            not_after: Some(end.saturating_to()),
            confirmations: Some(self.chain.confirmations()),
        })
    }

    /// Returns the outcome when the last check refuses and nothing is sent. If the refusal also
    /// fits a payment that is already taken, the chain decides: an earlier attempt or another
    /// holder of the authorization may have taken it.
    pub(super) async fn refused_unsent(
        &self,
        payment: &Payment,
        reason: Reason,
        message: Option<String>,
    ) -> Settlement {
        let rejected = |reason| Settlement::Rejected { reason, message };
        if weight(&reason) != Weight::Vague && !is_used(&reason) {
            return rejected(reason);
        }
        let unknown = |transaction, cause| Settlement::Unknown { transaction, cause };
        match self.chain.find(payment, None).await {
            Ok(Finding::Settled(receipt)) => {
                unknown(Some(receipt.transaction), Cause::UsedElsewhere)
            }
            // Two nodes may share one address, and one of them may be behind.
            Ok(Finding::Open) if may_have_settled(&reason) => {
                unknown(None, Cause::inconclusive(&reason))
            }
            Ok(Finding::Spent) => Settlement::rejected(Reason::Cancelled),
            Ok(Finding::Open | Finding::Expired) => rejected(reason),
            Err(cause) => unknown(None, cause),
        }
    }

    /// Returns the account's balance and the gas price.
    pub(super) async fn funds(&self) -> Result<GasState, Cause> {
        self.funds.read(self.chain.rpc(), self.address()).await
    }

    /// Checks that the account can pay for one settlement beside `others` that have begun.
    pub(super) async fn affordable(&self, others: usize) -> Result<GasState, Cause> {
        let funds = self.funds().await?;
        let others = u64::try_from(others).unwrap_or(u64::MAX);
        if funds.settlements(self.policy.gas_cap) <= others {
            return Err(self.no_gas(funds.balance));
        }
        Ok(funds)
    }

    pub(super) fn no_gas(&self, balance: U256) -> Cause {
        Cause::NoGas {
            account: self.address(),
            balance,
        }
    }

    /// Checks that the waiting settlements are sent early enough for this one.
    fn in_time(&self, payment: &Payment, now: u64) -> Result<(), Cause> {
        let left = payment.authorization().valid_before;
        let left = left.saturating_sub(U256::from(now));
        let queue = &self.queue;
        let waiting = queue.waiting();
        if waiting == 0 || U256::from(queue.delay().as_secs()) < left {
            return Ok(());
        }
        Err(Cause::QueueTooLong { waiting })
    }

    fn input(&self, payment: &Payment) -> Result<Bytes, Obstacle> {
        match payment.check_signature() {
            Ok(SignatureStanding::Recovered) => {}
            Ok(_) => self.admits_wallet(true)?,
            Err(invalid) if !self.policy.contract_wallets => return Err(invalid.reason().into()),
            Err(_) => {}
        }
        calldata(payment).ok_or_else(|| Reason::InvalidExactEvmPayloadSignature.into())
    }

    fn admits_wallet(&self, has_code: bool) -> Result<(), Obstacle> {
        if !has_code || self.policy.contract_wallets {
            return Ok(());
        }
        Err(Reason::UnsupportedContractWallet.into())
    }

    /// Estimates the gas of the transfer. Refuses a transfer that needs more than the cap.
    async fn estimate(
        &self,
        payment: &Payment,
        input: &Bytes,
        fees: Fees,
    ) -> Result<u64, Obstacle> {
        let cap = self.policy.gas_cap;
        let request = TransactionRequest::default()
            .from(self.address())
            .to(payment.requirements().asset)
            .input(input.clone().into())
            .gas_limit(cap);
        // The called code sees the gas price of the transaction.
        let request = match fees {
            Fees::Dynamic { max, tip } => {
                request.max_fee_per_gas(max).max_priority_fee_per_gas(tip)
            }
            Fees::Legacy { price } => request.gas_price(price),
        };
        let fault = match self.chain.rpc().estimate_gas(request).await {
            Ok(gas) if gas <= cap => return Ok(gas),
            Ok(_) => return Err(too_much_gas(cap)),
            Err(fault) => fault,
        };
        match fault {
            fault if fault.is_out_of_gas() => Err(too_much_gas(cap)),
            RpcFault::Reverted(_) => Err(self.chain.why_refused(payment).await?.into()),
            fault => Err(fault.cause().into()),
        }
    }
}

fn too_much_gas(cap: u64) -> Obstacle {
    Obstacle::Refused {
        reason: Reason::InvalidExactEvmTransactionSimulationFailed,
        message: Some(format!(
            "the settlement needs more than the {cap} gas that the seller pays for"
        )),
    }
}

impl From<Reason> for Obstacle {
    fn from(reason: Reason) -> Self {
        Self::Refused {
            reason,
            message: None,
        }
    }
}

impl From<Cause> for Obstacle {
    fn from(cause: Cause) -> Self {
        Self::Unreadable(cause)
    }
}
