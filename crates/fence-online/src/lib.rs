#![doc = include_str!("../README.md")]

mod answers;
mod client;
mod confirm;
mod log;
mod node;
mod now;
mod onchain;
mod order;
mod status;
mod submit;

pub use self::{
    confirm::{Confirm, confirm},
    log::{FetchLog, fetch_log},
    node::Endpoint,
    now::{RevokeNow, revoke_now},
    onchain::{OnChain, clear_allowance, read_back},
    order::{SubmitOrder, submit_order},
    status::{Status, status},
    submit::{
        SubmitGrant, SubmitLimit, SubmitRevocation, submit_grant, submit_limit, submit_revocation,
    },
};
