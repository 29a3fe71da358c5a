//! Kills or suspends a server at a chosen request to the outside world, and lets the facilitator
//! refuse a settlement.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::process::server::Killer;

/// When the server dies, relative to one of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The request has left the server and had no effect.
    Before,
    /// The request has had its effect, and the answer is not sent.
    After,
    /// The server is suspended instead of killed. The request has had its effect, and the answer
    /// waits.
    HeldUp,
    /// The given time after the request arrived, wherever the server is then.
    Later(Duration),
}

/// Counts the requests of the server to the chain and to the upstreams, and kills it at the chosen
/// one.
#[derive(Default)]
pub(crate) struct Tripwire {
    armed: Mutex<Option<Armed>>,
    refuses: AtomicBool,
}

/// The request at which the server dies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum At {
    /// The request with this number, from 1.
    Number(u64),
    /// The first request with this name. Concurrent requests have no certain numbers, so a name is
    /// safer.
    Name(&'static str),
    /// The request with this name and this number, from 1.
    Nth(&'static str, u64),
}

struct Armed {
    at: At,
    moment: Moment,
    victim: Killer,
    /// The number of counted requests so far.
    seen: u64,
}

impl Armed {
    /// Counts a request. Returns whether it is the chosen one.
    fn strikes(&mut self, name: &str) -> bool {
        let (number, counts) = match self.at {
            At::Number(number) => (number, true),
            At::Name(of) => (1, of == name),
            At::Nth(of, number) => (number, of == name),
        };
        self.seen += u64::from(counts);
        counts && self.seen == number
    }
}

impl Tripwire {
    /// Counts requests from now on, and kills `victim` at the chosen one.
    pub(crate) fn arm(&self, at: At, moment: Moment, victim: Killer) {
        *self.armed.lock().unwrap() = Some(Armed {
            at,
            moment,
            victim,
            seen: 0,
        });
    }

    /// Lets the facilitator refuse its next settlement.
    pub(crate) fn refuse_settlement(&self) {
        self.refuses.store(true, Ordering::SeqCst);
    }

    /// Whether this settlement is the one to refuse.
    pub(crate) fn refuses(&self) -> bool {
        self.refuses.swap(false, Ordering::SeqCst)
    }

    /// Disarms the wire. Returns whether it was still armed.
    pub(crate) fn disarm(&self) -> bool {
        self.armed.lock().unwrap().take().is_some()
    }

    /// Lets a request take effect, and lets the server die before, after or a while after it.
    pub(crate) async fn pass<T>(&self, name: &str, effect: impl Future<Output = T>) -> T {
        let armed = self
            .armed
            .lock()
            .unwrap()
            .take_if(|armed| armed.strikes(name));
        match armed {
            None => effect.await,
            Some(Armed {
                moment: Moment::Before,
                victim,
                ..
            }) => {
                victim.kill();
                // The server is dead, so the request has no effect.
                std::future::pending().await
            }
            Some(Armed {
                moment: Moment::After,
                victim,
                ..
            }) => {
                let answer = effect.await;
                victim.kill();
                answer
            }
            Some(Armed {
                moment: Moment::HeldUp,
                victim,
                ..
            }) => {
                let answer = effect.await;
                victim.hold_up();
                answer
            }
            Some(Armed {
                moment: Moment::Later(pause),
                victim,
                ..
            }) => {
                tokio::spawn(async move {
                    // A real pause: the process is killed at any moment of its work.
                    tokio::time::sleep(pause).await;
                    victim.kill();
                });
                effect.await
            }
        }
    }
}
