//! The prediction-market rail from arguments to verified plan.

mod arguments;
mod forgeries;
mod plans;
mod refusals;
pub(crate) mod stage;
