//! The swap rail's checks, through the public interface: what passes, and each attack by the name
//! of the check that refuses it.

mod amounts;
mod encoding;
mod fees;
mod flips;
mod passing;
mod sample;
mod targets;
