//! The sections that only this server reads, their defaults and their rules.

mod credit;
mod datasets;
mod payment;
mod settlement;
mod storage;

pub use credit::CreditSection;
pub use datasets::DatasetsSection;
pub use payment::{AssetTable, PaymentSection};
pub use settlement::{SettlementMode, SettlementSection};
pub use storage::StorageSection;

use super::Problem;

/// Collects a problem with a key.
fn problem(problems: &mut Vec<Problem>, key: &str, message: impl Into<String>) {
    problems.push(Problem::new(key, message));
}
