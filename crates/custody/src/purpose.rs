//! The purpose of a key.

/// The purpose of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// A plan that the fence admitted: one of its steps, the clearing of its allowance, or the
    /// freeing of one of their nonces.
    FencedPlan,
    /// An action that the wallet's owner has paid for: one of its transactions, or the freeing of
    /// one of their nonces.
    WalletAction,
}

impl Purpose {
    /// A short name for logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FencedPlan => "fenced_plan",
            Self::WalletAction => "wallet_action",
        }
    }
}
