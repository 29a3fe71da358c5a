//! The part of a ranking that a caller wants.

/// The most rows of a whole ranking. An upstream's list may have tens of thousands of rows, and an
/// answer with all of them would take more memory than everything else together.
const MOST_WHOLE: usize = 250;

/// The part of a ranking that a caller wants: its first rows, or all that an answer may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// The first rows, as many as the ranking shows.
    #[default]
    First,
    /// Every row, up to 250.
    Whole,
}

impl Extent {
    /// Returns how many rows to return when a ranking shows the first `shown`.
    #[must_use]
    pub const fn most(self, shown: usize) -> usize {
        match self {
            Self::First => shown,
            Self::Whole => MOST_WHOLE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_ranking_has_a_bound() {
        assert_eq!(Extent::First.most(20), 20);
        assert_eq!(Extent::Whole.most(20), 250);
    }
}
