//! The servers: in each place one process after the other, all over the same journal and chain; and
//! the answers that callers get from them.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use data_sources::Clock as _;
use http_body_util::BodyExt;
use ledger::{Journal as _, RequestBinding};
use route_catalog::{Catalog, Operation};
use serde_json::Value;
use x402_wire::{PaymentPayload, SettlementResponse};

use super::check::{PoolAtStop, check_pool_at_start, check_pool_goes_on};
use super::history::{Call, Saw};
use super::journal::FaultyJournal;
use super::settler::SimulatedSettler;
use super::store::{LEASE_SECONDS, Store};
use super::worker::SimulatedWorker;
use super::world::{Life, World, policy};
use crate::challenge::Challenger;
use crate::payment::{PaidCall, PaymentProcessor, Request, answer_look_up, deliver};
use crate::reply::{PAYMENT_RESPONSE, Reply};

/// A wanted answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) operation: Operation,
    pub(super) query: Option<&'static str>,
}

impl Wanted {
    pub(super) fn binding(self) -> RequestBinding {
        let route = self.operation.route();
        RequestBinding::new(route.method.as_str(), route.path, self.query, b"")
    }
}

/// The answer that a caller gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    /// The connection breaks, or there is none.
    Nothing,
    Answer {
        body: Bytes,
        again: bool,
        /// The transaction in the receipt.
        transaction: Option<String>,
    },
    Refused {
        status: u16,
        /// The stable code of the error, and its reason.
        why: String,
        next: Option<Advice>,
    },
}

/// The member `next`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Advice {
    pub(super) action: String,
    pub(super) after_seconds: u64,
    pub(super) url: Option<String>,
}

pub(super) type Processor<S> =
    PaymentProcessor<SimulatedSettler, FaultyJournal<S>, SimulatedWorker>;

/// One process of a server.
pub(super) struct Process<S: Store> {
    pub(super) processor: Processor<S>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) life: Life,
    member: Arc<S::Member>,
    challenger: Challenger,
}

impl<S: Store> Process<S> {
    /// Starts a process: decides the entries that the previous process left open, however many
    /// tries it takes, and then serves calls.
    async fn start(world: &Arc<World>, store: &Arc<S>, catalog: Arc<Catalog>) -> Self {
        let (life, member) = (Life::default(), Arc::new(store.join()));
        let faulty = || FaultyJournal {
            world: Arc::clone(world),
            life: life.clone(),
            store: Arc::clone(store),
            member: Arc::clone(&member),
        };
        if world.servers > 1 {
            tokio::spawn(keep_lease(faulty()));
        }
        while faulty().recover(world.now()).await.is_err() {
            world.sleep(1).await;
        }
        let settler = SimulatedSettler {
            world: Arc::clone(world),
            life: life.clone(),
        };
        let worker = SimulatedWorker {
            world: Arc::clone(world),
            life: life.clone(),
        };
        let processor = PaymentProcessor::new(
            Arc::clone(&catalog),
            settler,
            faulty(),
            worker,
            policy(),
            world.clock.clone(),
        );
        while processor.restore_newcomers().await.is_err() {
            world.sleep(1).await;
        }
        let every = Duration::from_secs(world.chance.pick(&[20, 45, 90]));
        let (reconciling, sweeping) = (processor.clone(), processor.clone());
        tokio::spawn(async move { reconciling.keep_reconciling(every).await });
        tokio::spawn(async move { sweeping.keep_sweeping(every).await });
        Self {
            processor,
            challenger: Challenger::new(Arc::clone(&catalog)),
            catalog,
            life,
            member,
        }
    }

    /// The rest of the newcomers' pool, in millionths of a dollar.
    pub(super) fn left_in_pool(&self, world: &World) -> u64 {
        let now_ms = u64::try_from(world.clock.now().as_millisecond()).unwrap();
        let mut credit = self.processor.shared.credit.lock().unwrap();
        credit.left_in_pool(now_ms)
    }
}

