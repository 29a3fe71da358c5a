//! Runs two futures at once, without a runtime.

use std::{
    future::{Future, poll_fn},
    task::Poll,
};

/// Returns both outputs when both futures are ready. The futures are boxed, because an `async fn`
/// holds each argument twice, and nesting doubles that again.
pub(super) fn join<A: Future, B: Future>(
    a: A,
    b: B,
) -> impl Future<Output = (A::Output, B::Output)> {
    let (mut a, mut b) = (Box::pin(a), Box::pin(b));
    let (mut left, mut right) = (None, None);
    poll_fn(move |context| {
        if left.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(context)
        {
            left = Some(output);
        }
        if right.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(context)
        {
            right = Some(output);
        }
        match (left.take(), right.take()) {
            (Some(left), Some(right)) => Poll::Ready((left, right)),
            (unfinished_left, unfinished_right) => {
                (left, right) = (unfinished_left, unfinished_right);
                Poll::Pending
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::{
        pin::{Pin, pin},
        task::{Context, Waker},
    };

    use super::*;

    /// A future that is ready at the poll with this number. After that it must not be polled again.
    struct After(u32);

    impl Future for After {
        type Output = u32;

        fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
            self.0 = self
                .0
                .checked_sub(1)
                .expect("a finished future is not polled");
            if self.0 == 0 {
                Poll::Ready(7)
            } else {
                Poll::Pending
            }
        }
    }

    #[test]
    fn both_outputs_are_returned_whichever_is_first() {
        for (a, b) in [(1, 1), (1, 4), (4, 1), (3, 3)] {
            let mut both = pin!(join(After(a), After(b)));
            let mut context = Context::from_waker(Waker::noop());
            for _ in 1..a.max(b) {
                assert_eq!(both.as_mut().poll(&mut context), Poll::Pending);
            }
            assert_eq!(both.as_mut().poll(&mut context), Poll::Ready((7, 7)));
        }
    }
}
