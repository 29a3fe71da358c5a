//! The edition of the pools, and other parts that the yield routes share.

mod gas;
mod holdings;

use jiff::Timestamp;

pub(super) use self::gas::gas_prices;
pub(super) use self::holdings::{Held, holdings};
use super::fault;
use crate::reply::ErrorReply;
use crate::snapshots::{Absent, yield_pools};
use crate::sources::{Defi, Edition};

/// Members of a row whose `null` means that there is none: chains without an EIP-155 id, pools
/// without a reward.
pub(super) const NONE: &[&str] = &["chain_id", "apy_reward_pct", "next_cursor"];

/// The newest edition of the pools.
///
/// # Errors
/// 503 `core_data_missing` when there is no edition or it is too old to be sold.
pub(super) async fn edition(defi: &Defi, now: Timestamp) -> Result<Edition, ErrorReply> {
    let edition = defi.edition(now).await;
    edition.map_err(|absent| missing(&absent))
}

fn missing(absent: &Absent) -> ErrorReply {
    tracing::warn!(
        dataset = yield_pools::NAME,
        ?absent,
        "no edition can be served"
    );
    match absent {
        Absent::Never => fault::core_missing("yield_snapshot", "not_gathered_yet"),
        Absent::TooOld { age_seconds } => {
            fault::core_missing("yield_snapshot", "too_old").detail("age_seconds", *age_seconds)
        }
    }
}
