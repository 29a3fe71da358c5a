//! The bridge rail through its public interface: recorded plans, every route, and every kind of
//! mistake.

mod accounts;
mod attacks;
mod bytes;
mod fee_attacks;
mod plan;
mod routes;
mod vectors;