/// Renews the lease of a process in time while it reaches the database.
async fn keep_lease<S: Store>(journal: FaultyJournal<S>) {
    let FaultyJournal {
        world,
        life,
        store,
        member,
    } = journal;
    loop {
        world.sleep(LEASE_SECONDS / 3).await;
        life.step(&world).await;
        if life.is_cut_off(&world) || world.goes_wrong(world.rates.journal) {
            world.note(|| "server: cannot renew its lease".to_owned());
        } else if store.beat(&member) {
            world.note(|| "server: had lost its lease".to_owned());
        }
    }
}

/// The places of the servers, with the processes that run now.
pub(super) struct Server<S: Store> {
    pub(super) world: Arc<World>,
    store: Arc<S>,
    /// One place for each server.
    running: Mutex<Vec<Option<Arc<Process<S>>>>>,
    /// The rest of the newcomers' pool after the last process; `None` when it crashed.
    pool: Mutex<Option<PoolAtStop>>,
    /// Every call, ordered by its beginning.
    pub(super) calls: Mutex<Vec<Call>>,
}

impl<S: Store> Server<S> {
    pub(super) fn new(world: Arc<World>, store: S) -> Self {
        let running = (0..world.servers).map(|_| None).collect();
        Self {
            world,
            store: Arc::new(store),
            running: Mutex::new(running),
            pool: Mutex::new(None),
            calls: Mutex::default(),
        }
    }

    /// The journal for reading outside of every process.
    pub(super) fn journal(&self) -> Arc<S::Journal> {
        self.store.reader()
    }

