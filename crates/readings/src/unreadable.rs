//! Counts the parts of an upstream's answer that a reader could not read and left out.

use std::cell::Cell;

thread_local! {
    static LEFT_OUT: Cell<u64> = const { Cell::new(0) };
}

/// Notes that an unreadable row or figure was left out. [`counting`] counts the note when the read
/// runs inside it; otherwise the note is lost.
pub fn note() {
    LEFT_OUT.set(LEFT_OUT.get().saturating_add(1));
}

/// Runs `work` and counts the parts that it left out.
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
