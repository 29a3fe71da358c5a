//! SQLite files: where they lie, who may read them, whose they are, and the one thread that uses
//! them.
//!
//! Every file has a [`Format`]: an application id, which tells it from the files of other programs,
//! and migrations, which bring files of earlier versions up. [`open`] checks both before it writes
//! anything, and sets the connection so that a commit is on disk when it returns (write-ahead log,
//! full synchronisation).
//!
//! A file of one server is claimed first ([`ClaimedFile`]): a second server on it is refused by
//! name. A file that several servers share is only created ([`create`]); SQLite's own lock decides
//! between their writes.

mod column;
mod error;
mod failure;
mod file;
mod open;
mod private;
mod worker;

pub use column::{damaged, is_constraint, number, parsed, unsigned, unwritable};
pub use error::DatabaseError;
pub use failure::Failure;
pub use file::{ClaimedFile, create, path_of, size_bytes};
pub use open::{Checkpoints, Format, Settings, open};
pub use worker::{Pending, Worker};
