#![doc = include_str!("../README.md")]

mod bounded;
mod error;
mod export;
mod guarded;
mod lent;
mod local;
mod owner;
mod policy;
mod port;
mod purpose;
mod recorded;
mod records;
mod turns;

pub use bounded::{Bounded, Bounds, Counted, Owners};
pub use error::{CustodyError, FileFault};
pub use export::{Export, ExportRefusal, ExportRequest};
pub use guarded::Guarded;
pub use lent::lend;
pub use local::{Adoption, Candidate, Listed, LocalCustody, Rotated};
pub use owner::{InvalidOwner, Owner};
pub use policy::{PolicyRefusal, SigningPolicy, Target, TargetsFault, Vault};
pub use port::{Attestation, Custody, CustodyFuture, Provider, Subject, Wallet};
pub use purpose::Purpose;
pub use recorded::{Checked, RecordedCustody, WalletFault, WalletFaults};
pub use records::{PostgresWalletRecords, SqliteWalletRecords, WalletRecord, WalletRecords};
pub use turns::{Turn, TurnLost, Turns};
