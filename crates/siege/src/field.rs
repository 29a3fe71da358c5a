//! The state that all participants of a siege share.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bench::exchange::HttpAnswer;
use http::HeaderValue;
use serde_json::Value;
use tokio::sync::watch;

use crate::SiegeError;
use crate::buyer::{ACTION_SECONDS, brief};
use crate::chance::Chance;
use crate::client::{CLIENT_ADDRESS, Client, Request};
use crate::payment::{Offer, Signed, Wallet};
use crate::record::{Phase, Record};

/// The servers, the phase of the siege, and the record of what was seen.
#[derive(Debug)]
pub struct Field {
    /// The addresses of the paid API's servers.
    pub apis: Vec<SocketAddr>,
    /// The address of the agent rail.
    pub rail: SocketAddr,
    /// The seed of all randomness.
    pub seed: u64,
    /// The record of what the participants have seen.
    pub record: Record,
    /// Wallets with money, for attackers.
    pub rich: Vec<Wallet>,
    /// Wallets with enough money for one cheap call, for attackers.
    pub poor: Vec<Wallet>,
    /// Keys with money whose accounts have delegated to code that refuses every signature.
    pub refusing: Vec<Wallet>,
    /// The payer whose wallet's file is exchanged for the one of an owner.
    pub robber: Wallet,
    phase: watch::Sender<Phase>,
    offers: Mutex<HashMap<String, Offer>>,
    heard: Mutex<Vec<Signed>>,
    /// Payments that their buyers have replaced.
    replaced: Mutex<Vec<Signed>>,
    /// When the effect of the last interruption ends.
    disturbed: Mutex<Option<Instant>>,
    turns: AtomicUsize,
}

/// How many payments of others the attackers remember.
const MEMORY: usize = 64;

impl Field {
    /// Makes the state before the siege.
    pub fn new(
        apis: Vec<SocketAddr>,
        rail: SocketAddr,
        seed: u64,
        rich: Vec<Wallet>,
        poor: Vec<Wallet>,
        refusing: Vec<Wallet>,
        robber: Wallet,
    ) -> Self {
        Self {
            apis,
            rail,
            seed,
            record: Record::default(),
            rich,
            poor,
            refusing,
            robber,
            phase: watch::Sender::new(Phase::Peace),
            offers: Mutex::default(),
            heard: Mutex::default(),
            replaced: Mutex::default(),
            disturbed: Mutex::default(),
            turns: AtomicUsize::new(0),
        }
    }

    /// Returns the current phase.
    pub fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Starts the next phase.
    pub fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// Returns a server of the paid API, another one each time. `None` when there is none.
    pub fn next_api(&self) -> Option<SocketAddr> {
        self.apis.get(self.turn()?).copied()
    }

    /// Makes a caller of all servers of the paid API. Each caller begins with another server.
    pub fn client(&self) -> Client {
        let (later, first) = self.apis.split_at(self.turn().unwrap_or_default());
        Client::of_all(first.iter().chain(later).copied())
    }

    fn turn(&self) -> Option<usize> {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        turn.checked_rem(self.apis.len())
    }

    /// Records that a server of the paid API is being killed, or listens again, perhaps with other
    /// terms. Calls that begin before the end of `effect` are not measured.
    pub fn interrupted(&self, effect: Duration) {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        offers.clear();
        drop(offers);
        let mut disturbed = self
            .disturbed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *disturbed = (*disturbed).max(Instant::now().checked_add(effect));
    }

    /// Whether no interruption had an effect on a call that began at `begin` and has just ended.
    pub fn is_undisturbed_since(&self, begin: Instant) -> bool {
        let disturbed = self.disturbed.lock();
        disturbed
            .unwrap_or_else(PoisonError::into_inner)
            .is_none_or(|end| end < begin)
    }

