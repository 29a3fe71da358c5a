//! Counts the upstream requests of one piece of work, and the things that it leaves behind. Work
//! that ends without a payment can then be charged to the caller that caused it.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use crate::probe::Witness;

tokio::task_local! {
    static CURRENT: Meter;
}

/// Whose work asks upstreams. It decides how much of a budget or quota the work may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Work that nobody's credit covers: of newcomers, and free calls. The reserved part of budgets
    /// and quotas is not for it.
    Newcomer,
    /// Work that the credit of its payer covers, and the server's own work.
    Credited,
}

/// Counts the requests that a piece of work sends to upstreams, and says whose work it is. Clones
/// share the counts.
///
/// Every request on the wire counts, retries included. A value that many callers wait for counts
/// for the caller that started the fetch. Callers that only wait, or get a kept value, pay nothing.
/// Work that a caller moves into another task is not counted unless that task has a
/// [`scope`](Self::scope) too.
///
/// ```
/// use data_sources::{Caller, Meter, Usage};
///
/// # async fn work() {}
/// # async fn run() {
/// let meter = Meter::new(Caller::Newcomer);
/// meter.scope(work()).await;
/// assert_eq!(meter.usage(), Usage::default());
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Meter {
    caller: Caller,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    upstream: AtomicU32,
    models: AtomicU32,
    kept: AtomicU32,
}

/// The counts of a [`Meter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Requests to upstreams of data, and polls of a model's running work.
    pub upstream_calls: u32,
    /// Requests that start work of a model.
    pub model_calls: u32,
    /// Things that stay for good even when the work ends uncharged.
    pub kept: u32,
}

/// The kind of cost of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Expense {
    /// The request reads data.
    #[default]
    Data,
    /// The request starts work of a model.
    Model,
}

impl Meter {
    /// A meter at zero for the work of a caller.
    #[must_use]
    pub fn new(caller: Caller) -> Self {
        Self {
            caller,
            counts: Arc::default(),
        }
    }

    /// Whose work is running. Work without a meter is the server's own work.
    pub(crate) fn caller() -> Caller {
        let metered = CURRENT.try_with(|meter| meter.caller);
        metered.unwrap_or(Caller::Credited)
    }

    /// Runs `work` and counts its requests in this meter, instead of in the meter around it.
    pub async fn scope<F: Future>(&self, work: F) -> F::Output {
        CURRENT.scope(self.clone(), work).await
    }

    /// The counts so far, including requests that are still running.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage {
            upstream_calls: self.counts.upstream.load(Ordering::Relaxed),
            model_calls: self.counts.models.load(Ordering::Relaxed),
            kept: self.counts.kept.load(Ordering::Relaxed),
        }
    }

    /// Counts one request in the meter of the running work, if there is one.
    pub(crate) fn count(expense: Expense) {
        Self::add(|counts| match expense {
            Expense::Data => &counts.upstream,
            Expense::Model => &counts.models,
        });
    }

    /// Counts something that the running work is about to make and that stays even when the work
    /// ends uncharged. Counted before it is made: work that is cut off meanwhile may have made it.
    /// [`Kept::was_not_made`] takes the count back.
    pub fn count_kept() -> Kept {
        Self::add(|counts| &counts.kept);
        Kept {
            meter: CURRENT.try_with(Clone::clone).ok(),
        }
    }

    fn add(counter: impl FnOnce(&Counts) -> &AtomicU32) {
        let add = |meter: &Self| {
            let more = |count: u32| Some(count.saturating_add(1));
            // The update always returns a value, so the outcome is always `Ok`.
            let _ = counter(&meter.counts).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        };
        // Work without a meter is the server's own work.
        let _ = CURRENT.try_with(add);
    }

    /// Counts `work` in the meter of the caller, even when it runs in another task.
    pub fn carry<F: Future>(work: F) -> impl Future<Output = F::Output> {
        let meter = CURRENT.try_with(Clone::clone).ok();
        let work = Witness::carry(work);
        async move {
            match meter {
                Some(meter) => meter.scope(work).await,
                None => work.await,
            }
        }
    }
}

/// One count of a thing that stays.
#[derive(Debug)]
#[must_use = "a thing that was not made must not be counted"]
pub struct Kept {
    meter: Option<Meter>,
}

impl Kept {
    /// Leaves the count as it is: the thing was made, or may have been.
    pub fn stays(self) {}

    /// Takes the count back.
    pub fn was_not_made(self) {
        if let Some(meter) = self.meter {
            let less = |count: u32| Some(count.saturating_sub(1));
            let counter = &meter.counts.kept;
            // The update always returns a value, so the outcome is always `Ok`.
            let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(upstream_calls: u32, model_calls: u32) -> Usage {
        Usage {
            upstream_calls,
            model_calls,
            kept: 0,
        }
    }

    #[tokio::test]
    async fn things_that_stay_count_until_it_is_known_that_they_were_not_made() {
        let meter = Meter::new(Caller::Newcomer);
        let work = async {
            Meter::count_kept().stays();
            Meter::count_kept().was_not_made();
            // Work that is cut off here drops the count's handle, and the count stays.
            drop(Meter::count_kept());
        };
        meter.scope(work).await;
        Meter::count_kept().stays();
        assert_eq!(meter.usage().kept, 2);
    }

    #[tokio::test]
    async fn the_innermost_scope_counts() {
        let (outer, inner) = (Meter::new(Caller::Newcomer), Meter::new(Caller::Newcomer));
        let work = async {
            Meter::count(Expense::Data);
            inner.scope(async { Meter::count(Expense::Model) }).await;
            Meter::count(Expense::Model);
        };
        outer.scope(work).await;
        Meter::count(Expense::Data);
        assert_eq!(outer.usage(), usage(1, 1));
        assert_eq!(inner.usage(), usage(0, 1));
    }

    #[tokio::test]
    async fn carried_work_is_that_of_its_caller() {
        let carried = || async { tokio::spawn(Meter::carry(async { Meter::caller() })).await };
        for caller in [Caller::Newcomer, Caller::Credited] {
            let told = Meter::new(caller).scope(carried()).await;
            assert_eq!(told.unwrap(), caller);
        }
        assert_eq!(carried().await.unwrap(), Caller::Credited);
    }

    #[tokio::test]
    async fn carried_work_counts_for_its_caller() {
        let meter = Meter::new(Caller::Newcomer);
        let work = || async { Meter::count(Expense::Data) };
        let spawned = async {
            tokio::spawn(work()).await.unwrap();
            tokio::spawn(Meter::carry(work())).await.unwrap();
        };
        meter.scope(spawned).await;
        tokio::spawn(Meter::carry(work())).await.unwrap();
        assert_eq!(meter.clone().usage(), usage(1, 0));
    }
}
