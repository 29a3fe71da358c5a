#![doc = include_str!("../README.md")]

mod ports;
mod step;

pub use ports::{
    Attested, BridgeAsk, BridgePlan, Burn, CoinPrices, PaidTotals, PlanCause, PlanRefused,
    PlannedStep, Plans, PortFuture, SwapAsk, SwapPlan,
};
pub use step::StepKind;
