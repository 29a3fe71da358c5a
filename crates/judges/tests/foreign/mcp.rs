//! Clients of other projects use the agent rail, and so does the protocol's own conformance suite.

mod clients;
mod conformance;
mod errors;
mod recorder;
mod script;
mod world;
