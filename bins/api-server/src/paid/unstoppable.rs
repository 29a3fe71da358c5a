//! Work that goes on when nobody waits for it any more.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Work that runs in place as long as it is waited for, and in a task of its own from when its future is dropped. A task
/// from the beginning would do the same, at the price of a second task and its wake-ups for every call.
///
/// A panic ends the work alone, as in a task, and is the error.
pub(super) struct Unstoppable<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    /// The tracker waits for the work wherever it runs.
    tracked: TaskTrackerToken,
}

impl<T: Send + 'static> Unstoppable<T> {
    pub(super) fn new(tasks: &TaskTracker, work: impl Future<Output = T> + Send + 'static) -> Self {
        Self {
            work: Some(Box::pin(work)),
            tracked: tasks.token(),
        }
    }
}

impl<T: Send + 'static> Future for Unstoppable<T> {
    type Output = thread::Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(work) = &mut this.work else {
            return Poll::Pending;
        };
        // What a panic leaves behind is dropped and never looked at.
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        let ended = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panic) => Err(panic),
        };
        this.work = None;
        Poll::Ready(ended)
    }
}

impl<T: Send + 'static> Drop for Unstoppable<T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take()
            && let Ok(runtime) = Handle::try_current()
        {
            self.tracked.task_tracker().spawn_on(work, &runtime);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn what_is_waited_for_answers() {
        let tasks = TaskTracker::new();
        let work = async {
            tokio::task::yield_now().await;
            7
        };
        assert_eq!(Unstoppable::new(&tasks, work).await.unwrap(), 7);
        tasks.close();
        tasks.wait().await;
    }

    #[tokio::test]
    async fn what_is_dropped_goes_on_and_is_waited_for() {
        let tasks = TaskTracker::new();
        let (gate, passed) = oneshot::channel::<()>();
        let (done, told) = oneshot::channel();
        let mut work = Unstoppable::new(&tasks, async move {
            passed.await.unwrap();
            done.send(()).unwrap();
        });
        let begun = std::future::poll_fn(|context| {
            assert!(Pin::new(&mut work).poll(context).is_pending());
            Poll::Ready(())
        });
        begun.await;
        drop(work);
        tasks.close();
        assert_eq!(tasks.len(), 1);
        gate.send(()).unwrap();
        tasks.wait().await;
        told.await.unwrap();
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_the_work_alone() {
        let tasks = TaskTracker::new();
        let work = async { panic!("as the test wants it") };
        assert!(Unstoppable::<()>::new(&tasks, work).await.is_err());
        assert!(tasks.is_empty());
    }
}