    /// Sleeps this long, or until the siege is over. Returns whether the siege goes on.
    pub async fn sleep(&self, time: Duration) -> bool {
        let mut phase = self.phase.subscribe();
        let over = phase.wait_for(|phase| *phase == Phase::Over);
        tokio::time::timeout(time, over).await.is_err()
    }

    /// Sleeps this long, or until the crowd must leave. Returns whether the crowd may stay.
    pub async fn linger(&self, time: Duration) -> bool {
        let mut phase = self.phase.subscribe();
        let gone = phase.wait_for(|phase| matches!(phase, Phase::Calm | Phase::Over));
        tokio::time::timeout(time, gone).await.is_err()
    }

    /// Waits until the siege begins.
    pub async fn siege(&self) {
        let mut phase = self.phase.subscribe();
        // The sender lives as long as the field, so this does not fail.
        let _ = phase.wait_for(|phase| *phase != Phase::Peace).await;
    }

    /// Returns the price of a request. Asks the server once for each route. `None` when the server
    /// does not state a price.
    pub async fn offer(&self, client: &mut Client, target: &str) -> Option<Offer> {
        self.offer_of(client, &Request::get(target)).await
    }

    /// Like [`Self::offer`], for any request without a payment.
    async fn offer_of(&self, client: &mut Client, unpaid: &Request) -> Option<Offer> {
        let target = unpaid.target.as_str();
        let route = target.split('?').next().unwrap_or_default().to_owned();
        let known = {
            let offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
            offers.get(&route).cloned()
        };
        let offer = match known {
            Some(offer) => offer,
            None => {
                let answer = client.send(unpaid).await.ok()?;
                let offer = Offer::of(&answer)?;
                let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
                offers.insert(route, offer.clone());
                offer
            }
        };
        Some(offer.at(target))
    }

    /// Records a payment that attackers have seen on the wire.
    pub fn overheard(&self, payment: &Signed) {
        remember(&self.heard, payment);
    }

    /// Draws a payment of another participant.
    pub fn somebodys(&self, chance: &mut Chance) -> Option<Signed> {
        pick(&self.heard, chance)
    }

    /// Records a payment that its buyer replaces with a new one.
    pub fn replaced(&self, payment: &Signed) {
        remember(&self.replaced, payment);
    }

    /// Draws a payment that its buyer has replaced.
    pub fn somebodys_replaced(&self, chance: &mut Chance) -> Option<Signed> {
        pick(&self.replaced, chance)
    }
}

fn remember(payments: &Mutex<Vec<Signed>>, payment: &Signed) {
    let mut payments = payments.lock().unwrap_or_else(PoisonError::into_inner);
    if payments.len() >= MEMORY {
        payments.remove(0);
    }
    payments.push(payment.clone());
}

fn pick(payments: &Mutex<Vec<Signed>>, chance: &mut Chance) -> Option<Signed> {
    let payments = payments.lock().unwrap_or_else(PoisonError::into_inner);
    chance.pick(&payments).cloned()
}

/// One attacker of the crowd.
#[derive(Debug)]
pub struct Attacker {
    /// The name of its attack in the report.
    pub name: &'static str,
    /// The state that all participants share.
    pub field: Arc<Field>,
    /// Its random draws.
    pub chance: Chance,
    /// Its connection.
    pub client: Client,
    /// How long its payments are valid, in seconds.
    pub valid_seconds: u64,
    address: HeaderValue,
}

impl Attacker {
    /// Makes an attacker with an address of its own.
    pub fn new(field: &Arc<Field>, name: &'static str, number: u64) -> Self {
        let mut chance = Chance::of(field.seed, &format!("{name} {number}"));
        let address = format!("10.66.{}.{}", chance.below(256), chance.below(256));
        Self {
            name,
            field: field.clone(),
            client: field.client(),
            valid_seconds: crate::buyer::VALID_SECONDS,
            chance,
            address: HeaderValue::try_from(address).unwrap_or(HeaderValue::from_static("")),
        }
    }

    /// Adds the attacker's address to a request.
    pub fn addressed(&self, request: Request) -> Request {
        request.with(CLIENT_ADDRESS, self.address.clone())
    }

