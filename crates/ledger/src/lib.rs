#![doc = include_str!("../README.md")]

mod answer;
mod any;
mod claim;
mod column;
mod copied;
mod error;
mod journal;
mod options;
mod postgres;
mod purchase;
mod record;
mod retention;
mod spending;
mod sqlite;
mod state;
mod status;

pub use answer::{Header, PaidAnswer, PendingSettlement, StoredAnswer, StoredReceipt};
pub use any::{AnyLedger, PaidSums};
pub use claim::{Claim, RequestBinding};
pub use copied::Copied;
pub use error::LedgerError;
pub use journal::{Journal, OpenCounts, Pruned, Recovery, Resolution, Undecided};
pub use options::Options;
pub use postgres::PostgresLedger;
pub use purchase::{MAX_REPETITIONS, Occupant, Purchase, REPETITION, Repeated};
pub use record::{EntryRecord, Filter};
pub use spending::{Allowance, Missing, Spent};
pub use sqlite::{SqliteLedger, Stats};
pub use state::{EntryId, State, Transition};
pub use status::{PaymentRecord, PaymentStatus, Reservation};
