//! How much of an upstream's answer could not be read and was left out.

use std::cell::Cell;

thread_local! {
    static LEFT_OUT: Cell<u64> = const { Cell::new(0) };
}

/// Says that a row or a figure was left out because it cannot be read. Whoever reads the answer
/// counts it, with [`counting`]; otherwise nobody does.
pub fn note() {
    LEFT_OUT.set(LEFT_OUT.get().saturating_add(1));
}

/// Does `work` and counts what it leaves out.
///
/// ```
/// let (read, left_out) = readings::unreadable::counting(|| {
///     readings::unreadable::note();
///     7
/// });
/// assert_eq!((read, left_out), (7, 1));
/// ```
pub fn counting<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = LEFT_OUT.replace(0);
    let done = work();
    (done, LEFT_OUT.replace(before))
}
