//! The server: one process after the other over the same journal and chain, and what a caller hears
//! of it.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use data_sources::Clock as _;
use http_body_util::BodyExt;
use ledger::{Journal, RequestBinding};
use route_catalog::{Catalog, Operation};
use serde_json::Value;
use x402_wire::PaymentPayload;

use super::check::{PoolAtStop, check_pool_at_start, check_pool_goes_on};
use super::journal::FaultyJournal;
use super::settler::SimulatedSettler;
use super::worker::SimulatedWorker;
use super::world::{Life, World, policy};
use crate::challenge::Challenger;
use crate::payment::{PaidCall, PaymentProcessor, Request, answer_look_up, deliver};
use crate::reply::Reply;

/// What is bought.
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

/// What a caller hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    /// The connection breaks, or there is none.
    Nothing,
    Answer {
        body: Bytes,
        again: bool,
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

pub(super) type Processor<J> =
    PaymentProcessor<SimulatedSettler, FaultyJournal<J>, SimulatedWorker>;

/// One process of the server.
pub(super) struct Process<J> {
    pub(super) processor: Processor<J>,
    pub(super) catalog: Arc<Catalog>,
    challenger: Challenger,
    life: Life,
}

impl<J: Journal> Process<J> {
    /// Decides what the previous process left open, as often as it takes, and begins to take
    /// payments.
    async fn start(world: &Arc<World>, journal: &Arc<J>, catalog: Arc<Catalog>) -> Self {
        let life = Life::default();
        let faulty = || FaultyJournal {
            world: Arc::clone(world),
            life: life.clone(),
            inner: Arc::clone(journal),
        };
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
        }
    }
}

impl<J> Process<J> {
    /// What is left in the newcomers' pool, in millionths of a dollar.
    pub(super) fn left_in_pool(&self, world: &World) -> u64 {
        let now_ms = u64::try_from(world.clock.now().as_millisecond()).unwrap();
        let mut credit = self.processor.shared.credit.lock().unwrap();
        credit.left_in_pool(now_ms)
    }
}

/// Where the callers find the process that runs at the moment, if one does.
pub(super) struct Server<J> {
    pub(super) world: Arc<World>,
    pub(super) journal: Arc<J>,
    running: Mutex<Option<Arc<Process<J>>>>,
    /// What the last process has left in the newcomers' pool; `None` when it has crashed.
    pool: Mutex<Option<PoolAtStop>>,
}

impl<J: Journal> Server<J> {
    pub(super) fn new(world: Arc<World>, journal: J) -> Self {
        Self {
            world,
            journal: Arc::new(journal),
            running: Mutex::new(None),
            pool: Mutex::new(None),
        }
    }

    fn swap(&self, process: Option<Arc<Process<J>>>) -> Option<Arc<Process<J>>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *running, process)
    }

    pub(super) fn running(&self) -> Option<Arc<Process<J>>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.clone()
    }

    pub(super) async fn start(&self, catalog: Arc<Catalog>) {
        let process = Process::start(&self.world, &self.journal, catalog).await;
        self.world.note(|| "server: starts".to_owned());
        check_pool_at_start(self, &process);
        let stopped = self.pool.lock().unwrap().take();
        // A write that has failed is lost.
        if let Some(stopped) = stopped.filter(|_| self.world.rates.journal == 0) {
            check_pool_goes_on(self, stopped, &process);
        }
        self.swap(Some(Arc::new(process)));
    }

    /// From one moment to the next there is no process any more.
    pub(super) fn crash(&self) {
        if let Some(process) = self.swap(None) {
            self.world.note(|| "server: crashes".to_owned());
            process.life.crash();
        }
    }

    /// Stops the process as an operator does: what it has begun comes to its end.
    pub(super) async fn stop(&self) -> Option<Arc<Process<J>>> {
        let process = self.swap(None)?;
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
        process.life.crash();
        Some(process)
    }

    /// Sends a payment for what is wanted, and waits for the answer as long as the process lives.
    pub(super) async fn send(
        &self,
        wanted: Wanted,
        payment: &PaymentPayload,
        from: IpAddr,
    ) -> Heard {
        let Some(process) = self.running() else {
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
        let ended = tokio::select! {
            biased;
            () = process.life.crashed() => return Heard::Nothing,
            ended = process.processor.process(call, payment.clone()) => ended,
        };
        let (operation, query) = (wanted.operation, wanted.query);
        let reply = deliver(ended, &process.challenger, operation, query, id);
        let heard = hear(reply).await;
        self.check_advice(&heard);
        heard
    }

    /// Looks a payment up, free of charge. Returns its state.
    pub(super) async fn look_up(&self, url: &str) -> Option<String> {
        let process = self.running()?;
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

    /// Every refusal that concerns a payment says what to do.
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
    let body = body_of(reply).await;
    if status == 200 {
        return Heard::Answer { body, again };
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
