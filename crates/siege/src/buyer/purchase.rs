//! One purchase of an honest buyer, from the price to the answer.

use std::time::{Duration, Instant};

use bench::exchange::HttpAnswer;
use bytes::Bytes;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{
    ACTION_SECONDS, Buyer, DELEGATED_KIND, NextStep, SOON, VALID_SECONDS, brief, intent, state,
};
use crate::SiegeError;
use crate::chance::Chance;
use crate::client::{Client, Request};
use crate::field::Field;
use crate::payment::{Offer, Signed};
use crate::record::End;

/// A purchase in progress.
pub(super) struct Buying<'a> {
    pub(super) buyer: &'a Buyer,
    pub(super) field: &'a Field,
    pub(super) client: &'a mut Client,
    pub(super) chance: &'a mut Chance,
    pub(super) target: String,
    /// The body of an action. Empty for a GET.
    pub(super) body: Bytes,
    pub(super) number: usize,
    /// The last answer to the payment.
    pub(super) last: Option<HttpAnswer>,
}

/// How often an action is sent again although the server says that its payment has begun it and
/// can no longer pay for it.
const TRIES: u32 = 3;
/// How long the payment of an action may be sent.
const WINDOW: Duration = Duration::from_secs(ACTION_SECONDS);

impl Buying<'_> {
    /// Pays until there is an answer, no step helps, or the siege is over.
    pub(super) async fn run(&mut self) -> Result<(), SiegeError> {
        let Some(mut offer) = self.offer().await else {
            return Ok(());
        };
        let mut payment = self.sign(&offer)?;
        let (phase, since) = (self.field.phase(), Instant::now());
        for _ in 0..self.buyer.hang_ups {
            self.hang_up(&payment).await;
        }
        let (mut begun, mut signed) = (0_u32, Instant::now());
        loop {
            let told = self.present(&payment).await;
            begun = begun.saturating_add(u32::from(self.intent().is_some()));
            match told {
                NextStep::Answered => {
                    self.stands(End::Answered(payment.key));
                    if self.buyer.steady
                        && phase == self.field.phase()
                        && self.field.is_undisturbed_since(since)
                    {
                        self.field.record.timed(phase, since.elapsed());
                    }
                    return Ok(());
                }
                // The terms may have changed.
                NextStep::SignNew => {
                    match self.offer().await {
                        Some(now) => offer = now,
                        None => return Ok(()),
                    }
                    self.field.replaced(&payment);
                    payment = self.sign(&offer)?;
                    signed = Instant::now();
                }
                NextStep::Again(after) => {
                    if !self.field.sleep(after).await {
                        return Ok(());
                    }
                }
                // Its payment has begun the action and can no longer pay for it. A new one would
                // begin it again.
                NextStep::LookUp(_)
                    if self.is_action() && (begun > TRIES || signed.elapsed() > WINDOW) =>
                {
                    self.stands(End::Declined("begun, and unpaid".to_owned()));
                    return Ok(());
                }
                NextStep::LookUp(after) => {
                    if after > SOON || self.is_action() {
                        self.stands(End::Waiting);
                    }
                    if !self.field.sleep(after).await {
                        return self.look_once(&payment).await;
                    }
                    if !self.look_up(&payment).await {
                        return Ok(());
                    }
                }
                NextStep::Refused(why) => {
                    self.stands(match self.is_action() {
                        true => End::Declined(why),
                        false => End::Refused(why),
                    });
                    return Ok(());
                }
            }
        }
    }

    /// Asks for the price of the call until the server states it. `None` when the siege ends before
    /// that.
    async fn offer(&mut self) -> Option<Offer> {
        loop {
            let unpaid = Request::with_body(&self.target, self.body.clone());
            let answer = self.client.send(&self.buyer.addressed(unpaid)).await;
            let seen = match &answer {
                Ok(answer) => brief(answer),
                Err(error) => error.to_string(),
            };
            if let Some(offer) = answer.ok().as_ref().and_then(Offer::of) {
                return Some(offer);
            }
            self.stands(End::Open(format!("no offer: {seen}")));
            self.client.go_on();
            if !self.field.sleep(SOON).await {
                return None;
            }
        }
    }

    fn sign(&mut self, offer: &Offer) -> Result<Signed, SiegeError> {
        let wallet = &self.buyer.wallet;
        let seconds = match self.is_action() {
            true => ACTION_SECONDS,
            false => VALID_SECONDS,
        };
        let mut payment = wallet.sign(offer, &self.target, seconds, self.chance)?;
        if self.is_action() {
            payment = payment.of_action(self.body.clone());
        }
        self.field.record.signed(self.number, payment.key);
        Ok(payment)
    }

    /// Sends the payment to the next server, or to all servers at once. Returns the next step.
    async fn present(&mut self, payment: &Signed) -> NextStep {
        // Attackers do not hear the payments of delegated buyers. The code of these accounts
        // accepts every signature, so anybody who has seen an authorization could pay with it under
        // any signature.
        if !self.buyer.steady && !self.buyer.name.starts_with(DELEGATED_KIND) {
            self.field.overheard(payment);
        }
        let request = self.buyer.addressed(payment.request());
        self.client.go_on();
        let mut answers = Vec::new();
        match self.buyer.at_all {
            true => {
                let mut calls = JoinSet::new();
                for server in self.field.apis.iter().copied() {
                    let request = request.clone();
                    calls.spawn(async move { Client::new(server).send(&request).await });
                }
                while let Some(Ok(answer)) = calls.join_next().await {
                    answers.push(answer);
                }
            }
            false => answers.push(self.client.send(&request).await),
        }
        let mut steps = Vec::new();
        for answer in answers {
            let (seen, step) = match answer {
                Ok(answer) => {
                    let record = &self.field.record;
                    record.answered("buyer", payment.key, &self.target, &answer);
                    let step = NextStep::by(&answer);
                    let seen = format!("{}, told {step:?}", brief(&answer));
                    self.last = Some(answer);
                    (seen, step)
                }
                // Repeating the same payment never charges twice, whatever has happened.
                Err(error) => (error.to_string(), NextStep::Again(SOON)),
            };
            self.stands(End::Open(seen));
            steps.push(step);
        }
        NextStep::of_all(steps).unwrap_or(NextStep::Again(SOON))
    }

    /// Sends the payment, and closes the connection at a moment that the seed determines.
    async fn hang_up(&mut self, payment: &Signed) {
        let request = self.buyer.addressed(payment.request());
        let Some(server) = self.field.next_api() else {
            return;
        };
        let bytes = request.to_bytes(server);
        let pause = match self.chance.percent(50) {
            true => self.chance.millis(0, 8),
            false => self.chance.millis(0, 400),
        };
        let cut = self.chance.percent(15);
        if let Ok(mut stream) = TcpStream::connect(server).await {
            let most = if cut { bytes.len() / 2 } else { bytes.len() };
            // The server may have closed first. Only the closing matters.
            let _ = stream
                .write_all(bytes.get(..most).unwrap_or_default())
                .await;
            tokio::time::sleep(pause).await;
        }
    }

    /// Asks for the state of the payment until it can be sent again. `false` when the siege ends
    /// before that.
    async fn look_up(&mut self, payment: &Signed) -> bool {
        loop {
            let request = self.buyer.addressed(Request::get(payment.key.look_up()));
            let answer = self.client.send(&request).await;
            let state = answer.ok().and_then(|answer| state(&answer));
            let open = matches!(
                state.as_deref(),
                None | Some("in_flight" | "unknown" | "undecidable")
            );
            if !open {
                return true;
            }
            let state = state.unwrap_or_else(|| "no answer".to_owned());
            self.stands(End::Open(format!("looked up: {state}")));
            self.client.go_on();
            if !self.field.sleep(Duration::from_secs(1)).await {
                return false;
            }
        }
    }

    /// Asks once for the state of the payment when the siege ends while this buyer waits. If it was
    /// settled meanwhile, fetches the answer.
    async fn look_once(&mut self, payment: &Signed) -> Result<(), SiegeError> {
        let request = self.buyer.addressed(Request::get(payment.key.look_up()));
        let answer = self.client.send(&request).await.ok();
        if answer.as_ref().and_then(state).as_deref() == Some("settled")
            && self.present(payment).await == NextStep::Answered
        {
            self.stands(End::Answered(payment.key));
        }
        Ok(())
    }

    fn is_action(&self) -> bool {
        !self.body.is_empty()
    }

    /// The intent that a refusal names: the action of this payment, which has begun.
    fn intent(&self) -> Option<String> {
        intent(self.last.as_ref()?).filter(|_| self.is_action())
    }

    fn stands(&self, end: End) {
        self.field.record.stands(self.number, end);
    }
}
