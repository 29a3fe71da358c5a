#![doc = include_str!("../README.md")]

mod moved;
mod reader;
mod simulate;
mod wire;

pub use calldata_checks::Block;
pub use moved::Moved;
pub use reader::{ChainReader, Estimate, ReadFault, SealedBlock};
pub use simulate::{Simulated, SimulatedCall};
