//! Remembers writes that a process has acknowledged, because a database may lose them.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// How many items are remembered. When there are more, the oldest is forgotten.
const MOST: usize = 4096;

/// Prohibitions that this process has acknowledged, such as revocations. They are in memory only.
///
/// A replica that takes over may lack the last commits, on which somebody may rely. When
/// [`Postgres::history`] changes, the owner of this value therefore writes every item in it once
/// more. Writing an item twice must change nothing.
///
/// [`Postgres::history`]: super::Postgres::history
#[derive(Debug)]
pub struct Acknowledged<T>(Mutex<Inner<T>>);

#[derive(Debug)]
struct Inner<T> {
    items: VecDeque<T>,
    /// The history of the database to which all items were written.
    history: Option<String>,
}

impl<T> Default for Acknowledged<T> {
    fn default() -> Self {
        Self(Mutex::new(Inner {
            items: VecDeque::new(),
            history: None,
        }))
    }
}

impl<T: Clone + PartialEq> Acknowledged<T> {
    /// Remembers an item. The caller does this before it writes the item: if the outcome of the
    /// write stays unknown, another process may have acknowledged it.
    pub fn add(&self, item: T) {
        let mut inner = self.lock();
        if inner.items.contains(&item) {
            return;
        }
        if inner.items.len() >= MOST {
            inner.items.pop_front();
        }
        inner.items.push_back(item);
    }

    /// Returns every item that must be written again in this history. `None` when that is done.
    #[must_use]
    pub fn not_in(&self, history: &str) -> Option<Vec<T>> {
        let inner = self.lock();
        let is_other = inner.history.as_deref() != Some(history);
        is_other.then(|| inner.items.iter().cloned().collect())
    }

    /// Records that every item was written again in this history.
    pub fn are_in(&self, history: String) {
        self.lock().history = Some(history);
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_history_needs_everything_again() {
        let acknowledged = Acknowledged::default();
        for item in [1, 2, 1] {
            acknowledged.add(item);
        }
        assert_eq!(acknowledged.not_in("1"), Some(vec![1, 2]));
        acknowledged.are_in("1".to_owned());
        assert_eq!(acknowledged.not_in("1"), None);
        acknowledged.add(3);
        assert_eq!(acknowledged.not_in("1"), None);
        assert_eq!(acknowledged.not_in("2"), Some(vec![1, 2, 3]));
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let acknowledged = Acknowledged::default();
        (0..=MOST).for_each(|item| acknowledged.add(item));
        let kept = acknowledged.not_in("1").unwrap();
        assert_eq!((kept.len(), kept[0]), (MOST, 1));
    }
}
