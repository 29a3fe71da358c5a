//! Tests of the perpetuals constructor and its verifier through the public interface.

mod arguments;
mod consistent;
mod plans;
mod refusals;
mod tampering;
pub(crate) mod venue;
