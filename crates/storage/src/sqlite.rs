//! The parts that every SQLite store needs: opening a file, claiming it, and running transactions
//! on it.
//!
//! Every file has a [`Format`]. An application id tells it from the files of other programs, and
//! migrations upgrade files of earlier versions. [`open`] checks both before it writes. It also
//! configures the connection so that a commit is on disk when it returns (write-ahead log, full
//! synchronisation). [`pending`] says what it would change.
//!
//! A server claims a file that it alone uses ([`ClaimedFile`]); a second server gets an error.
//! Servers that share a file only create it ([`create`]); the write lock of SQLite orders their
//! writes.
//!
//! A [`Worker`] runs the operations of a store on a thread of its own, each in one transaction. An
//! operation ends in the store's own error or in a [`Failure`]. The worker converts errors of
//! SQLite ([`DatabaseError`]). The tables, statements and rules belong to the stores.

mod column;
mod error;
mod failure;
mod file;
mod open;
mod private;
mod rename;
mod worker;

pub use column::{damaged, is_constraint, number, parsed, unsigned, unwritable};
pub use error::DatabaseError;
pub use failure::Failure;
pub use file::{ClaimedFile, create, path_of, size_bytes};
pub use open::{Checkpoints, Format, Settings, open, pending};
pub(crate) use rename::rename;
pub use worker::{Pending, Worker};
