//! Prediction-market orders: foreign vectors, attacks on every member, exact amounts.

mod amounts;
mod attacks;
mod members;
mod plan;
mod vectors;
