//! The gate in front of the calls of one family: its budget, and the pause that the upstream asked
//! for.
//!
//! A call passes before it is sent, waits briefly for weight, or is refused with the time after
//! which it can pass. The gate does not know what a call asks.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    BudgetState, QuotaStore, QuotaStoreError, Rate, common, kept::KeptUse, window::Window,
};
use crate::{error::SourceErrorKind, meter::Meter, provenance::Clock};

/// Longest wait for weight.
const PATIENCE: Duration = Duration::from_millis(800);
/// Shortest and longest pause after an upstream has asked to be paid.
const UNPAID_HOLD: Duration = Duration::from_secs(3_600);
const LONGEST_UNPAID_HOLD: Duration = Duration::from_secs(24 * 3_600);

/// The budget of one family, shared by all of its calls.
pub(crate) struct Gate {
    family: String,
    budget: Option<(Rate, Mutex<Window>)>,
    /// The percentage of the budget that is not for newcomers.
    reserved_percent: u8,
    hold: Mutex<Option<Hold>>,
    kept: Option<KeptUse>,
    /// The end of the pause for which calls that got "too many requests" wait, by the clock that
    /// their sleep uses.
    waited_out: Mutex<Option<Instant>>,
    clock: Arc<dyn Clock>,
}

/// The end of the time in which the family is not asked, and the reason.
#[derive(Clone, Copy, Debug)]
struct Hold {
    until: Duration,
    unpaid: bool,
}

/// An upstream's own count of our use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reported {
    /// Calls that are left.
    pub(crate) left: u32,
    /// The time until all of them are back.
    pub(crate) reset: Duration,
}

impl Gate {
    /// A gate with a budget. Without a budget it only keeps pauses.
    pub(crate) fn new(
        family: String,
        rate: Option<Rate>,
        reserved_percent: u8,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let window = |rate| Mutex::new(Window::new(rate, reserved_percent));
        Self {
            family,
            budget: rate.map(|rate| (rate, window(rate))),
            reserved_percent,
            hold: Mutex::new(None),
            kept: rate.and_then(KeptUse::of),
            waited_out: Mutex::new(None),
            clock,
        }
    }

    /// Lets a call of this weight through, after a short wait if needed, and returns the number of
    /// its grant.
    pub(super) async fn take(&self, weight: u32) -> Result<Option<u64>, SourceErrorKind> {
        self.held()?;
        let Some((_, window)) = &self.budget else {
            return Ok(None);
        };
        let (now, caller) = (self.clock.monotonic(), Meter::caller());
        let taken = lock(window).take(now, weight, caller, PATIENCE);
        let granted = taken.map_err(|wait| SourceErrorKind::OverBudget {
            retry_after: whole_seconds(wait),
        })?;
        if !granted.wait.is_zero() {
            tokio::time::sleep(granted.wait).await;
            // During the wait the upstream may have asked for a pause.
            self.held()?;
        }
        if let Some(kept) = &self.kept {
            kept.spend(&self.family, weight, self.clock.now()).await;
        }
        Ok(Some(granted.id))
    }

    /// From now on, keeps the use of a window of a minute or longer in `store`, and counts the use
    /// that is already there.
    pub(crate) async fn keep_in(&self, store: Arc<dyn QuotaStore>) -> Result<(), QuotaStoreError> {
        let (Some(kept), Some((_, window))) = (&self.kept, &self.budget) else {
            return Ok(());
        };
        let spent = kept.resume(store, &self.family, self.clock.now()).await?;
        let mut window = lock(window);
        for (age, weight) in spent {
            window.resume(self.clock.monotonic(), age, weight);
        }
        Ok(())
    }

    /// Corrects the weight of a call that was let through.
    pub(super) fn correct(&self, grant: u64, weight: u32) {
        if let Some((_, window)) = &self.budget {
            lock(window).correct(grant, weight);
        }
    }

    /// Takes over the upstream's statement about our use.
    pub(crate) fn reported(&self, said: Reported) {
        if let Some((_, window)) = &self.budget {
            lock(window).reported(self.clock.monotonic(), said.left, said.reset);
        }
    }

    /// Pauses the family for `pause`, because the upstream reports too many requests.
    pub(crate) fn hold(&self, pause: Duration) {
        self.close(pause, false);
    }

    /// Waits out a short pause that the upstream asks for. Until it is over, the family is held for
    /// every caller. When there are several pauses, every call waits for the last one.
    pub(crate) async fn wait_out(&self, pause: Duration) {
        let Some(own) = Instant::now().checked_add(pause) else {
            return;
        };
        loop {
            let until = {
                let mut waited_out = lock(&self.waited_out);
                let until = waited_out.map_or(own, |other| other.max(own));
                *waited_out = Some(until);
                until
            };
            tokio::time::sleep_until(until).await;
            if *lock(&self.waited_out) == Some(until) {
                return;
            }
        }
    }

    /// Pauses the family for at least an hour and at most a day, because the upstream asks to be
    /// paid. Returns the length of the pause.
    pub(crate) fn hold_unpaid(&self, asked: Duration) -> Duration {
        let pause = asked.min(LONGEST_UNPAID_HOLD).max(UNPAID_HOLD);
        self.close(pause, true);
        pause
    }

    fn close(&self, pause: Duration, unpaid: bool) {
        let until = self.clock.monotonic().saturating_add(pause);
        let mut hold = lock(&self.hold);
        // Of two calls that end at the same time, the later one may name a shorter pause.
        if hold.is_none_or(|hold| hold.until <= until) {
            *hold = Some(Hold { until, unpaid });
        }
    }

