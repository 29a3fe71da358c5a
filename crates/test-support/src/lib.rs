#![doc = include_str!("../README.md")]

pub mod cases;
mod dying;
mod eventually;
mod fuse;
mod http;
mod http_client;
mod manual_clock;
mod mortal;
pub mod postgres;
mod private_file;
pub mod process;
mod tcp_proxy;
mod wait;

pub use dying::Dying;
pub use eventually::{PATIENCE, eventually, eventually_blocking, eventually_every, pass, skip};
pub use fuse::Fuse;
pub use http::{HttpRequest, answer_http};
pub use http_client::http_client;
pub use manual_clock::ManualClock;
pub use mortal::{MortalBook, MortalNode, MortalRecords};
pub use private_file::private_file;
pub use tcp_proxy::TcpProxy;
pub use wait::wait;
