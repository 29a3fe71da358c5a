//! The two choices that all parts of the rail share.

/// The kind of account that a bridge is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccountKind {
    /// An account with a key: it is the same on every chain.
    Eoa,
    /// A Safe: it exists on one chain only, until somebody deploys it on another.
    Safe,
}

/// The finality that a burn needs before it is attested.
///
/// # Example
/// ```
/// use calldata_checks::bridge::TransferSpeed;
///
/// assert_eq!(TransferSpeed::Fast.finality_threshold(), 1000);
/// assert_eq!(TransferSpeed::Standard.as_str(), "standard");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransferSpeed {
    /// Confirmed, within seconds, for a fee.
    Fast,
    /// Finalized.
    Standard,
}

impl TransferSpeed {
    /// The `minFinalityThreshold`: 1000 is confirmed, 2000 is finalized.
    #[must_use]
    pub const fn finality_threshold(self) -> u32 {
        match self {
            Self::Fast => 1000,
            Self::Standard => 2000,
        }
    }

    /// The name in a request.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Standard => "standard",
        }
    }
}
