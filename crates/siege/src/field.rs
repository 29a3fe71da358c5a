//! The state that all participants share.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::watch;

use crate::SiegeError;
use crate::chance::Chance;
use crate::client::{CLIENT_ADDRESS, Client, Request};
use crate::payment::{Offer, Signed, Wallet};
use crate::record::{Phase, Record};

/// The servers, the phase, and the record.
#[derive(Debug)]
pub struct Field {
    /// The address of the paid API.
    pub api: SocketAddr,
    /// The address of the agent rail.
    pub rail: SocketAddr,
    /// The seed of all randomness.
    pub seed: u64,
    /// The record.
    pub record: Record,
    /// Wallets with money whose owners misbehave.
    pub rich: Vec<Wallet>,
    /// Wallets with enough money for one cheap call.
    pub poor: Vec<Wallet>,
    /// Keys with money whose accounts have delegated to code that refuses every signature.
    pub refusing: Vec<Wallet>,
    phase: watch::Sender<Phase>,
    offers: Mutex<HashMap<String, Offer>>,
    heard: Mutex<Vec<Signed>>,
    interruptions: AtomicU32,
}

/// How many payments of others an attacker remembers.
const MEMORY: usize = 64;

impl Field {
    /// A field before the siege.
    pub fn new(
        api: SocketAddr,
        rail: SocketAddr,
        seed: u64,
        rich: Vec<Wallet>,
        poor: Vec<Wallet>,
        refusing: Vec<Wallet>,
    ) -> Self {
        Self {
            api,
            rail,
            seed,
            record: Record::default(),
            rich,
            poor,
            refusing,
            phase: watch::Sender::new(Phase::Peace),
            offers: Mutex::default(),
            heard: Mutex::default(),
            interruptions: AtomicU32::new(0),
        }
    }

    /// The phase now.
    pub fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Starts the next phase.
    pub fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// Records that the paid API is being killed, or listens again, perhaps with other terms.
    pub fn interrupted(&self) {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        offers.clear();
        drop(offers);
        self.interruptions.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of interruptions so far. A call with different numbers before and after it is not
    /// measured.
    pub fn interruptions(&self) -> u32 {
        self.interruptions.load(Ordering::Relaxed)
    }

    /// Sleeps this long, or until the siege is over. Returns whether it continues.
    pub async fn sleep(&self, time: Duration) -> bool {
        let mut phase = self.phase.subscribe();
        let over = phase.wait_for(|phase| *phase == Phase::Over);
        tokio::time::timeout(time, over).await.is_err()
    }

    /// Sleeps this long, or until the crowd has to leave. Returns whether it may stay.
    pub async fn linger(&self, time: Duration) -> bool {
        let mut phase = self.phase.subscribe();
        let gone = phase.wait_for(|phase| matches!(phase, Phase::Calm | Phase::Over));
        tokio::time::timeout(time, gone).await.is_err()
    }

    /// Resolves when the siege begins.
    pub async fn siege(&self) {
        let mut phase = self.phase.subscribe();
        // The sender lives as long as the field.
        let _ = phase.wait_for(|phase| *phase != Phase::Peace).await;
    }

    /// The price of a request, asked for once for each route; `None` when the server does not state
    /// it.
    pub async fn offer(&self, client: &mut Client, target: &str) -> Option<Offer> {
        let route = target.split('?').next().unwrap_or_default().to_owned();
        let known = {
            let offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
            offers.get(&route).cloned()
        };
        let offer = match known {
            Some(offer) => offer,
            None => {
                let answer = client.send(&Request::get(target)).await.ok()?;
                let offer = Offer::of(&answer)?;
                let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
                offers.insert(route, offer.clone());
                offer
            }
        };
        Some(offer.at(self.api, target))
    }

    /// Records a payment that attackers observed on the wire.
    pub fn overheard(&self, payment: &Signed) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.len() >= MEMORY {
            heard.remove(0);
        }
        heard.push(payment.clone());
    }

    /// A payment of another participant.
    pub fn somebodys(&self, chance: &mut Chance) -> Option<Signed> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        chance.pick(&heard).cloned()
    }
}

/// One of the crowd.
#[derive(Debug)]
pub struct Attacker {
    /// Its attack, by the report's name.
    pub name: &'static str,
    /// The shared state.
    pub field: Arc<Field>,
    /// Its randomness.
    pub chance: Chance,
    /// Its connection.
    pub client: Client,
    /// The lifetime of its payments, in seconds.
    pub valid_seconds: u64,
    address: HeaderValue,
}

impl Attacker {
    /// An attacker with its own address.
    pub fn new(field: &Arc<Field>, name: &'static str, number: u64) -> Self {
        let mut chance = Chance::of(field.seed, &format!("{name} {number}"));
        let address = format!("10.66.{}.{}", chance.below(256), chance.below(256));
        Self {
            name,
            field: field.clone(),
            client: Client::new(field.api),
            valid_seconds: crate::buyer::VALID_SECONDS,
            chance,
            address: HeaderValue::try_from(address).unwrap_or(HeaderValue::from_static("")),
        }
    }

    /// A request of this attacker.
    pub fn addressed(&self, request: Request) -> Request {
        request.with(CLIENT_ADDRESS, self.address.clone())
    }

    /// Sends a request and records the answer.
    pub async fn throw(&mut self, request: &Request) {
        let request = self.addressed(request.clone());
        let outcome = match self.client.send(&request).await {
            Ok(answer) => answer.status.as_u16().to_string(),
            Err(_) => "no answer".to_owned(),
        };
        self.field.record.crowd(self.name, outcome);
    }

    /// Sends a payment with a request, and records the answer.
    pub async fn pay(&mut self, payment: &Signed, target: &str) {
        let request = self.addressed(payment.request_of(target));
        self.field.record.sent(payment.key);
        let outcome = match self.client.send(&request).await {
            Ok(answer) => {
                let record = &self.field.record;
                record.answered(self.name, payment.key, target, &answer);
                answer.status.as_u16().to_string()
            }
            Err(_) => "no answer".to_owned(),
        };
        self.field.record.crowd(self.name, outcome);
    }

    /// A payment of a wallet for a target.
    ///
    /// # Errors
    /// When it cannot be signed.
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
}
