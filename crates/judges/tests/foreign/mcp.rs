//! Clients of other projects, and the protocol's own conformance suite, use the agent rail.

mod clients;
mod conformance;
mod errors;
mod recorder;
mod script;
mod world;
