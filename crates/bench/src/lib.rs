#![doc = include_str!("../README.md")]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "command-line tools"
)]

pub mod baseline;
pub mod error;
pub mod exchange;
pub mod load;
pub mod measure;
pub mod payment;
pub mod postgres;
pub mod process;
pub mod report;
pub mod suite;
pub mod swap;

pub use error::BenchError;
