//! The perpetuals rail through its public API: foreign vectors, attacks by name, and the codec
//! against another encoder.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

#[path = "perp_order/attacks.rs"]
mod attacks;
#[path = "perp_order/codec.rs"]
mod codec;
#[path = "perp_order/commitments.rs"]
mod commitments;
#[path = "perp_order/draft.rs"]
mod draft;
#[path = "perp_order/triggers.rs"]
mod triggers;
#[path = "perp_order/vectors.rs"]
mod vectors;
