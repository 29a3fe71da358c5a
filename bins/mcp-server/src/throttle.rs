//! Limits the rate and the concurrency of tool calls, for any toolbox. [`shares`](crate::shares)
//! and the adapters keep to the limits of the venues.

use http_edge::rates::clock::{Clock, MonotonicClock};
use http_edge::rates::{Rate, Rates};
use plan_builder::Refusal;
use tokio::sync::Semaphore;

use crate::mcp::{ToolCall, ToolDescription, ToolResult, Toolbox};
use crate::tools::refused;

/// The limits on calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Calls a second of all callers, in the long run. When they are used up, each client address
    /// still has a hundredth.
    pub per_second: u32,
    /// Calls in a burst. When they are used up, each client address still has a hundredth.
    pub burst: u32,
    /// Calls in progress at the same time.
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

/// A toolbox that refuses calls above the limits as `rate_limited`.
pub(crate) struct Throttle<T, C: Clock = MonotonicClock> {
    inner: T,
    limits: CallLimits,
    slots: Semaphore,
    rates: Rates<C>,
}

impl<T: Toolbox> Throttle<T> {
    /// The limits over a toolbox, with the system's clock.
    pub(crate) fn new(inner: T, limits: CallLimits) -> Self {
        Self::with_clock(inner, limits, MonotonicClock)
    }
}

impl<T, C: Clock + Clone> Throttle<T, C> {
    /// The limits with another clock.
    fn with_clock(inner: T, limits: CallLimits, clock: C) -> Self {
        let slots = usize::try_from(limits.in_flight).unwrap_or(usize::MAX);
        let CallLimits {
            per_second, burst, ..
        } = limits;
        Self {
            inner,
            limits,
            slots: Semaphore::new(slots.min(Semaphore::MAX_PERMITS)),
            rates: Rates::new(Rate { per_second, burst }, clock),
        }
    }
}

impl<T, C> Toolbox for Throttle<T, C>
where
    T: Toolbox,
    C: Clock<Instant: Send + Sync> + Clone + Send + Sync + 'static,
{
    fn tools(&self) -> &[ToolDescription] {
        self.inner.tools()
    }

    async fn call(&self, call: &ToolCall<'_>) -> Option<ToolResult> {
        // An unknown name gets its own answer at any load.
        self.tools().iter().find(|tool| tool.name == call.name)?;
        if let Err(seconds) = self.rates.take(call.client) {
            let CallLimits {
                per_second, burst, ..
            } = self.limits;
            return Some(refusal(
                format!("at most {per_second} calls a second, {burst} at once"),
                "the allowance is used up".to_owned(),
                seconds,
            ));
        }
        let Ok(_slot) = self.slots.try_acquire() else {
            let most = self.limits.in_flight;
            return Some(refusal(
                format!("at most {most} calls at the same time"),
                format!("{most} calls are being worked on"),
                1,
            ));
        };
        self.inner.call(call).await
    }
}