    /// Sends a request to the next server, and records the answer.
    pub async fn throw(&mut self, request: &Request) {
        let request = self.addressed(request.clone());
        self.client.go_on();
        let outcome = match self.client.send(&request).await {
            Ok(answer) => answer.status.as_u16().to_string(),
            Err(_) => "no answer".to_owned(),
        };
        self.field.record.crowd(self.name, outcome);
    }

    /// Sends a payment with a request to the next server, and records the answer.
    pub async fn pay(&mut self, payment: &Signed, target: &str) {
        self.present(payment, target, status).await;
    }

    /// Sends a payment with a request to the next server, and records the answer in these words.
    async fn present(&mut self, payment: &Signed, target: &str, words: fn(&HttpAnswer) -> String) {
        let request = match target == payment.target {
            true => payment.request(),
            false => payment.request_of(target),
        };
        let request = self.addressed(request);
        self.client.go_on();
        self.field.record.sent(payment.key);
        let outcome = match self.client.send(&request).await {
            Ok(answer) => {
                let record = &self.field.record;
                record.answered(self.name, payment.key, target, &answer);
                words(&answer)
            }
            Err(_) => "no answer".to_owned(),
        };
        self.field.record.crowd(self.name, outcome);
    }

    /// Signs a payment of a wallet for a target. `None` when the server states no price.
    ///
    /// # Errors
    /// When the payment cannot be signed.
    pub async fn signed(
        &mut self,
        wallet: &Wallet,
        target: &str,
    ) -> Result<Option<Signed>, SiegeError> {
        let Some(offer) = self.field.offer(&mut self.client, target).await else {
            return Ok(None);
        };
        let payment = wallet.sign(&offer, target, self.valid_seconds, &mut self.chance)?;
        Ok(Some(payment))
    }

    /// Pays from a wallet for an action, and records the answer. Does nothing when the server
    /// states no price.
    ///
    /// # Errors
    /// When the payment cannot be signed.
    pub async fn order(
        &mut self,
        wallet: &Wallet,
        target: &str,
        body: &Value,
    ) -> Result<(), SiegeError> {
        let unpaid = self.addressed(Request::post(target, body.to_string()));
        let Some(offer) = self.field.offer_of(&mut self.client, &unpaid).await else {
            return Ok(());
        };
        let payment = wallet.sign(&offer, target, ACTION_SECONDS, &mut self.chance)?;
        let payment = payment.of_action(unpaid.body);
        self.present(&payment, target, brief).await;
        Ok(())
    }
}

fn status(answer: &HttpAnswer) -> String {
    answer.status.as_u16().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(servers: u16) -> Field {
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let apis = (1..=servers).map(address).collect();
        let robber = Wallet::draw(&mut Chance::of(1, "robber")).unwrap();
        let [rich, poor, refusing] = [(); 3].map(|()| Vec::new());
        Field::new(apis, address(9), 1, rich, poor, refusing, robber)
    }

    #[test]
    fn callers_are_spread_over_the_servers() {
        let of_two = field(2);
        let ports: Vec<_> = (0..4).map(|_| of_two.next_api().unwrap().port()).collect();
        assert_eq!(ports, [1, 2, 1, 2]);
        assert_eq!(field(0).next_api(), None);
    }

    #[test]
    fn a_call_is_undisturbed_when_it_begins_after_the_effect() {
        let field = field(1);
        let before = Instant::now();
        assert!(field.is_undisturbed_since(before));
        field.interrupted(Duration::from_secs(3));
        // A later interruption with a shorter effect does not end the effect of the first one.
        field.interrupted(Duration::ZERO);
        let after = |seconds| before.checked_add(Duration::from_secs(seconds)).unwrap();
        assert!(!field.is_undisturbed_since(before) && !field.is_undisturbed_since(after(2)));
        assert!(field.is_undisturbed_since(after(60)));
    }
}
