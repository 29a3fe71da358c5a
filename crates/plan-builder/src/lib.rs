#![doc = include_str!("../README.md")]

mod account_kind;
mod arguments;
pub mod bridge;
mod device;
mod digest;
mod edit;
mod envelope;
mod exports;
mod judgement;
pub mod perp_order;
mod plan;
pub mod pm_order;
mod policy;
pub mod ports;
mod profile;
mod rail;
mod refusal;
mod seal;
mod signing;
mod simulation;
pub mod swap;
mod verified;
mod verify;
pub mod wire;

pub use self::{
    account_kind::AccountKind,
    arguments::Problem,
    exports::ExportSet,
    judgement::{Judgement, JudgementResult},
    plan::{Request, rail_of_plan, verify, verify_with},
    policy::{
        FeeConfigError, FeeDocument, FeeProblem, LifeSeconds, Moment, Policy, ReviewedFees,
        SimulationMode, Validity,
    },
    profile::AccountProfile,
    refusal::Refusal,
    seal::Sealed,
    verified::{
        OwnReadings, Verified, VerifiedBridge, VerifiedPerpOrder, VerifiedPlan, VerifiedPmOrder,
        VerifiedSwap,
    },
};
