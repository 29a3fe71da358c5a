#![doc = include_str!("../README.md")]

mod checks;
mod error;
mod mandates;
mod ports;
mod store;

pub use self::checks::{Checks, Pace, Watcher};
pub use self::error::WatchError;
pub use self::mandates::{Cancelled, Mandates, MoveStop, Terms, mandate_id};
pub use self::ports::{
    Clock, Edition, EditionFuture, Holdings, MoveState, Mover, MoverError, MoverFuture, Stop,
    Yields,
};
pub use self::store::{
    Creation, Kept, Lease, MemoryStore, PostgresStore, SqliteStore, Store, StoreError, StoreFuture,
    Write,
};
