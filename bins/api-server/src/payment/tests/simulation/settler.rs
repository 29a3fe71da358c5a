//! The settler: every answer that the port allows, at every time, with or without a transfer.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;

use alloy_primitives::{Address, U256, hex};
use settlement::{
    Cause, DECISION_MARGIN_SECONDS, Readiness, Receipt, Reconciliation, RemoteCall, Settlement,
    Settler, Verification,
};
use x402_wire::{Authorization, AuthorizationKey, Payment, Reason, Scheme, SignatureStanding};

use super::chain::{By, EXPIRY_MARGIN_SECONDS, name};
use super::payers::{is_wallet, session_signature, wallet_signature};
use super::world::{Life, World};

pub(super) struct SimulatedSettler {
    pub(super) world: Arc<World>,
    pub(super) life: Life,
}

/// The fate of the money when the settler does not report it.
#[derive(Debug, Clone, Copy)]
enum Money {
    Moves,
    MovesLater,
    Stays,
}

fn open(call: RemoteCall) -> Cause {
    Cause::Pending {
        call,
        state: "simulated".to_owned(),
    }
}

fn used() -> Reason {
    Reason::InvalidExactEvmNonceAlreadyUsed
}

fn over() -> Reason {
    Reason::InvalidExactEvmPayloadAuthorizationValidBefore
}

/// Whether a batch of the broker pays. Then no other party can execute the authorization, its payer
/// cannot cancel it, and the chain does not show it.
fn is_deferred(payment: &Payment) -> bool {
    payment.scheme() == Scheme::AggrDeferred
}

fn ends(payment: &Payment) -> u64 {
    u64::try_from(payment.authorization().valid_before).unwrap()
}

impl SimulatedSettler {
    async fn step(&self) {
        self.life.step(&self.world).await;
    }

    /// Whether the chain decides the outcome of a payment.
    fn reads_chain_for(&self, payment: &Payment) -> bool {
        self.world.reads_chain && !is_deferred(payment)
    }

    fn goes_wrong(&self) -> bool {
        self.world.goes_wrong(self.world.rates.settler)
    }

    /// Moves the money as drawn. Returns the transaction, if there will be one.
    fn move_money(&self, payment: &Payment, money: Money) -> Option<String> {
        let (world, now) = (&self.world, self.world.now());
        match money {
            Money::Moves => world.chain.execute(payment, now),
            Money::MovesLater => {
                let at = now + world.chance.between(1, 250);
                Some(world.chain.execute_later(payment, By::Settler, at))
            }
            Money::Stays => None,
        }
    }

    /// Settles with a fault.
    async fn settle_oddly(&self, payment: &Payment) -> Settlement {
        let world = &self.world;
        let nonce = payment.authorization().nonce;
        let money = world
            .chance
            .pick(&[Money::Moves, Money::MovesLater, Money::Stays]);
        let kind = world.chance.pick(&[
            "late",
            "not sent",
            "failed",
            "refused",
            "never answered",
            "a panic",
            "unknown",
            "unknown",
        ]);
        world.note(|| format!("settler: odd settlement, {kind}, the money {money:?}"));
        if kind != "not sent" {
            self.publish(payment);
        }
        match kind {
            // The transfer sometimes comes later than any caller waits.
            "late" => match world.chain.execute(payment, world.now()) {
                Some(transaction) => {
                    world.sleep(world.chance.between(20, 90)).await;
                    Settlement::Settled(Receipt::of(payment, transaction))
                }
                None => self.unknown(None),
            },
            "not sent" => Settlement::NotSent {
                cause: Cause::Unreachable {
                    call: RemoteCall::Settle,
                },
            },
            "failed" if self.reads_chain_for(payment) => Settlement::Failed {
                transaction: world.chain.fail(payment, world.now()),
                reason: Reason::TransactionFailed,
            },
            // A facilitator refuses a payment that it has executed or will execute later. A
            // broker's refusal of a deferred one is final.
            "refused" => {
                if !is_deferred(payment) {
                    self.move_money(payment, money);
                }
                let reason = Reason::InvalidExactEvmTransactionSimulationFailed;
                let message = None;
                // Without a chain, nothing contradicts the facilitator.
                if !self.reads_chain_for(payment) {
                    return Settlement::Rejected { reason, message };
                }
                match world.chain.transfer(nonce, world.now()) {
                    Some(_) => self.unknown(None),
                    None => Settlement::StillOpen { reason, message },
                }
            }
            "never answered" => {
                self.move_money(payment, money);
                pending().await
            }
            "a panic" => {
                self.move_money(payment, money);
                resume_unwind(Box::new("the settler panics"))
            }
            _ => {
                let transaction = self.move_money(payment, money);
                self.unknown(transaction.filter(|_| world.chance.one_in(2)))
            }
        }
    }

