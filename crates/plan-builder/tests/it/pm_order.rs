//! Tests of the prediction-market rail, from the arguments to the verified plan.

mod arguments;
mod forgeries;
mod plans;
mod refusals;
pub(crate) mod stage;
