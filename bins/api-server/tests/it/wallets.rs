//! Tests of the actions of sub-wallets over HTTP. A buyer pays, and the server acts on embedded
//! chains that have the real contracts.

mod actions;
pub(crate) mod between;
mod charging;
mod expired;
mod gas;
mod halts;
mod held;
mod in_time;
mod lies;
mod payers;
mod products;
mod stage;
mod worth;
