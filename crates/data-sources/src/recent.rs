//! A bounded map that drops the least recently used entry.

use std::{
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hashlink::LruCache;

/// Values by key, at most as many as the capacity. Clones share them. It serves the answers of
/// upstreams, which are read a few times per call, so one lock is enough.
pub(crate) struct Recent<K, V> {
    entries: Arc<Mutex<LruCache<K, V>>>,
}

impl<K: Hash + Eq, V: Clone> Recent<K, V> {
    /// An empty map; nothing is allocated before its first use.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            entries: Arc::new(Mutex::new(LruCache::new(capacity))),
        }
    }

    /// The value of a key. Reading it counts as a use.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.lock().get(key).cloned()
    }

    /// The value of a key; for an unknown key, the value that `make` returns.
    pub(crate) fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> V {
        let mut entries = self.lock();
        if let Some(value) = entries.get(&key) {
            return value.clone();
        }
        let value = make();
        entries.insert(key, value.clone());
        value
    }

    /// Sets the value of a key.
    pub(crate) fn insert(&self, key: K, value: V) {
        self.lock().insert(key, value);
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<K, V>> {
        // A panic can only have come from `make`, before any change.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V> Clone for Recent<K, V> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_evicted() {
        let recent = Recent::new(2);
        recent.insert("a", 1);
        assert_eq!(recent.get_or_insert_with("b", || 2), 2);
        assert_eq!(recent.get(&"a"), Some(1));
        assert_eq!(recent.clone().get_or_insert_with("c", || 3), 3);
        assert_eq!(recent.get(&"b"), None);
        assert_eq!(recent.get_or_insert_with("a", || 4), 1);
    }
}