    /// Shows the authorization to others. Only the broker can use a deferred one.
    fn publish(&self, payment: &Payment) {
        if is_deferred(payment) {
            return;
        }
        let world = &self.world;
        let (now, strangers) = (world.now(), world.rates.strangers);
        if world.chain.publish(payment, now, &world.chance, strangers) {
            let nonce = payment.authorization().nonce;
            world.note(|| format!("stranger: will execute {}", name(nonce)));
        }
    }

    /// Sometimes cancels an authorization as its payer, at any time from now on.
    fn perhaps_cancel(&self, payment: &Payment) {
        let world = &self.world;
        if !is_deferred(payment) && world.goes_wrong(world.rates.cancellations) {
            let at = world.now() + world.chance.below(200);
            world.chain.cancel_later(payment, at);
            let nonce = payment.authorization().nonce;
            world.note(|| format!("payer: cancels {}", name(nonce)));
        }
    }

    fn note(&self, what: &str) {
        self.world.note(|| format!("settler: {what}"));
    }

    /// Refuses before anything was sent, or as a facilitator that holds the authorization.
    fn refused_by_token(&self, payment: &Payment) -> Settlement {
        let (reason, message) = (Reason::InsufficientFunds, None);
        match self.reads_chain_for(payment) && self.world.chance.one_in(2) {
            true => Settlement::StillOpen { reason, message },
            false => Settlement::Rejected { reason, message },
        }
    }

    fn unknown(&self, transaction: Option<String>) -> Settlement {
        Settlement::Unknown {
            transaction,
            cause: open(RemoteCall::Settle),
        }
    }

    fn undecided(&self, transaction: Option<&str>) -> Reconciliation {
        Reconciliation::Undecided {
            transaction: transaction.map(str::to_owned),
            cause: open(RemoteCall::SettleStatus),
        }
    }

    /// Decides by the chain, and tries the identical authorization again when that is safe.
    fn reconcile_by_chain(&self, payment: &Payment, known: Option<&str>) -> Reconciliation {
        let (world, now) = (&self.world, self.world.now());
        let nonce = payment.authorization().nonce;
        if let Some(transfer) = world.chain.transfer(nonce, now) {
            return Reconciliation::Settled(Receipt::of(payment, transfer.transaction));
        }
        let is_cancelled = world.chain.is_cancelled(nonce, now);
        if let Some(known) = known
            && world.chain.failures(nonce).iter().any(|own| own == known)
        {
            return Reconciliation::Failed {
                transaction: known.to_owned(),
                reason: Reason::TransactionFailed,
            };
        }
        if is_cancelled {
            let reason = Reason::Cancelled;
            return Reconciliation::NotSettled { reason };
        }
        if now > ends(payment) + EXPIRY_MARGIN_SECONDS {
            return Reconciliation::NotSettled { reason: over() };
        }
        if now >= ends(payment) || world.chain.waits(nonce, now) || world.chance.one_in(3) {
            return self.undecided(known);
        }
        match world.chain.execute(payment, now) {
            Some(transaction) if self.goes_wrong() => self.undecided(Some(&transaction)),
            Some(transaction) => Reconciliation::Settled(Receipt::of(payment, transaction)),
            None => self.undecided(known),
        }
    }

    /// Decides by the facilitator's own memory. It gives up some time after the end of the window.
    fn reconcile_by_memory(&self, payment: &Payment, known: Option<&str>) -> Reconciliation {
        let (world, now) = (&self.world, self.world.now());
        let transfer = world.chain.transfer(payment.authorization().nonce, now);
        match transfer.filter(|transfer| transfer.by == By::Settler) {
            Some(transfer) => Reconciliation::Settled(Receipt::of(payment, transfer.transaction)),
            None if now >= ends(payment) + DECISION_MARGIN_SECONDS => Reconciliation::Undecidable {
                transaction: known.map(str::to_owned),
                cause: open(RemoteCall::SettleStatus),
            },
            None => self.undecided(known),
        }
    }
}

impl Settler for SimulatedSettler {
    async fn supports(&self, _scheme: Scheme) -> Verification {
        self.step().await;
        if self.goes_wrong() {
            self.note("cannot say what it supports");
            let cause = open(RemoteCall::Supported);
            return Verification::Unavailable { cause };
        }
        Verification::Valid
    }

    fn reads_chain(&self) -> bool {
        self.world.reads_chain
    }

    async fn accepts_wallet(&self, payer: Address) -> Result<bool, Cause> {
        self.step().await;
        if self.goes_wrong() {
            self.note("cannot read a payer's code");
            return Err(open(RemoteCall::Rpc("eth_getCode")));
        }
        Ok(self.world.reads_chain && is_wallet(payer))
    }

