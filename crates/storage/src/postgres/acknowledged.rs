//! Remembers writes that a process has acknowledged, because a database may lose them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Prohibitions that this process has acknowledged, such as revocations: one item for each key, in
/// memory only.
///
/// A replica that takes over may lack the last commits, on which somebody may rely. When
/// [`Postgres::history`] changes, the owner of this value therefore writes every item in it once
/// more. Writing an item twice must change nothing.
///
/// No item displaces another one. The owner bounds the number of items: it keeps one only when the
/// database holds it, and forgets with [`Self::retain`] what no longer matters.
///
/// [`Postgres::history`]: super::Postgres::history
#[derive(Debug)]
pub struct Acknowledged<K: Ord, T>(Mutex<Inner<K, T>>);

#[derive(Debug)]
struct Inner<K: Ord, T> {
    items: BTreeMap<K, Slot<T>>,
    /// The history of the database to which all items were written.
    history: Option<String>,
}

#[derive(Debug)]
struct Slot<T> {
    item: T,
    /// How many writes of the item have not ended.
    claims: usize,
    /// Whether one of its writes was acknowledged.
    is_kept: bool,
}

impl<K: Ord, T> Default for Acknowledged<K, T> {
    fn default() -> Self {
        Self(Mutex::new(Inner {
            items: BTreeMap::new(),
            history: None,
        }))
    }
}

impl<K: Ord + Clone, T: Clone> Acknowledged<K, T> {
    /// Remembers an item while it is written. The caller does this before the write, so that a
    /// database that loses the item during the write gets it again. `merge` adds the item to the
    /// one that has the key already.
    pub fn claim(&self, key: K, item: T, merge: impl FnOnce(&mut T, T)) -> Claim<'_, K, T> {
        let mut inner = self.lock();
        match inner.items.get_mut(&key) {
            Some(slot) => {
                slot.claims = slot.claims.saturating_add(1);
                merge(&mut slot.item, item);
            }
            None => {
                let slot = Slot {
                    item,
                    claims: 1,
                    is_kept: false,
                };
                inner.items.insert(key.clone(), slot);
            }
        }
        Claim {
            of: self,
            key,
            is_kept: false,
        }
    }

    /// Forgets the items that `keep` does not want. It may also change an item.
    pub fn retain(&self, mut keep: impl FnMut(&mut T) -> bool) {
        let wanted = |_: &K, slot: &mut Slot<T>| slot.claims > 0 || keep(&mut slot.item);
        self.lock().items.retain(wanted);
    }

    /// Returns every item that must be written again in this history. `None` when that is done.
    #[must_use]
    pub fn not_in(&self, history: &str) -> Option<Vec<(K, T)>> {
        let inner = self.lock();
        let is_other = inner.history.as_deref() != Some(history);
        let items = inner.items.iter();
        is_other.then(|| {
            items
                .map(|(key, slot)| (key.clone(), slot.item.clone()))
                .collect()
        })
    }

    /// Records that every item was written again in this history.
    pub fn are_in(&self, history: String) {
        self.lock().history = Some(history);
    }
}

impl<K: Ord, T> Acknowledged<K, T> {
    fn lock(&self) -> MutexGuard<'_, Inner<K, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An item that is being written. When it is dropped without [`Self::keep`], the item is forgotten,
/// unless another write of it was acknowledged or has not ended.
#[derive(Debug)]
#[must_use = "dropping it forgets the item"]
pub struct Claim<'a, K: Ord, T> {
    of: &'a Acknowledged<K, T>,
    key: K,
    is_kept: bool,
}

impl<K: Ord, T> Claim<'_, K, T> {
    /// Remembers the item from now on: its write is about to be acknowledged.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl<K: Ord, T> Drop for Claim<'_, K, T> {
    fn drop(&mut self) {
        let mut inner = self.of.lock();
        let Some(slot) = inner.items.get_mut(&self.key) else {
            return;
        };
        slot.claims = slot.claims.saturating_sub(1);
        slot.is_kept |= self.is_kept;
        if slot.claims == 0 && !slot.is_kept {
            inner.items.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(to: &Acknowledged<u32, u32>, key: u32) -> Claim<'_, u32, u32> {
        to.claim(key, key, |kept, new| *kept = new.max(*kept))
    }

    fn keys(of: &Acknowledged<u32, u32>) -> Vec<u32> {
        let items = of.not_in("another").unwrap();
        items.into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn a_new_history_needs_everything_again() {
        let acknowledged = Acknowledged::default();
        for item in [1, 2, 1] {
            add(&acknowledged, item).keep();
        }
        assert_eq!(acknowledged.not_in("1"), Some(vec![(1, 1), (2, 2)]));
        acknowledged.are_in("1".to_owned());
        assert_eq!(acknowledged.not_in("1"), None);
        add(&acknowledged, 3).keep();
        assert_eq!(acknowledged.not_in("1"), None);
        assert_eq!(acknowledged.not_in("2").unwrap().len(), 3);
        acknowledged.retain(|item| *item != 2);
        assert_eq!(keys(&acknowledged), [1, 3]);
    }

    #[test]
    fn nothing_is_displaced() {
        let acknowledged = Acknowledged::default();
        for item in 0..10_000 {
            add(&acknowledged, item).keep();
        }
        assert_eq!(keys(&acknowledged).len(), 10_000);
    }

    /// A write that is refused, or whose caller went away, leaves nothing behind.
    #[test]
    fn an_item_is_remembered_while_a_write_of_it_is_open_or_acknowledged() {
        let acknowledged = Acknowledged::default();
        drop(add(&acknowledged, 1));
        assert!(keys(&acknowledged).is_empty());
        let (refused, open) = (add(&acknowledged, 1), add(&acknowledged, 1));
        drop(refused);
        assert_eq!(keys(&acknowledged), [1]);
        acknowledged.retain(|_| false);
        open.keep();
        drop(add(&acknowledged, 1));
        assert_eq!(keys(&acknowledged), [1]);
    }
}
