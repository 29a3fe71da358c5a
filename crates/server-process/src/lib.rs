#![doc = include_str!("../README.md")]

mod command;
mod edge;
mod health;
mod metrics;

pub use command::{Failure, ServeArguments, block_on, end, print, runtime, show};
pub use edge::limits;
pub use health::readiness;
pub use metrics::{METRICS_MEDIA_TYPE, Metrics};
