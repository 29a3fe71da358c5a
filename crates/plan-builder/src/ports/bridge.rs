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
    /// Reads the fees of the route from one domain of the protocol to another.
    ///
    /// # Errors
    /// [`PortError`]
    fn fees(
        &self,
        source_domain: u32,
        destination_domain: u32,
        forward: bool,
    ) -> impl Future<Output = Result<BridgeFeeReading, PortError>> + Send;

    /// Reads how much is left of the global allowance for fast transfers, in the smallest unit of
    /// USDC.
    ///
    /// # Errors
    /// [`PortError`]
    fn fast_allowance(&self) -> impl Future<Output = Result<U256, PortError>> + Send;
}

/// The fees of a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BridgeFeeReading {
    /// The fee in the row with finality threshold 1000, in exact basis points. `None` when there is
    /// no such row.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<Exact>>"
    )]
    pub fast_bps: Option<Decimal>,
    /// The fee in the row with finality threshold 2000, in basis points.
    #[serde(with = "As::<Exact>")]
    pub standard_bps: Decimal,
    /// The highest fee for forwarding, in the smallest unit of USDC, if the request asked for
    /// forwarding.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<Digits>>"
    )]
    pub forward_fee: Option<U256>,
    /// When the answer was received.
    #[serde(with = "As::<Time>")]
    pub read_at: UtcSeconds,
}
