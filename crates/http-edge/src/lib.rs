#![doc = include_str!("../README.md")]

mod body;
mod client;
mod connections;
mod descriptors;
mod draining;
mod process;
mod refusal;
mod request_id;
mod served;
mod server;
mod stream;
mod written;

pub mod rates;

pub use body::{BodyError, RequestBody, read_body};
pub use client::{ClientAddress, Network};
pub use descriptors::RESERVED_DESCRIPTORS;
pub use draining::Draining;
pub use process::{announce, shutdown_signal};
pub use request_id::{RequestId, RequestIds};
pub use served::{Hosts, Origins, PROBES};
pub use server::{Drained, Handler, Limits, Server};
pub use written::OnWritten;
