#![doc = include_str!("../README.md")]

mod command;
mod dumps;
mod edge;
mod health;
mod metrics;

pub use command::{
    DemoArguments, Failure, ServeArguments, block_on, end, print, runtime, show, show_findings,
};
pub use dumps::forbid_core_dumps;
pub use edge::limits;
pub use health::readiness;
pub use metrics::{
    BUILD_INFO, HTTP_ANSWERS, METRICS_MEDIA_TYPE, Metrics, begin_series, count_answer,
};
