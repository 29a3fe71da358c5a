//! The tightest of several limits.

use alloy_primitives::U256;

use crate::Limit;

/// The tightest of a holder's limits for a grant; `None` where no limit states a value.
///
/// # Example
/// ```
/// use alloy_primitives::{Address, B256, U256};
/// use delegation_fence::{Limit, Tightest};
///
/// let limit = |cap: u64, swaps| Limit {
///     account: Address::ZERO,
///     grant_id: B256::ZERO,
///     per_swap_cap: U256::from(cap),
///     max_swaps: swaps,
///     outflow_24h: U256::ZERO,
///     issued_at: 0,
/// };
/// let tightest = Tightest::default().and(&limit(1000, 0)).and(&limit(3000, 5));
/// assert_eq!(tightest.per_swap_cap, Some(U256::from(1000)));
/// assert_eq!(tightest.max_swaps, Some(5));
/// assert_eq!(tightest.outflow_24h, None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tightest {
    /// The most that one swap takes.
    pub per_swap_cap: Option<U256>,
    /// The most plans whose third step is signed.
    pub max_swaps: Option<u64>,
    /// The most that the swaps of any 24 hours take.
    pub outflow_24h: Option<U256>,
}

impl Tightest {
    /// Adds one limit. It never loosens: zero in a limit's member states no value.
    #[must_use]
    pub fn and(self, limit: &Limit) -> Self {
        Self {
            per_swap_cap: lower(self.per_swap_cap, limit.per_swap_cap, U256::ZERO),
            max_swaps: lower(self.max_swaps, limit.max_swaps, 0),
            outflow_24h: lower(self.outflow_24h, limit.outflow_24h, U256::ZERO),
        }
    }
}

fn lower<T: Ord + Copy>(known: Option<T>, new: T, none: T) -> Option<T> {
    if new == none {
        return known;
    }
    Some(known.map_or(new, |known| known.min(new)))
}
