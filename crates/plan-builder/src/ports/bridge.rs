//! Fees and limits of native-USDC transfers.

use std::future::Future;

use alloy_primitives::U256;
use calldata_checks::{Decimal, UtcSeconds};
use serde::{Deserialize, Serialize};

use super::PortError;
use crate::wire::{As, Digits, Exact, Time};

/// The fees and limits of native-USDC transfers.
///
/// # Example
/// [`bridge::build`](crate::bridge::build) has an implementation.
pub trait BridgeFees: Send + Sync {
    /// Reads the fees of one directed route, by protocol domain.
    ///
    /// # Errors
    /// [`PortError`]
    fn fees(
        &self,
        source_domain: u32,
        destination_domain: u32,
        forward: bool,
    ) -> impl Future<Output = Result<BridgeFeeReading, PortError>> + Send;

    /// Reads the rest of the global fast allowance, in the smallest unit of USDC.
    ///
    /// # Errors
    /// [`PortError`]
    fn fast_allowance(&self) -> impl Future<Output = Result<U256, PortError>> + Send;
}

/// The fees of a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BridgeFeeReading {
    /// Basis points of the row with finality threshold 1000, exact; `None` when there is no such
    /// row.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<Exact>>"
    )]
    pub fast_bps: Option<Decimal>,
    /// Basis points of the row with finality threshold 2000.
    #[serde(with = "As::<Exact>")]
    pub standard_bps: Decimal,
    /// The highest forwarding fee, in the smallest unit of USDC, when the request asked for it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<Digits>>"
    )]
    pub forward_fee: Option<U256>,
    /// The time at which the answer was received.
    #[serde(with = "As::<Time>")]
    pub read_at: UtcSeconds,
}
