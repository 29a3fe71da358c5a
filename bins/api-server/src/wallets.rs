//! What sub-wallets do: how their transactions are sent, what an action's answer shows, and where its intent can be read.

mod intents;
mod refused;
mod sending;
mod shown;
mod unanswered;

pub(crate) use self::{
    intents::{PREFIX as INTENTS_PREFIX, answer as answer_intent},
    refused::{refused, without_effect},
    sending::{Sending, nodes},
    shown::{realised, shown},
    unanswered::{KeptCall, answer_again},
};
