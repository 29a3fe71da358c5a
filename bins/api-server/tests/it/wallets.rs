//! Actions of sub-wallets over HTTP: a buyer pays, the server acts on embedded chains of real
//! contracts.

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
