//! The reasons why decimal text is refused.

/// The reason why decimal text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecimalError {
    /// The text is empty.
    #[error("empty where a decimal number is expected")]
    Empty,
    /// The text is longer than any number that is read.
    #[error("decimal text of {observed} characters, at most {max} are read")]
    TooLong {
        /// Longest text that is read.
        max: usize,
        /// Length observed.
        observed: usize,
    },
    /// The text is not digits with at most one point between them.
    #[error("not a plain decimal number (digits, with an optional fraction after one point)")]
    Format,
    /// The number has more digits than any price or size.
    #[error("more than 36 digits")]
    TooManyDigits,
    /// The number has more fraction digits than the unit.
    #[error("{observed} fraction digits where at most {allowed} are exact")]
    ExcessDigits {
        /// Fraction digits of the unit.
        allowed: usize,
        /// Fraction digits observed.
        observed: usize,
    },
    /// The number is above 2^256 − 1.
    #[error("number too large")]
    Overflow,
}

impl DecimalError {
    /// A stable code for this refusal.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Empty => "decimal_empty",
            Self::TooLong { .. } => "decimal_too_long",
            Self::Format => "decimal_format",
            Self::TooManyDigits => "decimal_too_many_digits",
            Self::ExcessDigits { .. } => "decimal_excess_digits",
            Self::Overflow => "decimal_overflow",
        }
    }
}
