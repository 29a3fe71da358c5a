#![doc = include_str!("../README.md")]

mod answer;
mod claim;
mod error;
mod journal;
mod spending;
mod sqlite;
mod state;
mod status;

pub use answer::{Answer, Header, PendingSettlement, StoredAnswer, StoredReceipt};
pub use claim::{Claim, RequestBinding};
pub use error::LedgerError;
pub use journal::{Journal, OpenCounts, Pruned, Recovery, Resolution, Undecided};
pub use spending::{Allowance, Missing, Spent};
pub use sqlite::{Options, PaidSums, SqliteLedger, Stats};
pub use state::{EntryId, State, Transition};
pub use status::{PaymentRecord, PaymentStatus, Reservation};
