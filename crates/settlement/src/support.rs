//! Keeps what a facilitator supports on our network, so that it is asked once and not for every
//! payment.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use x402_wire::facilitator::{SupportedResponse, request_body, request_body_declaring};
use x402_wire::{Network, Payment, Reason, Scheme};

use crate::{Cause, Readiness, Verification};

/// How old an answer may be when a payment is verified.
const FOR_PAYMENTS: Duration = Duration::from_secs(300);

/// How old an answer may be for a readiness check.
const FOR_READINESS: Duration = Duration::from_secs(5);

/// After a failure, no caller asks again for this time. Otherwise callers would queue up behind a
/// facilitator that hangs.
const BACK_OFF: Duration = Duration::from_secs(2);

/// The schemes that a facilitator supports on our network, and whether it lists resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Support {
    pub(crate) exact: bool,
    pub(crate) aggr_deferred: bool,
    /// Whether it lists the extension `bazaar`.
    pub(crate) bazaar: bool,
}

impl Support {
    pub(crate) fn of(response: &SupportedResponse, network: Network) -> Self {
        Self {
            exact: response.supports(Scheme::Exact, network),
            aggr_deferred: response.supports(Scheme::AggrDeferred, network),
            bazaar: response.lists_bazaar(),
        }
    }

    fn readiness(self, network: Network) -> Readiness {
        if self.exact {
            Readiness::Ready {
                aggr_deferred: self.aggr_deferred,
                settlements_left: None,
            }
        } else {
            Readiness::NotReady {
                reason: Cause::ExactUnsupported { network },
            }
        }
    }
}

/// The last answer and the last failure.
#[derive(Debug, Default)]
pub(crate) struct SupportCache {
    state: Mutex<State>,
    /// [`Support::bazaar`] of the last answer. Reading it never waits for the facilitator.
    bazaar: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    answer: Option<(Instant, Support)>,
    failure: Option<(Instant, Cause)>,
}

impl SupportCache {
    /// Whether payments of a scheme are taken. Every facilitator takes `exact`; `aggr_deferred`
    /// must be in its list.
    pub(crate) async fn admits<F>(&self, scheme: Scheme, ask: F) -> Verification
    where
        F: Future<Output = Result<Support, Cause>>,
    {
        if scheme == Scheme::Exact {
            return Verification::Valid;
        }
        match self.get(FOR_PAYMENTS, ask).await {
            Ok(support) if support.aggr_deferred => Verification::Valid,
            Ok(_) => Verification::invalid(Reason::UnsupportedScheme),
            Err(cause) => Verification::Unavailable { cause },
        }
    }

    /// Whether payments on `network` can be settled.
    pub(crate) async fn readiness<F>(&self, network: Network, ask: F) -> Readiness
    where
        F: Future<Output = Result<Support, Cause>>,
    {
        match self.get(FOR_READINESS, ask).await {
            Ok(support) => support.readiness(network),
            Err(reason) => Readiness::NotReady { reason },
        }
    }

    /// Returns the body of a request about a payment: with the seller's own `bazaar` declaration,
    /// when the facilitator has listed this extension.
    pub(crate) fn body(&self, payment: &Payment, sync_settle: Option<bool>) -> String {
        match self.bazaar.load(Ordering::Relaxed) {
            true => request_body_declaring(payment, sync_settle),
            false => request_body(payment, sync_settle),
        }
    }

    /// Makes a call about a payment. Beside it, asks for an old list again when the payment has a
    /// declaration. The call never waits for that, so the first one may go without its declaration.
    pub(crate) async fn beside<T, F>(
        &self,
        payment: &Payment,
        ask: F,
        call: impl Future<Output = T>,
    ) -> T
    where
        F: Future<Output = Result<Support, Cause>>,
    {
        let mut call = pin!(call);
        if payment.bazaar().is_some() {
            tokio::select! {
                biased;
                done = &mut call => return done,
                _ = self.get(FOR_PAYMENTS, ask) => {}
            }
        }
        call.await
    }

    /// Returns an answer that is not older than `max_age`. When there is none, runs `ask`, for one
    /// caller at a time.
    async fn get<F>(&self, max_age: Duration, ask: F) -> Result<Support, Cause>
    where
        F: Future<Output = Result<Support, Cause>>,
    {
        let mut state = self.state.lock().await;
        if let Some((at, support)) = state.answer
            && at.elapsed() < max_age
        {
            return Ok(support);
        }
        if let Some((at, cause)) = &state.failure
            && at.elapsed() < BACK_OFF
        {
            return Err(cause.clone());
        }
        match ask.await {
            Ok(support) => {
                self.bazaar.store(support.bazaar, Ordering::Relaxed);
                *state = State {
                    answer: Some((Instant::now(), support)),
                    failure: None,
                };
                Ok(support)
            }
            Err(cause) => {
                state.failure = Some((Instant::now(), cause.clone()));
                Err(cause)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YES: Support = Support {
        exact: true,
        aggr_deferred: true,
        bazaar: true,
    };

    #[tokio::test]
    async fn an_answer_is_asked_for_once() {
        let cache = SupportCache::default();
        assert_eq!(cache.get(FOR_PAYMENTS, async { Ok(YES) }).await, Ok(YES));
        let again = cache
            .get(FOR_PAYMENTS, async { panic!("asked again") })
            .await;
        assert_eq!(again, Ok(YES));
    }

    #[tokio::test]
    async fn a_failure_is_not_repeated_at_once() {
        let cache = SupportCache::default();
        let cause = Cause::Unreachable {
            call: crate::RemoteCall::Supported,
        };
        let first = cache.get(FOR_PAYMENTS, async { Err(cause.clone()) }).await;
        assert_eq!(first, Err(cause.clone()));
        let second = cache
            .get(FOR_PAYMENTS, async { panic!("asked again") })
            .await;
        assert_eq!(second, Err(cause));
    }

    #[tokio::test]
    async fn an_old_answer_is_asked_for_again() {
        let cache = SupportCache::default();
        assert_eq!(cache.get(Duration::ZERO, async { Ok(YES) }).await, Ok(YES));
        let changed = cache
            .get(Duration::ZERO, async { Ok(Support::default()) })
            .await;
        assert_eq!(changed, Ok(Support::default()));
    }
}
