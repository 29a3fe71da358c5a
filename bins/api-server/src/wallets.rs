//! What sub-wallets do: what their actions are given (plans that were judged, prices of coins, what
//! owners have paid), how their transactions are sent, what an action's answer shows, and where its
//! intent can be read.

mod intents;
mod mover;
mod open;
mod paid;
mod plans;
mod prices;
mod refused;
mod sending;
mod shown;
mod unanswered;

pub(crate) use self::{
    intents::{PREFIX as INTENTS_PREFIX, answer as answer_intent},
    open::{acting_chains, mover, open},
    prices::token_usd,
    refused::{refused, without_effect},
    sending::{Sending, nodes, with_products},
    shown::{moved, realised, shown},
    unanswered::answer_again,
};
pub use self::{
    mover::{TokenPrices, WalletMover},
    paid::PaidByOwners,
    plans::WalletPlans,
    prices::NativePrices,
};
