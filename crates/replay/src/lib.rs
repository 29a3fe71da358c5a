#![doc = include_str!("../README.md")]

mod computed;
mod embedded;
mod live;
mod recordings;
mod server;

pub use self::{
    live::{Live, LiveReply},
    recordings::{RECORDED_AT, RecordingError, Recordings},
    server::ReplayServer,
};
