#![doc = include_str!("../README.md")]

mod fault;
mod moved;
mod reader;
mod simulate;
mod wire;

pub use calldata_checks::Block;
pub use fault::ReadFault;
pub use moved::Moved;
pub use reader::{ChainReader, Estimate, SealedBlock};
pub use simulate::{Simulated, SimulatedCall};
