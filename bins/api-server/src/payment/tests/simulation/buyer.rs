//! Callers. Each follows `next`: it signs a new payment only when `next` says so, and keeps every
//! header that it has signed. Otherwise it behaves badly: it hangs up, sends twice, and sends for
//! other requests.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use alloy_primitives::B256;
use route_catalog::Operation;
use tokio::task::JoinSet;
use x402_wire::{PaymentPayload, Scheme};

use super::chain::name;
use super::payers::Account;
use super::server::{Advice, Heard, Server, Wanted};
use super::store::Store;
use crate::payment::tests::payer::Order;

/// The wanted answers. Two of them have the same price.
pub(super) const MENU: [Wanted; 3] = [
    Wanted {
        operation: Operation::CryptoNews,
        query: None,
    },
    Wanted {
        operation: Operation::AllTokens,
        query: Some("limit=5"),
    },
    Wanted {
        operation: Operation::AllTokens,
        query: Some("limit=7"),
    },
];

/// How many seconds, and how many times, a caller asks again at most once no more faults happen.
const PATIENCE_SECONDS: u64 = 3_600;
const MOST_TRIES: u32 = 600;

/// A payment that was signed for a wanted answer.
pub(super) struct Signed {
    pub(super) order: Order,
    pub(super) payment: PaymentPayload,
    /// Every request for which it was sent. It was signed for the first one.
    pub(super) sent_for: Vec<Wanted>,
    pub(super) advised_to_sign_new: bool,
}

impl Signed {
    /// Whether a batch of the broker pays, so that the chain does not show the payment.
    pub(super) fn is_deferred(&self) -> bool {
        self.order.option.scheme == Scheme::AggrDeferred
    }
}

/// One wanted answer: the payments that were signed for it, and the result.
pub(super) struct Purchase {
    pub(super) wanted: Wanted,
    pub(super) account: Arc<Account>,
    pub(super) signed: Vec<Signed>,
    pub(super) is_answered: bool,
    /// The last refusal, when there is no answer.
    pub(super) gave_up: Option<String>,
}

/// The purchases of all callers, answered or not.
pub(super) type Purchases = Mutex<Vec<Purchase>>;

pub(super) struct Buyer<S: Store> {
    pub(super) server: Arc<Server<S>>,
    pub(super) account: Arc<Account>,
    pub(super) address: IpAddr,
    pub(super) purchases: Arc<Purchases>,
}

impl<S: Store> Buyer<S> {
    /// Buys this many answers, one after the other.
    pub(super) async fn buy(self, answers: u64) {
        for _ in 0..answers {
            self.server.world.pause().await;
            self.buy_one(self.server.world.chance.pick(&MENU)).await;
        }
    }

    async fn buy_one(&self, wanted: Wanted) {
        let mut others = JoinSet::new();
        let mut purchase = Purchase {
            wanted,
            account: Arc::clone(&self.account),
            signed: Vec::new(),
            is_answered: false,
            gave_up: None,
        };
        let world = &self.server.world;
        let (mut patience_ends, mut tries) = (None, 0);
        while tries < MOST_TRIES {
            if world.is_peace() {
                tries += 1;
                if world.now() > *patience_ends.get_or_insert(world.now() + PATIENCE_SECONDS) {
                    break;
                }
            }
            if purchase.signed.is_empty() || purchase.signed.last().unwrap().advised_to_sign_new {
                let Some(signed) = self.sign(wanted).await else {
                    continue;
                };
                purchase.signed.push(signed);
            }
            let signed = purchase.signed.last_mut().unwrap();
            self.misbehave(signed, &mut others);
            match self.send(wanted, signed).await {
                Heard::Nothing => world.sleep(world.chance.between(1, 10)).await,
                Heard::Answer { .. } => {
                    purchase.is_answered = true;
                    break;
                }
                Heard::Refused { why, next, .. } => {
                    let given_up = !self.follow(next, signed).await;
                    if signed.advised_to_sign_new {
                        self.copy_later(wanted, signed, &mut others);
                    }
                    purchase.gave_up = Some(why);
                    if given_up {
                        break;
                    }
                }
            }
        }
        while others.join_next().await.is_some() {}
        self.purchases.lock().unwrap().push(purchase);
    }

    /// Signs one of the options on offer; `None` while the server is down.
    async fn sign(&self, wanted: Wanted) -> Option<Signed> {
        let world = &self.server.world;
        let Some(process) = self.server.running(self.server.somewhere()) else {
            world.sleep(3).await;
            return None;
        };
        let offer = process.catalog.offer(wanted.operation);
        let scheme = match world.chance.one_in(4) {
            true => Scheme::AggrDeferred,
            false => Scheme::Exact,
        };
        let options = offer.options().filter(|option| option.scheme == scheme);
        let options: Vec<_> = options.collect();
        let option = world.chance.pick(&options).clone();
        // The work and the settlement may take at least this long.
        let least = 51 + world.chance.below(8);
        let seconds = world.chance.pick(&[option.max_timeout_seconds, 120, least]);
        let order = Order {
            option,
            nonce: world.chance.word(),
            valid_before: world.now() + seconds,
            // Every order is a purchase of its own. The module `repeated` is about the others.
            payment_id: Some(format!("{:032x}", world.chance.number())),
        };
        world.note(|| {
            format!(
                "buyer: signs {} ({}) for {wanted:?}, {seconds} s",
                name(order.nonce),
                order.option.scheme.as_str()
            )
        });
        Some(Signed {
            payment: self.account.sign(&order),
            order,
            sent_for: vec![wanted],
            advised_to_sign_new: false,
        })
    }

