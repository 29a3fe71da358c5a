//! Kills a server at a chosen one of the requests that it makes to the outside world.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::server::Killer;

/// When the server dies, relative to one of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The request has left the server and had no effect.
    Before,
    /// The request has had its effect, and the answer is not sent.
    After,
    /// So long after the request arrived, whatever the server does by then.
    Later(Duration),
}

/// Sees every request that the server makes: to the chain and to the upstreams.
#[derive(Default)]
pub(crate) struct Tripwire {
    armed: Mutex<Option<Armed>>,
    seen: AtomicU64,
}

struct Armed {
    at: u64,
    moment: Moment,
    victim: Killer,
}

impl Tripwire {
    /// From now on requests are counted, and the server dies at number `at`, the first one being 1.
    pub(crate) fn arm(&self, at: u64, moment: Moment, victim: Killer) {
        *self.armed.lock().unwrap() = Some(Armed { at, moment, victim });
        self.seen.store(0, Ordering::SeqCst);
    }

    /// Takes the wire away; whether it was still armed.
    pub(crate) fn disarm(&self) -> bool {
        self.armed.lock().unwrap().take().is_some()
    }

    /// How many requests came since the wire was armed.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::SeqCst)
    }

    /// Lets one request have its effect, and the server die before, after or a while after it.
    pub(crate) async fn pass<T>(&self, effect: impl Future<Output = T>) -> T {
        let number = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        let armed = {
            let mut armed = self.armed.lock().unwrap();
            let strikes = armed.as_ref().is_some_and(|armed| armed.at == number);
            if strikes { armed.take() } else { None }
        };
        match armed {
            None => effect.await,
            Some(Armed {
                moment: Moment::Before,
                victim,
                ..
            }) => {
                victim.kill();
                // Nobody is left to answer; what the request asked for does not happen.
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
                moment: Moment::Later(pause),
                victim,
                ..
            }) => {
                tokio::spawn(async move {
                    tokio::time::sleep(pause).await;
                    victim.kill();
                });
                effect.await
            }
        }
    }
}
