//! The perpetuals constructor and its verifier through the public API.

mod arguments;
mod consistent;
mod plans;
mod refusals;
mod tampering;
pub(crate) mod venue;
