#![doc = include_str!("../README.md")]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool"
)]

pub mod api;
pub mod cache;
pub mod cli;
pub mod command;
pub mod comments;
pub mod counts;
pub mod error;
pub mod foreign;
pub mod layering;
pub mod licences;
pub mod lines;
pub mod modules;
pub mod postgres;
pub mod session;
pub mod sources;
mod steps;
pub mod stopwatch;
pub mod suite;
pub mod time;
pub mod wasm;

pub use cli::Cli;
pub use error::XtaskError;
pub use steps::run;
