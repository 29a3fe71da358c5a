//! Limits on tool calls, for the server as a whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use plan_builder::Refusal;
use tokio::sync::Semaphore;

use crate::mcp::{RawArguments, ToolDescription, ToolResult, Toolbox};
use crate::tools::refused;

/// How many calls are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Calls a second, in the long run.
    pub per_second: u32,
    /// Calls that may come at once.
    pub burst: u32,
    /// Calls that are worked on at the same time.
    pub in_flight: u32,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            per_second: 2_000,
            burst: 4_000,
            in_flight: 1_024,
        }
    }
}

/// A clock that never goes back: the time since some moment.
pub(crate) type Monotonic = Arc<dyn Fn() -> Duration + Send + Sync>;

/// A toolbox that refuses calls above the limits, by the name `rate_limited`.
pub(crate) struct Throttle<T> {
    inner: T,
    limits: CallLimits,
    slots: Semaphore,
    clock: Monotonic,
    /// The moment, in nanoseconds, up to which calls are used up (the "theoretical arrival time" of GCRA).
    used_up_to: AtomicU64,
}

impl<T: Toolbox> Throttle<T> {
    /// The limits over a toolbox, with the system's clock.
    pub(crate) fn new(inner: T, limits: CallLimits) -> Self {
        let start = Instant::now();
        Self::with_clock(inner, limits, Arc::new(move || start.elapsed()))
    }

    /// The limits with another clock.
    pub(crate) fn with_clock(inner: T, limits: CallLimits, clock: Monotonic) -> Self {
        let slots = usize::try_from(limits.in_flight).unwrap_or(usize::MAX);
        Self {
            inner,
            limits,
            slots: Semaphore::new(slots.min(Semaphore::MAX_PERMITS)),
            clock,
            used_up_to: AtomicU64::new(0),
        }
    }

    /// Takes one call from the allowance, or says after how long there is one.
    fn take(&self) -> Result<(), Duration> {
        let each = 1_000_000_000 / u64::from(self.limits.per_second.max(1));
        let ahead = each.saturating_mul(u64::from(self.limits.burst.max(1)));
        let now = u64::try_from((self.clock)().as_nanos()).unwrap_or(u64::MAX);
        let latest = now.saturating_add(ahead);
        let taken = self
            .used_up_to
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                let next = used.max(now).saturating_add(each);
                (next <= latest).then_some(next)
            });
        taken
            .map(drop)
            .map_err(|used| Duration::from_nanos(used.saturating_add(each).saturating_sub(latest)))
    }
}

impl<T: Toolbox> Toolbox for Throttle<T> {
    fn tools(&self) -> &[ToolDescription] {
        self.inner.tools()
    }

    async fn call(&self, name: &str, arguments: &RawArguments<'_>) -> Option<ToolResult> {
        // A name that means nothing is answered as such, at any load.
        self.tools().iter().find(|tool| tool.name == name)?;
        if let Err(wait) = self.take() {
            let limits = &self.limits;
            return Some(refusal(
                format!(
                    "at most {} calls a second, {} at once",
                    limits.per_second, limits.burst
                ),
                format!(
                    "the allowance is used up for {} ms",
                    wait.as_millis().max(1)
                ),
            ));
        }
        let Ok(_slot) = self.slots.try_acquire() else {
            let most = self.limits.in_flight;
            return Some(refusal(
                format!("at most {most} calls at the same time"),
                format!("{most} calls are being worked on"),
            ));
        };
        self.inner.call(name, arguments).await
    }
}

