#![doc = include_str!("../README.md")]

mod arguments;
pub mod bridge;
mod digest;
mod envelope;
mod exports;
pub mod perp_order;
pub mod pm_order;
mod policy;
pub mod ports;
mod profile;
mod rail;
mod refusal;
mod seal;
mod simulation;
mod strict;
pub mod swap;
mod verify;
pub mod wire;

pub use self::{
    arguments::Problem,
    exports::ExportSet,
    policy::{FeeConfigError, FeeDocument, FeeProblem, LifeSeconds, Moment, Policy, Validity},
    profile::AccountProfile,
    rail::AccountKind,
    refusal::Refusal,
    seal::Sealed,
    verify::Verified,
};
