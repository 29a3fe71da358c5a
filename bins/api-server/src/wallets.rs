//! What the actions of sub-wallets are given: plans that were judged, prices of coins, and what owners have paid.

mod paid;
mod plans;
mod prices;

pub(crate) use self::paid::PaidByOwners;
pub(crate) use self::plans::WalletPlans;
pub(crate) use self::prices::{NativePrices, token_usd};
