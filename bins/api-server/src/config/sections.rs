//! The sections that only this server reads, with their defaults and rules.

mod credit;
mod custody;
mod datasets;
mod delegation;
mod payment;
mod settlement;
mod storage;

pub use credit::CreditSection;
pub use custody::{CustodyProvider, CustodySection, WalletsSection};
pub use datasets::DatasetsSection;
pub use delegation::{DelegationSection, Usd};
pub use payment::{AssetTable, PaymentSection};
pub use settlement::{SettlementMode, SettlementSection};
pub use storage::StorageSection;

use super::Problem;

/// Records a problem with a key.
fn problem(problems: &mut Vec<Problem>, key: &str, message: impl Into<String>) {
    problems.push(Problem::new(key, message));
}
