#![doc = include_str!("../README.md")]

mod answer;
mod claim;
mod error;
mod journal;
mod private;
mod shelf;
mod sqlite;
mod state;

pub use answer::{Answer, Beginning, Header, Settlement, StoredAnswer, StoredReceipt};
pub use claim::{Claim, RequestBinding};
pub use error::LedgerError;
pub use journal::{Journal, Pruned, Recovery, Reservation, Standing, Undecided};
pub use shelf::{Artifact, Record, Shelf, ShelfError, ShelfOptions, SqliteShelf};
pub use sqlite::{Options, SqliteLedger, Stats};
pub use state::{EntryId, State, Transition};
