//! A cache of opened keys: opening one takes a second of work and 256 MiB.

use std::collections::HashMap;
use std::sync::Arc;

use keystore::Key;

use crate::Owner;

/// A wallet whose key was opened.
#[derive(Clone)]
pub(super) struct Opened {
    pub(super) key: Arc<Key>,
    pub(super) created_at: Option<u64>,
}

/// Opened keys. When there are too many, the least recently used one is dropped.
#[derive(Default)]
pub(super) struct OpenKeys {
    keys: HashMap<Owner, (Opened, u64)>,
    uses: u64,
}

impl OpenKeys {
    pub(super) fn get(&mut self, owner: Owner) -> Option<Opened> {
        self.uses = self.uses.saturating_add(1);
        let (opened, used) = self.keys.get_mut(&owner)?;
        *used = self.uses;
        Some(opened.clone())
    }

    pub(super) fn put(&mut self, owner: Owner, opened: Opened, most: usize) {
        while self.keys.len() >= most && !self.keys.contains_key(&owner) {
            let oldest = self.keys.iter().min_by_key(|(_, (_, used))| *used);
            let Some(oldest) = oldest.map(|(owner, _)| *owner) else {
                break;
            };
            self.keys.remove(&oldest);
        }
        self.uses = self.uses.saturating_add(1);
        self.keys.insert(owner, (opened, self.uses));
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Address;

    use super::*;

    #[test]
    fn of_too_many_opened_keys_the_least_used_goes() {
        let owner = |number| Owner::new(8453, Address::repeat_byte(number));
        let opened = || Opened {
            key: Arc::new(Key::generate().unwrap()),
            created_at: None,
        };
        let mut open = OpenKeys::default();
        for number in 1..=3 {
            open.put(owner(number), opened(), 3);
        }
        assert!(open.get(owner(1)).is_some());
        open.put(owner(4), opened(), 3);
        // An entry that already exists: none is dropped.
        open.put(owner(4), opened(), 3);
        let there = [1, 2, 3, 4].map(|number| open.get(owner(number)).is_some());
        assert_eq!(there, [true, false, true, true]);
    }
}