    fn places(&self) -> MutexGuard<'_, Vec<Option<Arc<Process<S>>>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn swap(&self, place: usize, process: Option<Arc<Process<S>>>) -> Option<Arc<Process<S>>> {
        std::mem::replace(&mut self.places()[place], process)
    }

    /// The process in a place, if there is one.
    pub(super) fn running(&self, place: usize) -> Option<Arc<Process<S>>> {
        self.places()[place].clone()
    }

    /// Draws the place for a call.
    pub(super) fn somewhere(&self) -> usize {
        match self.world.servers {
            1 => 0,
            servers => {
                let place = self.world.chance.below(u64::try_from(servers).unwrap());
                usize::try_from(place).unwrap()
            }
        }
    }

    pub(super) async fn start(&self, place: usize, catalog: Arc<Catalog>) {
        let process = Process::start(&self.world, &self.store, catalog).await;
        self.world.note(|| "server: starts".to_owned());
        // Other servers take from the same pool at the same time.
        if self.world.servers == 1 {
            check_pool_at_start(self, &process);
            let stopped = self.pool.lock().unwrap().take();
            // A failed write is lost.
            if let Some(stopped) = stopped.filter(|_| self.world.rates.journal == 0) {
                check_pool_goes_on(self, stopped, &process);
            }
        }
        self.swap(place, Some(Arc::new(process)));
    }

    /// Ends the process at once.
    pub(super) fn crash(&self, place: usize) {
        if let Some(process) = self.swap(place, None) {
            self.world.note(|| "server: crashes".to_owned());
            process.life.crash();
        }
    }

    /// Stops the process as an operator does: its calls finish first.
    pub(super) async fn stop(&self, place: usize) -> Option<Arc<Process<S>>> {
        let process = self.swap(place, None)?;
        self.world.note(|| "server: stops".to_owned());
        let limit = Duration::from_secs(3600);
        if tokio::time::timeout(limit, process.processor.close())
            .await
            .is_err()
        {
            let what = "a process that is asked to stop does not stop within an hour";
            self.world.violation(what.to_owned());
        }
        let stopped = PoolAtStop {
            left: process.left_in_pool(&self.world),
            at: self.world.now(),
        };
        *self.pool.lock().unwrap() = Some(stopped);
        self.store.leave(&process.member);
        process.life.crash();
        Some(process)
    }

    /// Sends a payment for a wanted answer to one of the servers, and waits for the answer while
    /// its process lives.
    pub(super) async fn send(
        &self,
        wanted: Wanted,
        payment: &PaymentPayload,
        from: IpAddr,
    ) -> Heard {
        self.send_to(self.somewhere(), wanted, payment, from).await
    }

    /// Sends a payment to the server in a place, and records the answer. If the caller hangs up,
    /// only the beginning of the call is recorded.
    pub(super) async fn send_to(
        &self,
        place: usize,
        wanted: Wanted,
        payment: &PaymentPayload,
        from: IpAddr,
    ) -> Heard {
        let number = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(Call {
                nonce: payment.authorization().nonce,
                request: wanted.binding().digest(),
                began: self.world.now_ms(),
                ended: None,
                saw: Saw::Nothing,
            });
            calls.len() - 1
        };
        let heard = self.answer_of(place, wanted, payment, from).await;
        let mut calls = self.calls.lock().unwrap();
        calls[number].ended = Some(self.world.now_ms());
        calls[number].saw = Saw::of(&heard);
        heard
    }

    async fn answer_of(
        &self,
        place: usize,
        wanted: Wanted,
        payment: &PaymentPayload,
        from: IpAddr,
    ) -> Heard {
        let Some(process) = self.running(place) else {
            return Heard::Nothing;
        };
        let id = self.world.ids.next_id();
        let request = Request {
            id,
            operation: wanted.operation,
            query: wanted.query.map(str::to_owned),
            body: Bytes::new(),
            max_age: Ok(None),
            client: Some(from),
            binding: wanted.binding(),
        };
        let call = PaidCall::new(request, payment);
        let ended = async {
            process.life.runs().await;
            let ended = process.processor.process(call, payment.clone()).await;
            process.life.runs().await;
            ended
        };
        let ended = tokio::select! {
            biased;
            () = process.life.crashed() => return Heard::Nothing,
            ended = ended => ended,
        };
        let (operation, query) = (wanted.operation, wanted.query);
        let reply = deliver(ended, &process.challenger, operation, query, id);
        let heard = hear(reply).await;
        self.check_advice(&heard);
        heard
    }

    /// Looks a payment up, free of charge. Returns its state.
    pub(super) async fn look_up(&self, url: &str) -> Option<String> {
        let process = self.running(self.somewhere())?;
        let path = url.strip_prefix(process.catalog.base_url())?;
        let request = http::Request::get(path).body(()).unwrap();
        let (parts, ()) = request.into_parts();
        let reply = tokio::select! {
            biased;
            () = process.life.crashed() => return None,
            reply = answer_look_up(&parts, &process.processor, self.world.ids.next_id()) => reply,
        };
        let body: Value = serde_json::from_slice(&body_of(reply).await).unwrap();
        Some(body["state"].as_str()?.to_owned())
    }

    /// Checks that every refusal about a payment has advice.
    fn check_advice(&self, heard: &Heard) {
        if let Heard::Refused {
            status: status @ (402 | 409 | 429 | 503),
            why,
            next: None,
        } = heard
        {
            let what = format!("a {status} ({why}) does not say what to do next");
            self.world.violation(what);
        }
    }
}

async fn body_of(reply: Reply) -> Bytes {
    reply.into_body().collect().await.unwrap().to_bytes()
}

async fn hear(reply: Reply) -> Heard {
    let status = reply.status().as_u16();
    let again = reply.headers().contains_key("x-served-again");
    let receipt = reply.headers().get(PAYMENT_RESPONSE).cloned();
    let body = body_of(reply).await;
    if status == 200 {
        let receipt = receipt.and_then(|header| {
            let receipt = SettlementResponse::from_header(header.as_bytes());
            receipt.ok()
        });
        return Heard::Answer {
            body,
            again,
            transaction: receipt.map(|receipt| receipt.transaction),
        };
    }
    let json: Value = serde_json::from_slice(&body).unwrap();
    let error = match status {
        402 => &json["refusal"],
        _ => &json["error"],
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let next = &error["next"];
    let next = next.is_object().then(|| Advice {
        action: text(&next["action"]),
        after_seconds: next["after_seconds"].as_u64().unwrap_or_default(),
        url: next["url"].as_str().map(str::to_owned),
    });
    let why = format!("{} {}", text(&error["code"]), text(&error["reason"]));
    Heard::Refused { status, why, next }
}
