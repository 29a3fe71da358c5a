//! The actions of sub-wallets: judged plans, prices of coins, the owners' payments, how
//! transactions are sent, the fields of an action's answer, and where its intent can be read.

mod intents;
mod mover;
mod open;
mod paid;
mod plans;
mod prices;
mod refused;
mod sending;
mod unanswered;
mod uncharged;
mod view;

pub(crate) use self::{
    intents::{PREFIX as INTENTS_PREFIX, answer as answer_intent},
    open::{acting_chains, mover, open},
    refused::{refused, still_held, without_effect},
    sending::{Sending, nodes, with_products},
    unanswered::answer_again,
    view::{begun_intent, intent_view, moved, realised},
};
pub use self::{
    mover::{TokenPrices, WalletMover},
    paid::PaidByOwners,
    plans::WalletPlans,
    prices::NativePrices,
};
