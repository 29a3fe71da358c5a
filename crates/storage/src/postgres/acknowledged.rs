//! Remembers writes that a process has acknowledged, because a database may lose them.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Prohibitions that this process has acknowledged, such as revocations: one item for each key, in
/// memory only.
///
/// A replica that takes over may lack the last commits, on which somebody may rely. When
/// [`Postgres::history`] changes, the owner of this value therefore writes every item in it once
/// more ([`Self::not_in`]). Writing an item twice must change nothing.
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
    /// The history of the database as it was last seen.
    history: Option<String>,
    /// How often it was seen to change.
    epoch: u64,
    /// How many items were kept, in all.
    kept: u64,
}

#[derive(Debug)]
struct Slot<T> {
    item: T,
    /// The epoch since which the database has had the whole item.
    epoch: u64,
    /// Another one each time that the item is kept.
    version: u64,
}

impl<K: Ord, T> Default for Acknowledged<K, T> {
    fn default() -> Self {
        Self(Mutex::new(Inner {
            items: BTreeMap::new(),
            history: None,
            epoch: 0,
            kept: 0,
        }))
    }
}

/// An item that the database may lack.
#[derive(Debug)]
pub struct Lost<K, T> {
    /// Its key.
    pub key: K,
    /// What must be written again.
    pub item: T,
    epoch: u64,
    version: u64,
}

impl<K: Ord + Clone, T: Clone> Acknowledged<K, T> {
    /// Returns every item that must be written again, because this history may lack it.
    /// [`Self::is_in`] records that one was written.
    #[must_use]
    pub fn not_in(&self, history: &str) -> Vec<Lost<K, T>> {
        let inner = &mut *self.lock();
        if inner.history.as_deref() != Some(history) {
            inner.history = Some(history.to_owned());
            inner.epoch = inner.epoch.saturating_add(1);
        }
        let epoch = inner.epoch;
        let lost = inner.items.iter().filter(|(_, slot)| slot.epoch != epoch);
        lost.map(|(key, slot)| Lost {
            key: key.clone(),
            item: slot.item.clone(),
            epoch,
            version: slot.version,
        })
        .collect()
    }
}

impl<K: Ord, T> Acknowledged<K, T> {
    /// Begins the write of an item. The caller does this before the write, and keeps the claim when
    /// the write is about to be acknowledged. Nothing is remembered before. `merge` adds the item
    /// to the one that has the key already.
    pub fn claim(&self, key: K, item: T, merge: fn(&mut T, T)) -> Claim<'_, K, T> {
        Claim {
            of: self,
            key,
            item,
            merge,
            epoch: self.lock().epoch,
        }
    }

    /// Records that the database has the item. Does nothing when another part of it was kept
    /// meanwhile.
    pub fn is_in(&self, lost: &Lost<K, T>) {
        if let Some(slot) = self.lock().items.get_mut(&lost.key)
            && slot.version == lost.version
        {
            slot.epoch = lost.epoch;
        }
    }

    /// Forgets the items that `keep` does not want. It may also change an item.
    pub fn retain(&self, mut keep: impl FnMut(&mut T) -> bool) {
        let wanted = |_: &K, slot: &mut Slot<T>| keep(&mut slot.item);
        self.lock().items.retain(wanted);
    }

    fn lock(&self) -> MutexGuard<'_, Inner<K, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An item that is being written. When it is dropped without [`Self::keep`], nothing is remembered.
#[derive(Debug)]
#[must_use = "dropping it forgets the item"]
pub struct Claim<'a, K: Ord, T> {
    of: &'a Acknowledged<K, T>,
    key: K,
    item: T,
    merge: fn(&mut T, T),
    /// The epoch before the write. When the database began another history during the write, the
    /// item is written again.
    epoch: u64,
}

impl<K: Ord, T> Claim<'_, K, T> {
    /// Remembers the item from now on: its write is about to be acknowledged.
    pub fn keep(self) {
        let inner = &mut *self.of.lock();
        inner.kept = inner.kept.saturating_add(1);
        let (epoch, version) = (self.epoch, inner.kept);
        match inner.items.entry(self.key) {
            Entry::Vacant(vacant) => {
                vacant.insert(Slot {
                    item: self.item,
                    epoch,
                    version,
                });
            }
            Entry::Occupied(mut occupied) => {
                let slot = occupied.get_mut();
                (self.merge)(&mut slot.item, self.item);
                (slot.epoch, slot.version) = (slot.epoch.min(epoch), version);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Items = Acknowledged<u32, u32>;

    fn add(to: &Items, key: u32, item: u32) -> Claim<'_, u32, u32> {
        to.claim(key, item, |kept, new| *kept = new.max(*kept))
    }

    fn lost(of: &Items, history: &str) -> Vec<(u32, u32)> {
        let lost = of.not_in(history).into_iter();
        lost.map(|lost| (lost.key, lost.item)).collect()
    }

    fn write_again(of: &Items, history: &str) {
        for lost in of.not_in(history) {
            of.is_in(&lost);
        }
    }

    #[test]
    fn a_new_history_needs_everything_again() {
        let items = Items::default();
        for key in [1, 2, 1] {
            add(&items, key, key).keep();
        }
        assert_eq!(lost(&items, "1"), [(1, 1), (2, 2)]);
        write_again(&items, "1");
        assert_eq!(lost(&items, "1"), []);
        add(&items, 3, 3).keep();
        assert_eq!(lost(&items, "1"), []);
        assert_eq!(lost(&items, "2").len(), 3);
        items.retain(|item| *item != 2);
        assert_eq!(lost(&items, "2"), [(1, 1), (3, 3)]);
    }

    #[test]
    fn nothing_is_displaced() {
        let items = Items::default();
        for key in 0..10_000 {
            add(&items, key, key).keep();
        }
        assert_eq!(lost(&items, "1").len(), 10_000);
    }

    /// A write that is refused, or whose caller went away, leaves nothing behind, also beside an
    /// acknowledged one. While it is open, nobody makes it in its place.
    #[test]
    fn only_an_acknowledged_write_is_remembered() {
        let items = Items::default();
        let open = add(&items, 1, 7);
        assert_eq!(lost(&items, "1"), []);
        drop(open);
        assert_eq!(lost(&items, "2"), []);
        add(&items, 1, 5).keep();
        let refused = add(&items, 1, 9);
        assert_eq!(lost(&items, "3"), [(1, 5)]);
        add(&items, 1, 6).keep();
        drop(refused);
        assert_eq!(lost(&items, "4"), [(1, 6)]);
    }

    /// The database begins another history while an item is written, or written again.
    #[test]
    fn what_is_kept_in_a_takeover_is_written_again() {
        let items = Items::default();
        write_again(&items, "1");
        let open = add(&items, 1, 5);
        write_again(&items, "2");
        open.keep();
        assert_eq!(lost(&items, "2"), [(1, 5)]);
        let (before, open) = (items.not_in("2"), add(&items, 1, 9));
        open.keep();
        items.is_in(&before[0]);
        assert_eq!(lost(&items, "2"), [(1, 9)]);
        write_again(&items, "2");
        assert_eq!(lost(&items, "2"), []);
    }
}
