#![doc = include_str!("../README.md")]

mod answers;
mod client;
mod confirm;
mod node;
mod now;
mod onchain;
mod status;
mod submit;

pub use self::{
    confirm::{Confirm, confirm},
    node::Endpoint,
    now::{RevokeNow, revoke_now},
    onchain::{OnChain, clear_allowance, read_back},
    status::{Status, status},
    submit::{
        SubmitGrant, SubmitLimit, SubmitRevocation, submit_grant, submit_limit, submit_revocation,
    },
};
