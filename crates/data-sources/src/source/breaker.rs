//! A circuit breaker: an upstream that keeps failing is not asked for a while. It counts outcomes;
//! the adapters decide what is a failure of the upstream.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;

/// Failures in a row that open the circuit.
const OPENS_AFTER: u32 = 5;
/// How long the circuit stays open the first time; doubled after each further failed try.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// A circuit breaker. It is closed while calls succeed. [`OPENS_AFTER`] failures in a row open it
/// for a while. Then one call is let through, and its outcome decides.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    until: Timestamp,
    pause: Duration,
    trying: bool,
}

/// The right to make one call. Dropped without an outcome, it counts as no call.
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    breaker: &'a Breaker,
    decided: bool,
}

impl Breaker {
    /// The right to call, or the time until the next try.
    pub(crate) fn admit(&self, now: Timestamp) -> Result<Permit<'_>, Duration> {
        let mut state = self.lock();
        if let Some(open) = &mut state.open {
            let left = Duration::try_from(open.until.duration_since(now)).unwrap_or_default();
            // A pause longer than any that we set means that the clock was set back.
            if !left.is_zero() && left <= LONGEST_PAUSE {
                return Err(left);
            }
            if open.trying {
                return Err(FIRST_PAUSE);
            }
            open.trying = true;
        }
        drop(state);
        Ok(Permit {
            breaker: self,
            decided: false,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// Records that the upstream works.
    pub(crate) fn succeeded(mut self) {
        self.decided = true;
        *self.breaker.lock() = State::default();
    }

    /// Records that the upstream does not work.
    pub(crate) fn failed(mut self, now: Timestamp) {
        self.decided = true;
        let mut state = self.breaker.lock();
        state.failures = state.failures.saturating_add(1);
        let pause = match &state.open {
            Some(open) => open.pause.saturating_mul(2).min(LONGEST_PAUSE),
            None if state.failures >= OPENS_AFTER => FIRST_PAUSE,
            None => return,
        };
        state.open = now.checked_add(pause).ok().map(|until| Open {
            until,
            pause,
            trying: false,
        });
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if !self.decided
            && let Some(open) = &mut self.breaker.lock().open
        {
            open.trying = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn opened() -> Breaker {
        let breaker = Breaker::default();
        for _ in 0..OPENS_AFTER {
            breaker.admit(at(0)).unwrap().failed(at(0));
        }
        breaker
    }

    #[test]
    fn opens_after_failures_in_a_row_only() {
        let breaker = Breaker::default();
        for _ in 0..3 {
            for _ in 1..OPENS_AFTER {
                breaker.admit(at(0)).unwrap().failed(at(0));
            }
            breaker.admit(at(0)).unwrap().succeeded();
        }
        assert!(breaker.admit(at(0)).is_ok());
        assert_eq!(opened().admit(at(4)).unwrap_err(), Duration::from_secs(6));
    }

    #[test]
    fn one_call_tries_and_decides() {
        let breaker = opened();
        let probe = breaker.admit(at(10)).unwrap();
        assert!(breaker.admit(at(10)).is_err());
        probe.failed(at(10));
        assert_eq!(breaker.admit(at(10)).unwrap_err(), Duration::from_secs(20));
        drop(breaker.admit(at(30)).unwrap());
        breaker.admit(at(30)).unwrap().succeeded();
        assert!(breaker.admit(at(30)).is_ok() && breaker.admit(at(30)).is_ok());
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_no_circuit_open() {
        let breaker = Breaker::default();
        for _ in 0..OPENS_AFTER {
            breaker.admit(at(100_000)).unwrap().failed(at(100_000));
        }
        assert!(breaker.admit(at(5)).is_ok());
    }
}
