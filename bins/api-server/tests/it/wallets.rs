//! Tests of sub-wallets' actions over HTTP: a buyer pays, and the server acts on embedded chains of
//! real contracts.

mod actions;
mod between;
mod charging;
mod expired;
mod gas;
mod halts;
mod in_time;
mod lies;
mod payers;
mod products;
mod stage;
