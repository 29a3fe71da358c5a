//! What the actions of sub-wallets are given: plans that were judged, prices of coins, and what owners have paid.

mod paid;
mod plans;
mod prices;

pub use self::paid::PaidByOwners;
pub use self::plans::WalletPlans;
pub use self::prices::NativePrices;
pub(crate) use self::prices::token_usd;
