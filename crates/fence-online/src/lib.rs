#![doc = include_str!("../README.md")]

mod answers;
mod client;
mod confirm;
mod now;
mod status;
mod submit;

pub use self::{
    confirm::{Confirm, confirm},
    now::{RevokeNow, revoke_now},
    status::{Status, status},
    submit::{SubmitGrant, SubmitRevocation, submit_grant, submit_revocation},
};
