#![doc = include_str!("../README.md")]

mod eventually;
mod fuse;
mod manual_clock;
mod mortal;
pub mod postgres;
mod tcp_proxy;

pub use eventually::{PATIENCE, eventually, eventually_blocking, eventually_every, pass};
pub use fuse::Fuse;
pub use manual_clock::ManualClock;
pub use mortal::{MortalBook, MortalNode, MortalRecords};
pub use tcp_proxy::TcpProxy;
