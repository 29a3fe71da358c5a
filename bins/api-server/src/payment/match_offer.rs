//! Stage: does the payment pay for this request? This process decides that alone, and asks nobody.

use alloy_primitives::U256;
use ledger::Journal;
use route_catalog::{Next, Operation, WorkClass};
use settlement::Settler;
use wallet_actions::Charge;
use x402_wire::{
    Invalid, MAX_WINDOW_SECONDS, Mismatch, Payment, PaymentPayload, Reason, SignatureStanding,
};

use super::call::Presented;
use super::kept_call::KeptCall;
use super::{Declined, PaidCall, PaymentProcessor, Refusal, Worker};
use crate::call::{Call, CallPayment};
use crate::resource;

/// A payment that matches one of today's options, and the valid call that it pays for.
pub(super) struct Matched {
    pub(super) payment: Payment,
    pub(super) work: Call,
    pub(super) proof: Proof,
}

/// The standing of a payment's signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Proof {
    /// The signature is from the payer's own key.
    Recovered,
    /// The signature has a form that only contract wallets write.
    WalletForm,
    /// The signature is not from the payer's own key. The payer's contract may accept it; if not,
    /// this is the error.
    PerhapsWallet(Invalid),
    /// Only the broker can judge the signature (`aggr_deferred`).
    Session,
}

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Matches a payment to an option of the operation's offer. Checks its terms, its window, its
    /// signature, the request that it was made for, and the request's parameters. Sends no request.
    pub(super) fn match_offer(
        &self,
        call: &PaidCall,
        payload: PaymentPayload,
    ) -> Result<Matched, Refusal> {
        let operation = call.request.operation;
        let elsewhere = self.for_another_request(call, &payload);
        let offer = self.catalog().offer(operation);
        let payment = Payment::matching(offer, payload);
        let payment = payment.map_err(|mismatch| self.mismatched(call, mismatch))?;
        let payment = payment.with_bazaar(self.catalog().bazaar(operation));
        payment.check_terms().map_err(Declined::from)?;
        let now = self.now();
        payment
            .check_window(now, self.seconds_needed(operation))
            .map_err(|invalid| self.out_of_window(call, invalid, now))?;
        let proof = self.prove(&payment).map_err(Declined::from)?;
        if let Some(declined) = elsewhere {
            return Err(self.declined_for_now(call, declined).into());
        }
        let work = self.parse(call, &payment, &proof)?;
        if work.is_private() && !self.can_prove(&proof) {
            return Err(Declined::not_proven(payment.scheme()).into());
        }
        Ok(Matched {
            payment,
            work,
            proof,
        })
    }

    /// Declines a payment that matches no option. The operator may change some parts of an offer,
    /// so a payment for other terms may match later.
    fn mismatched(&self, call: &PaidCall, mismatch: Mismatch) -> Declined {
        let is_final = matches!(
            mismatch,
            Mismatch::Scheme { .. }
                | Mismatch::Network { .. }
                | Mismatch::PaymentFlow { .. }
                | Mismatch::TransferMethod { .. }
        );
        let declined = Declined::from(mismatch);
        match is_final {
            true => declined,
            false => self.declined_for_now(call, declined),
        }
    }

    /// Declines a payment that is not valid at this time, but may be later.
    fn out_of_window(&self, call: &PaidCall, invalid: Invalid, now: u64) -> Declined {
        let begins = match &invalid {
            Invalid::NotYetValid { valid_after, .. } => *valid_after,
            Invalid::EndsTooLate { valid_before, .. } => {
                valid_before.saturating_sub(U256::from(MAX_WINDOW_SECONDS))
            }
            _ => return self.declined_for_now(call, invalid.into()),
        };
        let begins = u64::try_from(begins).unwrap_or(u64::MAX);
        let after_seconds = begins.saturating_sub(now);
        let needed = self.seconds_needed(call.request.operation);
        let ends_at = call.presented.map_or(0, |presented| presented.ends_at());
        let is_ever_taken = begins.saturating_add(needed) <= ends_at;
        let declined = Declined::from(invalid);
        match is_ever_taken && after_seconds <= MAX_WINDOW_SECONDS {
            true => declined.advising(Next::SendSameAgain { after_seconds }),
            // A time beyond a day is a mistake. Nobody should wait for it.
            false => declined,
        }
    }

    /// The seconds for which a payment must still be valid at the beginning of its call.
    pub(super) fn seconds_needed(&self, operation: Operation) -> u64 {
        let settlement = self.shared.policy.settle_budget_seconds;
        operation.route().work_seconds.saturating_add(settlement)
    }

    /// Refuses a forged signature of a payer without code, at the cost of one recovery.
    fn prove(&self, payment: &Payment) -> Result<Proof, Invalid> {
        match payment.check_signature() {
            Ok(SignatureStanding::Recovered) => Ok(Proof::Recovered),
            Ok(SignatureStanding::Contract(_)) => Ok(Proof::WalletForm),
            Ok(SignatureStanding::Session) => Ok(Proof::Session),
            // Without a chain it cannot be known whether the payer has code.
            Err(invalid)
                if self.settler().reads_chain() && payment.wallet_signature().is_some() =>
            {
                Ok(Proof::PerhapsWallet(invalid))
            }
            Err(invalid) => Err(invalid),
        }
    }

    /// Whether this process can prove that the payer signed, perhaps by asking the chain later.
    /// Nobody else's word is enough for what concerns the payer's own wallet.
    fn can_prove(&self, proof: &Proof) -> bool {
        match proof {
            Proof::Recovered => true,
            Proof::WalletForm | Proof::PerhapsWallet(_) => self.settler().reads_chain(),
            Proof::Session => false,
        }
    }

    /// The refusal of a payment that names another request. That request may still take it.
    fn for_another_request(&self, call: &PaidCall, payload: &PaymentPayload) -> Option<Declined> {
        let paid_for = payload.resource()?;
        let query = call.request.query.as_deref();
        let requested = self.catalog().resource_url(call.request.operation, query);
        if resource::is_same(&paid_for.url, &requested) {
            return None;
        }
        Some(Declined::new(
            Reason::ResourceMismatch,
            format!("resource.url: the payment names another request than {requested}"),
        ))
    }

    fn parse(&self, call: &PaidCall, payment: &Payment, proof: &Proof) -> Result<Call, Refusal> {
        let request = &call.request;
        let max_age = request.max_age.clone();
        let max_age = max_age.map_err(|problem| Refusal::Parameters(vec![problem]))?;
        let route = request.operation.route();
        let parameters = route
            .parse(request.query.as_deref(), &request.body)
            .map_err(Refusal::Parameters)?;
        let ends_at = Presented::of(payment).ends_at();
        let terms = payment.requirements();
        let settlement = self.shared.policy.settle_budget_seconds;
        Ok(Call {
            operation: request.operation,
            parameters,
            payer: payment.payer(),
            payment: CallPayment {
                digest: payment.key().digest(),
                by_key: *proof == Proof::Recovered,
                charge: Charge {
                    chain_id: terms.network.chain_id(),
                    token: terms.asset,
                    amount: terms.amount,
                },
                work_until: ends_at.saturating_sub(settlement),
            },
            claim: None,
            is_beside_undecidable: false,
            kept: (route.work == WorkClass::Transaction)
                .then(|| KeptCall::text(request, payment.payload()).into()),
            sub_wallet: None,
            request_id: request.id,
            max_age,
        })
    }
}