fn refusal(expected: String, observed: String, seconds: u64) -> ToolResult {
    let message = "too many calls at the moment; the same call may be sent again shortly";
    let refusal = Refusal::new(Refusal::RATE_LIMITED, message).comparing(expected, observed);
    refused(&refusal.after(seconds))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;
    use std::time::Duration;

    use http_edge::rates::clock::FakeRelativeClock;
    use serde_json::{Value, json};
    use tokio::sync::Notify;

    use super::*;
    use crate::mcp::{Annotations, RawArguments};

    struct Slow {
        tools: Vec<ToolDescription>,
        entered: Arc<Notify>,
        release: Arc<Notify>,
    }

    impl Toolbox for Slow {
        fn tools(&self) -> &[ToolDescription] {
            &self.tools
        }
        async fn call(&self, call: &ToolCall<'_>) -> Option<ToolResult> {
            if call.arguments.json() != "{}" {
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

    type Throttled = Throttle<Slow, FakeRelativeClock>;

    fn throttled(limits: CallLimits) -> (Throttled, FakeRelativeClock, Arc<Notify>, Arc<Notify>) {
        let clock = FakeRelativeClock::default();
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
        (
            Throttle::with_clock(inner, limits, clock.clone()),
            clock,
            entered,
            release,
        )
    }

    fn slow(arguments: RawArguments<'_>) -> ToolCall<'_> {
        ToolCall {
            name: "slow",
            arguments,
            client: None,
        }
    }

    async fn is_refused(toolbox: &Throttled) -> bool {
        is_refused_to(toolbox, None).await
    }

    async fn is_refused_to(toolbox: &Throttled, client: Option<IpAddr>) -> bool {
        let call = ToolCall {
            client,
            ..slow(RawArguments::NONE)
        };
        let result = toolbox.call(&call).await.unwrap();
        let structured: Value = serde_json::from_str(&result.structured).unwrap();
        let refused = structured["refused"]["check"] == "rate_limited";
        assert_eq!(refused, result.is_error);
        let retry_after = structured["refused"]["retry_after"].as_u64();
        assert_eq!(refused, retry_after.is_some_and(|seconds| seconds > 0));
        refused
    }

    #[tokio::test]
    async fn one_caller_cannot_use_up_the_calls_of_the_others() {
        let limits = CallLimits {
            per_second: 100,
            burst: 200,
            in_flight: 8,
        };
        let (toolbox, clock, _, _) = throttled(limits);
        let [greedy, modest] = ["192.0.2.1", "192.0.2.2"].map(|text| Some(text.parse().unwrap()));
        let mut served = 0;
        while !is_refused_to(&toolbox, greedy).await {
            served += 1;
        }
        // The common limit, and the caller's own share.
        assert_eq!(served, 202);
        assert!(is_refused_to(&toolbox, None).await);
        for _ in 0..2 {
            assert!(!is_refused_to(&toolbox, modest).await);
        }
        assert!(is_refused_to(&toolbox, modest).await);
        clock.advance(Duration::from_secs(1));
        assert!(!is_refused_to(&toolbox, modest).await);
    }

    #[tokio::test]
    async fn a_burst_is_taken_and_then_the_rate() {
        let limits = CallLimits {
            per_second: 10,
            burst: 3,
            in_flight: 8,
        };
        let (toolbox, clock, _, _) = throttled(limits);
        for _ in 0..3 {
            assert!(!is_refused(&toolbox).await);
        }
        assert!(is_refused(&toolbox).await);
        clock.advance(Duration::from_millis(99));
        assert!(is_refused(&toolbox).await);
        clock.advance(Duration::from_millis(1));
        assert!(!is_refused(&toolbox).await);
        assert!(is_refused(&toolbox).await);
        // After any pause, at most one burst is available.
        clock.advance(Duration::from_secs(1_000));
        for _ in 0..3 {
            assert!(!is_refused(&toolbox).await);
        }
        assert!(is_refused(&toolbox).await);
        // An unknown name is answered as unknown and costs nothing.
        let unknown = ToolCall {
            name: "none",
            ..slow(RawArguments::NONE)
        };
        assert_eq!(toolbox.call(&unknown).await, None);
    }

    #[tokio::test]
    async fn calls_at_the_same_time_are_counted() {
        let limits = CallLimits {
            per_second: 1000,
            burst: 1000,
            in_flight: 1,
        };
        let (toolbox, _, entered, release) = throttled(limits);
        let holds = slow(RawArguments::read("{\"hold\":true}").unwrap());
        let holding = toolbox.call(&holds);
        let others = async {
            entered.notified().await;
            assert!(is_refused(&toolbox).await);
            release.notify_one();
        };
        let (held, ()) = tokio::join!(holding, others);
        assert!(!held.unwrap().is_error);
        assert!(!is_refused(&toolbox).await);
        // A caller that disconnects gives its place back.
        {
            let mut gone = std::pin::pin!(toolbox.call(&holds));
            tokio::select! {
                biased;
                _ = &mut gone => panic!("it waits"),
                () = entered.notified() => {}
            }
        }
        assert!(!is_refused(&toolbox).await);
    }
}