    /// Sends the payment, sometimes twice at once, and sometimes without waiting for the end.
    async fn send(&self, wanted: Wanted, signed: &Signed) -> Heard {
        let world = &self.server.world;
        let once = || async {
            let heard = self
                .server
                .send(wanted, &signed.payment, self.address)
                .await;
            self.hears(signed.order.nonce, &heard);
            heard
        };
        let callers = world.rates.callers;
        if world.servers > 1 && !world.chance.one_in(4) {
            // A caller that waits in vain for one server asks another.
            let seconds = world.chance.pick(&[2, 10, 30]);
            let limit = std::time::Duration::from_secs(seconds);
            return match tokio::time::timeout(limit, once()).await {
                Ok(heard) => heard,
                Err(_) => {
                    world.note(|| format!("buyer: waits in vain for {}", name(signed.order.nonce)));
                    Heard::Nothing
                }
            };
        }
        if world.goes_wrong(callers) {
            let seconds = world.chance.pick(&[0, 0, 1, 5, 30]);
            let limit = std::time::Duration::from_millis(seconds * 1000 + world.chance.below(50));
            let heard = tokio::time::timeout(limit, once()).await;
            if heard.is_err() {
                world.note(|| format!("buyer: hangs up on {}", name(signed.order.nonce)));
            }
            return heard.unwrap_or(Heard::Nothing);
        }
        if world.goes_wrong(callers) {
            // The payment is sent twice before any answer, and one of the two answers is lost on
            // its way.
            world.note(|| format!("buyer: sends {} twice", name(signed.order.nonce)));
            let first = once();
            tokio::pin!(first);
            tokio::select! {
                biased;
                heard = &mut first => return heard,
                () = world.chance.pause() => {}
            }
            // The answer may have come at the end of the pause.
            tokio::select! {
                biased;
                heard = &mut first => return heard,
                () = std::future::ready(()) => {}
            }
            let (second, first) = tokio::join!(once(), first);
            return if world.chance.one_in(2) {
                first
            } else {
                second
            };
        }
        once().await
    }

    /// Also sends the payment for another request, or a forged copy of it.
    fn misbehave(&self, signed: &mut Signed, others: &mut JoinSet<()>) {
        let world = &self.server.world;
        if !world.goes_wrong(world.rates.callers.saturating_mul(2)) {
            return;
        }
        let server = Arc::clone(&self.server);
        let (nonce, address) = (signed.order.nonce, self.address);
        let kind = world.chance.pick(&["as it is", "forged", "forged long"]);
        let forged = (kind != "as it is").then(|| {
            let account = &self.account;
            account.forged(&signed.order, kind == "forged")
        });
        let other = world.chance.pick(&MENU);
        if forged.is_none() {
            signed.sent_for.push(other);
        }
        world.note(|| format!("buyer: misuses {} {kind} for {other:?}", name(nonce)));
        let payment = forged.clone().unwrap_or_else(|| signed.payment.clone());
        others.spawn(async move {
            let heard = server.send(other, &payment, address).await;
            if forged.is_some() && matches!(heard, Heard::Answer { .. }) {
                let what = format!("a forged copy of {} got an answer", name(nonce));
                server.world.violation(what);
            }
        });
    }

    /// Lets a copy of an abandoned payment arrive later, from a proxy or from somebody who has seen
    /// it.
    fn copy_later(&self, wanted: Wanted, signed: &Signed, others: &mut JoinSet<()>) {
        let world = &self.server.world;
        if !world.goes_wrong(world.rates.callers) {
            return;
        }
        let server = Arc::clone(&self.server);
        let (payment, address) = (signed.payment.clone(), self.address);
        let seconds = world.chance.pick(&[1, 5, 20, 60]);
        let name = name(signed.order.nonce);
        world.note(|| format!("buyer: a copy of {name} arrives in {seconds} s"));
        others.spawn(async move {
            server.world.sleep(seconds).await;
            server.send(wanted, &payment, address).await;
        });
    }

    fn hears(&self, nonce: B256, heard: &Heard) {
        let (world, name) = (&self.server.world, name(nonce));
        world.note(|| match heard {
            Heard::Nothing => format!("buyer: {name}: the connection breaks"),
            Heard::Answer { again, .. } => format!("buyer: {name}: answered, again: {again}"),
            Heard::Refused { status, why, next } => {
                format!("buyer: {name}: {status} {why}, next {next:?}")
            }
        });
    }

    /// Follows `next`. Returns whether the caller goes on.
    async fn follow(&self, next: Option<Advice>, signed: &mut Signed) -> bool {
        let world = &self.server.world;
        let Some(next) = next else {
            return false;
        };
        match next.action.as_str() {
            "sign_new" => {
                let Order {
                    nonce,
                    valid_before,
                    ..
                } = signed.order;
                signed.advised_to_sign_new = true;
                // Another server may have taken the payment for the other request.
                let is_misused = world.servers > 1 && signed.sent_for.len() > 1;
                if !is_misused && world.chain.is_dangerous(nonce, valid_before, world.now()) {
                    let what = format!(
                        "told to sign anew while {} can still be charged",
                        name(nonce)
                    );
                    world.violation(what);
                }
                true
            }
            "send_same_again" => {
                world.sleep(next.after_seconds).await;
                true
            }
            "wait" | "look_up" => {
                world.sleep(next.after_seconds).await;
                let state = self.server.look_up(&next.url.unwrap_or_default()).await;
                world.note(|| format!("buyer: {} is {state:?}", name(signed.order.nonce)));
                // Whatever the advice, the same header gets the answer if there is one.
                world.sleep(5).await;
                state.as_deref() != Some("undecidable")
            }
            other => {
                world.violation(format!("unknown advice {other}"));
                false
            }
        }
    }
}
