//! How answers began last.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::B256;
use ledger::Beginning;

/// Longer ones are not kept.
const LONGEST: usize = 16 * 1024;

/// Requests whose answers are known to have begun in some way; others take their place.
const REQUESTS: usize = 64;

/// How the last answers to requests began, by the digests of the requests.
#[derive(Debug)]
pub(crate) struct Beginnings([LastBeginning; REQUESTS]);

impl Beginnings {
    /// How the last answer to a request began.
    pub(crate) fn of(&self, request: B256) -> Option<&LastBeginning> {
        self.0.get(usize::from(request.0[0]) % REQUESTS)
    }
}

impl Default for Beginnings {
    fn default() -> Self {
        Self(std::array::from_fn(|_| LastBeginning::default()))
    }
}

/// How the last answer to a request began. One that begins in the same way is not hashed anew.
#[derive(Default)]
pub(crate) struct LastBeginning(Mutex<Option<Arc<Beginning>>>);

impl LastBeginning {
    /// The beginning of this text.
    pub(super) fn with(&self, text: Vec<u8>) -> Arc<Beginning> {
        let last = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = last().as_ref().filter(|last| last.bytes() == text) {
            return same.clone();
        }
        let is_kept = text.len() <= LONGEST;
        let beginning = Arc::new(Beginning::new(text));
        if is_kept {
            *last() = Some(beginning.clone());
        }
        beginning
    }
}

impl fmt::Debug for LastBeginning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastBeginning")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_as_the_last_one_did_is_the_same_beginning() {
        let last = LastBeginning::default();
        let with = |text: &str| last.with(text.into());
        let first = with("a");
        assert!(Arc::ptr_eq(&first, &with("a")));
        let other = with("b");
        assert_eq!(other.bytes(), b"b");
        assert!(Arc::ptr_eq(&other, &with("b")));
        assert!(!Arc::ptr_eq(&first, &with("a")));
        let long = "c".repeat(LONGEST + 1);
        assert!(!Arc::ptr_eq(&with(&long), &with(&long)));
        assert_eq!(with(&long).bytes(), long.as_bytes());
    }
}
