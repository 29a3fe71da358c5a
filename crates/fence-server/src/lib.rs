#![doc = include_str!("../README.md")]

mod delegations;
mod error;
mod ports;
mod store;

pub use self::{
    delegations::{
        Delegations, GrantReceipt, GrantState, LOG_PAGE, OnChain, Ordered, Parts, Submitted,
        worth_micro_usd,
    },
    error::DelegationError,
    ports::{
        Accounts, Chain, ChainQuestion, Clocks, Foresee, NoAccounts, PortError, PortFuture, Prices,
    },
    store::{
        Acceptance, Change, Ended, Holder, InstalledPolicy, KeptGrant, KeptLimit, KeptSubmission,
        Lease, PostgresStore, SqliteStore, Store, StoreError, StoreFuture, View, Write,
    },
};
