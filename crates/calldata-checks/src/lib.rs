#![doc = include_str!("../README.md")]

pub mod abi;
mod block;
pub mod bridge;
pub mod commitment;
mod engine;
pub mod fees;
pub mod okx;
pub mod perp_order;
pub mod pm_order;
pub mod step;
pub mod swap;

pub use self::{
    block::Block,
    commitment::{Commitment, DigestStanding},
    engine::{
        Assertion, Check, CheckReport, Facts, Failure, Observed, Rail, Verdict, Violation, judge,
    },
    fees::{BasisPoints, FeePolicy},
    step::{Step, StepKind, Steps},
};
pub use exact::{Decimal, DecimalError, TimeError, UtcSeconds};
