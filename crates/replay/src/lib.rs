#![doc = include_str!("../README.md")]

mod computed;
mod embedded;
mod recordings;
mod server;

pub use self::{
    recordings::{RecordingError, Recordings},
    server::ReplayServer,
};
