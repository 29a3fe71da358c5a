//! Reads the least fee that the source chain requires for a burn.

use alloy_primitives::U256;
use alloy_sol_types::{SolCall, sol};
use calldata_checks::bridge::chains::TOKEN_MESSENGER;

use crate::{
    Refusal,
    ports::{Accounts, PortError, PortErrorReason},
};

sol! {
    /// TokenMessengerV2 since 2.1: a burn with a lower `maxFee` reverts ("Insufficient max fee").
    function getMinFeeAmount(uint256 amount) external view returns (uint256);
}

/// Reads the least `maxFee` of a burn of this amount. Zero when the contract has no such function
/// (deployments before 2.1). `None` when there is no endpoint.
///
/// # Errors
/// The failure of the port; `quote_malformed` when the contract answers something else than a
/// number.
pub(super) async fn read<A: Accounts + ?Sized>(
    accounts: &A,
    chain_id: u64,
    amount: U256,
) -> Result<Option<U256>, Refusal> {
    let call = getMinFeeAmountCall { amount }.abi_encode();
    let answer = match accounts.call(chain_id, TOKEN_MESSENGER, call.into()).await {
        Ok(answer) => answer,
        Err(PortError {
            reason: PortErrorReason::NotConfigured { .. },
            ..
        }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // The call reverts.
    let Some(data) = answer else {
        return Ok(Some(U256::ZERO));
    };
    match <[u8; 32]>::try_from(data.as_ref()) {
        Ok(word) => Ok(Some(U256::from_be_bytes(word))),
        Err(_) => Err(Refusal::new(
            Refusal::QUOTE_MALFORMED,
            "the least fee of the source chain cannot be read",
        )
        .comparing("one word", format_args!("{} bytes", data.len()))),
    }
}