    /// Refuses a call while the family is paused.
    pub(crate) fn held(&self) -> Result<(), SourceErrorKind> {
        let Some((left, unpaid)) = self.hold_left() else {
            return Ok(());
        };
        let retry_after = whole_seconds(left);
        Err(match unpaid {
            true => SourceErrorKind::PaymentRequired { retry_after },
            false => SourceErrorKind::RateLimited {
                retry_after: Some(retry_after),
            },
        })
    }

    /// Whether the family is paused because the upstream asks to be paid.
    pub(crate) fn is_unpaid(&self) -> bool {
        self.hold_left().is_some_and(|(_, unpaid)| unpaid)
    }

    fn hold_left(&self) -> Option<(Duration, bool)> {
        let hold = *lock(&self.hold);
        let hold = hold.map(|hold| {
            let left = hold.until.saturating_sub(self.clock.monotonic());
            (left, hold.unpaid)
        });
        let waited_out = *lock(&self.waited_out);
        let waited_out = waited_out.map(|until| (until.duration_since(Instant::now()), false));
        let holds = [hold, waited_out].into_iter().flatten();
        holds.filter(|(left, _)| !left.is_zero()).max()
    }

    /// The remaining budget; `None` without one.
    pub(crate) fn state(&self) -> Option<BudgetState> {
        let (rate, window) = self.budget.as_ref()?;
        Some(BudgetState {
            family: self.family.clone(),
            left: lock(window).left(self.clock.monotonic()),
            limit: rate.weight,
            common: common(rate.weight, self.reserved_percent),
            window_seconds: rate.seconds,
            held_seconds: self.hold_left().map(|(left, _)| whole_seconds(left)),
        })
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("family", &self.family)
            .finish_non_exhaustive()
    }
}

/// Seconds, rounded up, at least one: a caller that returns after this time is not refused again.
fn whole_seconds(time: Duration) -> u64 {
    let up = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(up).max(1)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use jiff::Timestamp;

    use super::*;

    /// The time of a paused runtime.
    struct Paused(tokio::time::Instant);

    impl Clock for Paused {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }

        fn monotonic(&self) -> Duration {
            self.0.elapsed()
        }
    }

    fn gate(rate: Rate) -> Arc<Gate> {
        let clock = Arc::new(Paused(tokio::time::Instant::now()));
        Arc::new(Gate::new("a".to_owned(), Some(rate), 0, clock))
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_weight_that_is_free_soon() {
        let gate = gate(Rate::per(2, 1));
        for _ in 0..2 {
            gate.take(1).await.unwrap();
        }
        let refused = gate.take(1).await.unwrap_err();
        assert_eq!(refused, SourceErrorKind::OverBudget { retry_after: 2 });
        tokio::time::advance(Duration::from_millis(1_300)).await;
        let started = tokio::time::Instant::now();
        gate.take(1).await.unwrap();
        assert_eq!(started.elapsed().as_millis(), 700);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_requests_are_refused_when_the_upstream_limits_us() {
        let gate = gate(Rate::per(1, 1));
        gate.take(1).await.unwrap();
        tokio::time::advance(Duration::from_millis(1_500)).await;
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { gate.take(1).await }
        });
        tokio::task::yield_now().await;
        gate.hold(Duration::from_secs(60));
        // A shorter pause does not end a longer one.
        gate.hold(Duration::from_secs(1));
        let limited = SourceErrorKind::RateLimited {
            retry_after: Some(60),
        };
        assert_eq!(waiting.await.unwrap(), Err(limited));
        assert_eq!(gate.state().unwrap().held_seconds, Some(60));
    }

    /// A call that waits out its own pause holds the family, and continues when the pause is over.
    #[tokio::test(start_paused = true)]
    async fn a_pause_that_is_waited_out_holds_the_family() {
        let gate = gate(Rate::per(10, 1));
        let waiting = |millis: u64| {
            let gate = gate.clone();
            tokio::spawn(async move {
                gate.wait_out(Duration::from_millis(millis)).await;
                gate.take(1).await
            })
        };
        let (one, other) = (waiting(1_000), waiting(1_200));
        tokio::task::yield_now().await;
        let limited = |seconds| {
            Err(SourceErrorKind::RateLimited {
                retry_after: Some(seconds),
            })
        };
        assert_eq!(gate.take(1).await, limited(2));
        tokio::time::advance(Duration::from_millis(1_100)).await;
        // The first pause is over, the second is not.
        assert_eq!(gate.take(1).await, limited(1));
        one.await.unwrap().unwrap();
        other.await.unwrap().unwrap();
        gate.take(1).await.unwrap();
    }

    /// Many callers at once, over and over: no stretch of a second has more than its share.
    #[tokio::test(start_paused = true)]
    async fn a_crowd_gets_no_more_than_the_rate() {
        let gate = gate(Rate::per(30, 1));
        let (origin, let_through) = (tokio::time::Instant::now(), Arc::new(AtomicU64::new(0)));
        let times = Arc::new(Mutex::new(Vec::new()));
        let mut crowd = tokio::task::JoinSet::new();
        for caller in 0..400_u64 {
            let (gate, times, count) = (gate.clone(), times.clone(), let_through.clone());
            crowd.spawn(async move {
                tokio::time::sleep(Duration::from_millis(caller * 37 % 5_000)).await;
                if gate.take(1).await.is_ok() {
                    count.fetch_add(1, Ordering::SeqCst);
                    lock(&times).push(origin.elapsed());
                }
            });
        }
        crowd.join_all().await;
        let times = lock(&times).clone();
        for end in &times {
            let inside = |at: &&Duration| *at <= end && **at + Duration::from_secs(1) > *end;
            assert!(times.iter().filter(inside).count() <= 30);
        }
        assert!(let_through.load(Ordering::SeqCst) >= 80, "it is no wall");
    }
}
