#![doc = include_str!("../README.md")]

mod computed;
mod embedded;
mod recordings;
mod server;

pub use self::{
    recordings::{RECORDED_AT, RecordingError, Recordings},
    server::ReplayServer,
};
