//! The perpetuals rail through its public API: foreign vectors, attacks by name, and the codec
//! against another encoder.

mod attacks;
mod codec;
mod commitments;
mod draft;
mod triggers;
mod vectors;