    async fn verify(&self, payment: &Payment, committed: U256, now: u64) -> Verification {
        self.step().await;
        self.perhaps_cancel(payment);
        let world = &self.world;
        if self.goes_wrong() {
            if world.chance.one_in(2) {
                self.note("cannot verify");
                let cause = open(RemoteCall::Verify);
                return Verification::Unavailable { cause };
            }
            // The verdict when a payment cannot be executed for a moment.
            self.note("calls a payment invalid for a moment");
            return Verification::Invalid {
                reason: Reason::InvalidExactEvmTransactionSimulationFailed,
                message: None,
            };
        }
        let (payer, nonce) = (payment.payer(), payment.authorization().nonce);
        let asset = payment.requirements().asset;
        let needed = committed.saturating_add(payment.requirements().amount);
        let signed = match payment.check_signature() {
            Ok(SignatureStanding::Recovered) => true,
            Ok(SignatureStanding::Session) => {
                let session = hex::encode_prefixed(session_signature(nonce));
                payment.payload().signature().as_str() == session
            }
            _ => is_wallet(payer) && payment.wallet_signature() == Some(wallet_signature(nonce)),
        };
        let is_used = world.chain.transfer(nonce, now).is_some()
            || self.reads_chain_for(payment) && world.chain.is_cancelled(nonce, now);
        let invalid = if is_used {
            Some(used())
        } else if !signed {
            Some(Reason::InvalidExactEvmPayloadSignature)
        } else if world.chain.balance(payer, asset, now) < needed {
            Some(Reason::InsufficientFunds)
        } else {
            None
        };
        self.step().await;
        match invalid {
            None => Verification::Valid,
            Some(reason) => Verification::Invalid {
                reason,
                message: None,
            },
        }
    }

    async fn settle(&self, payment: &Payment) -> Settlement {
        self.step().await;
        let (world, now) = (&self.world, self.world.now());
        let nonce = payment.authorization().nonce;
        if world.chain.transfer(nonce, now).is_some() {
            return Settlement::Unknown {
                transaction: None,
                cause: Cause::UsedElsewhere,
            };
        }
        if now >= ends(payment) {
            return Settlement::Rejected {
                reason: over(),
                message: None,
            };
        }
        if self.reads_chain_for(payment) && world.chain.is_cancelled(nonce, now) {
            let reason = Reason::Cancelled;
            let message = None;
            return Settlement::Rejected { reason, message };
        }
        world.note(|| format!("settler: settles {}", name(nonce)));
        let outcome = match self.goes_wrong() {
            true => self.settle_oddly(payment).await,
            false => match world.chain.execute(payment, now) {
                Some(transaction) => Settlement::Settled(Receipt::of(payment, transaction)),
                None => self.refused_by_token(payment),
            },
        };
        world.note(|| format!("settler: {} is {}", name(nonce), outcome.outcome()));
        self.step().await;
        outcome
    }

    async fn reconcile(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
        _now: u64,
    ) -> Reconciliation {
        self.step().await;
        if self.goes_wrong() {
            let kinds = ["never answered", "a panic", "undecided"];
            let kind = self.world.chance.pick(&kinds);
            self.world
                .note(|| format!("settler: odd reconciliation, {kind}"));
            match kind {
                "never answered" => pending().await,
                "a panic" => resume_unwind(Box::new("the settler panics")),
                _ => return self.undecided(transaction),
            }
        }
        let outcome = match self.reads_chain_for(payment) {
            true => self.reconcile_by_chain(payment, transaction),
            false => self.reconcile_by_memory(payment, transaction),
        };
        let nonce = payment.authorization().nonce;
        let note = || format!("settler: reconciled {}: {}", name(nonce), outcome.outcome());
        self.world.note(note);
        self.step().await;
        outcome
    }

    async fn is_void(&self, key: &AuthorizationKey, valid_before: U256) -> Result<bool, Cause> {
        self.step().await;
        if self.goes_wrong() {
            self.note("cannot tell whether a payment is void");
            return Err(open(RemoteCall::Rpc("eth_call")));
        }
        let now = self.world.now();
        let over = U256::from(now) > valid_before.saturating_add(U256::from(EXPIRY_MARGIN_SECONDS));
        let used = self.world.chain.transfer(key.nonce, now).is_some()
            || self.world.chain.is_cancelled(key.nonce, now);
        Ok(self.world.reads_chain && over && !used)
    }

    async fn is_spent(
        &self,
        key: &AuthorizationKey,
        _authorization: &Authorization,
    ) -> Result<bool, Cause> {
        self.step().await;
        if self.goes_wrong() {
            self.note("cannot tell whether a payment is spent");
            return Err(open(RemoteCall::Rpc("eth_getLogs")));
        }
        let (chain, now) = (&self.world.chain, self.world.now());
        Ok(self.world.reads_chain && chain.is_cancelled(key.nonce, now))
    }

    async fn readiness(&self) -> Readiness {
        pending().await
    }
}
