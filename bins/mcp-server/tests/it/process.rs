//! Tests of the real binary as operators run it: configured, started and shut down.

#![cfg(unix)]

mod commands;
mod config;
mod descriptors;
mod documents;
mod fence;
mod limits;
mod node;
mod online;
mod probing;
mod rails;
mod safe_shares;
mod serve;
pub(crate) mod server;
mod shares;
mod stdio;
