//! How much of a ranking is wanted.

/// How much of a ranking is wanted: its first rows, or every row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// The first rows, as many as the ranking shows.
    #[default]
    First,
    /// Every row.
    Whole,
}

impl Extent {
    /// Most rows, where the first `shown` are what the ranking shows.
    #[must_use]
    pub const fn most(self, shown: usize) -> usize {
        match self {
            Self::First => shown,
            Self::Whole => usize::MAX,
        }
    }
}
