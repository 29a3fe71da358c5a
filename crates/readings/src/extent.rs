//! The requested part of a ranking.

/// The requested part of a ranking: its first rows, or every row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// The first rows: as many as the ranking shows.
    #[default]
    First,
    /// Every row.
    Whole,
}

impl Extent {
    /// The number of rows to return, when a ranking shows the first `shown`.
    #[must_use]
    pub const fn most(self, shown: usize) -> usize {
        match self {
            Self::First => shown,
            Self::Whole => usize::MAX,
        }
    }
}
