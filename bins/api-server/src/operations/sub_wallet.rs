//! The payer's own wallet, which is the default of every route that takes an address.

use alloy_primitives::Address;
use route_catalog::ErrorCode;

use crate::call::Call;
use crate::reply::ErrorReply;

/// The address that the caller named, or that of the payer's sub-wallet.
pub(super) fn address_or_own(call: &Call) -> Result<Address, ErrorReply> {
    call.parameters.address("address").ok_or_else(|| {
        tracing::debug!(payer = %call.payer, operation = %call.operation, "no sub-wallet");
        let message = "the payer has no sub-wallet; name an address";
        ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "no_sub_wallet")
    })
}

/// No custody is connected, so no wallet can act.
pub(super) fn no_custody(call: &Call) -> ErrorReply {
    tracing::debug!(payer = %call.payer, operation = %call.operation, "no custody is connected");
    let message = format!(
        "no custody provider is connected for {}",
        call.operation.route().path
    );
    ErrorReply::new(ErrorCode::UpstreamUnavailable, message)
        .detail("reason", "no_custody_connected")
        .retryable(false)
}
