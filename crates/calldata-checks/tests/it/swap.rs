//! The swap rail's checks, through the public interface: passing plans, and each attack with the
//! name of the check that refuses it.

mod amounts;
mod encoding;
mod fees;
mod flips;
mod passing;
pub(crate) mod sample;
mod targets;