fn refusal(expected: String, observed: String) -> ToolResult {
    let message = "too many calls at the moment; the same call may be sent again shortly";
    refused(&Refusal::new(Refusal::RATE_LIMITED, message).comparing(expected, observed))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use serde_json::{Value, json};
    use tokio::sync::Notify;

    use super::*;
    use crate::mcp::Annotations;

    struct Slow {
        tools: Vec<ToolDescription>,
        entered: Arc<Notify>,
        release: Arc<Notify>,
    }

    impl Toolbox for Slow {
        fn tools(&self) -> &[ToolDescription] {
            &self.tools
        }
        async fn call(&self, _: &str, arguments: &RawArguments<'_>) -> Option<ToolResult> {
            if arguments.json() != "{}" {
                self.entered.notify_one();
                self.release.notified().await;
            }
            let structured = "{}".to_owned();
            Some(ToolResult {
                structured,
                is_error: false,
            })
        }
    }

    fn throttled(limits: CallLimits) -> (Throttle<Slow>, Arc<AtomicU32>, Arc<Notify>, Arc<Notify>) {
        let milliseconds = Arc::new(AtomicU32::new(0));
        let (entered, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let tools = vec![ToolDescription {
            name: "slow".to_owned(),
            title: String::new(),
            description: String::new(),
            input_schema: json!({}),
            output_schema: json!({}),
            annotations: Annotations {
                read_only_hint: true,
                destructive_hint: false,
                idempotent_hint: true,
                open_world_hint: false,
            },
        }];
        let inner = Slow {
            tools,
            entered: entered.clone(),
            release: release.clone(),
        };
        let now = milliseconds.clone();
        let clock: Monotonic =
            Arc::new(move || Duration::from_millis(now.load(Ordering::Relaxed).into()));
        (
            Throttle::with_clock(inner, limits, clock),
            milliseconds,
            entered,
            release,
        )
    }

    async fn is_refused(toolbox: &Throttle<Slow>) -> bool {
        let result = toolbox.call("slow", &RawArguments::NONE).await.unwrap();
        let structured: Value = serde_json::from_str(&result.structured).unwrap();
        let refused = structured["refused"]["check"] == "rate_limited";
        assert_eq!(refused, result.is_error);
        refused
    }

    #[tokio::test]
    async fn a_burst_is_taken_and_then_the_rate() {
        let limits = CallLimits {
            per_second: 10,
            burst: 3,
            in_flight: 8,
        };
        let (toolbox, now, _, _) = throttled(limits);
        for _ in 0..3 {
            assert!(!is_refused(&toolbox).await);
        }
        assert!(is_refused(&toolbox).await);
        now.store(99, Ordering::Relaxed);
        assert!(is_refused(&toolbox).await);
        now.store(100, Ordering::Relaxed);
        assert!(!is_refused(&toolbox).await);
        assert!(is_refused(&toolbox).await);
        // However long it was quiet, no more than a burst has come together.
        now.store(1_000_000, Ordering::Relaxed);
        for _ in 0..3 {
            assert!(!is_refused(&toolbox).await);
        }
        assert!(is_refused(&toolbox).await);
        // A name that is not known costs nothing and says so.
        assert_eq!(toolbox.call("none", &RawArguments::NONE).await, None);
    }

    #[tokio::test]
    async fn calls_at_the_same_time_are_counted() {
        let limits = CallLimits {
            per_second: 1000,
            burst: 1000,
            in_flight: 1,
        };
        let (toolbox, _, entered, release) = throttled(limits);
        let held = RawArguments::read("{\"hold\":true}").unwrap();
        let holding = toolbox.call("slow", &held);
        let others = async {
            entered.notified().await;
            assert!(is_refused(&toolbox).await);
            release.notify_one();
        };
        let (held, ()) = tokio::join!(holding, others);
        assert!(!held.unwrap().is_error);
        assert!(!is_refused(&toolbox).await);
        // A caller that goes away gives its place back.
        {
            let held = RawArguments::read("{\"hold\":true}").unwrap();
            let mut gone = std::pin::pin!(toolbox.call("slow", &held));
            tokio::select! {
                biased;
                _ = &mut gone => panic!("it waits"),
                () = entered.notified() => {}
            }
        }
        assert!(!is_refused(&toolbox).await);
    }
}
