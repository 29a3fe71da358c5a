#![doc = include_str!("../README.md")]

mod cluster;
mod error;
mod tools;

pub use cluster::Cluster;
pub use error::ClusterError;
