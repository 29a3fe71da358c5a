//! Two clocks; each judgement uses the stricter one.

use calldata_checks::UtcSeconds;

/// The time of a judgement by two clocks: the machine's, and the newest sealed block's. An end is
/// judged by the later clock, a beginning by the earlier one.
///
/// # Example
/// ```
/// use delegation_fence::Now;
/// use calldata_checks::UtcSeconds;
///
/// let now = Now { wall: UtcSeconds::from_unix(100), chain: UtcSeconds::from_unix(160) };
/// assert_eq!((now.earliest().unix(), now.latest().unix()), (100, 160));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// By the machine's clock.
    pub wall: UtcSeconds,
    /// The time of the newest sealed block.
    pub chain: UtcSeconds,
}

impl Now {
    /// One clock for both, where no chain is read.
    #[must_use]
    pub const fn offline(wall: UtcSeconds) -> Self {
        Self { wall, chain: wall }
    }

    /// The clock for an end.
    #[must_use]
    pub fn latest(self) -> UtcSeconds {
        self.wall.max(self.chain)
    }

    /// The clock for a beginning.
    #[must_use]
    pub fn earliest(self) -> UtcSeconds {
        self.wall.min(self.chain)
    }
}
