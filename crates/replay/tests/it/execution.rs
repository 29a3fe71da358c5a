//! Tests that run quotes and readings of the real adapters on the chains of `dev-chain` and compare
//! the effects.

mod bridge;
mod lending;
mod swaps;

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, sol};
use dev_chain::DevChain;
use jiff::Timestamp;
use serde_json::json;

sol! {
    function approve(address spender, uint256 value) external returns (bool);
}

/// The time of the recorded quotes, the adapters' clock and the chains' clock, in Unix seconds.
pub(crate) const NOW: u64 = 1_795_222_800;

pub(crate) fn clock() -> Arc<Timestamp> {
    Arc::new(Timestamp::from_second(i64::try_from(NOW).unwrap()).unwrap())
}

pub(crate) fn xlayer_stage() -> DevChain {
    DevChain::builder()
        .xlayer_stage()
        .clock(|| NOW)
        .build()
        .unwrap()
}

/// Sends a call from an account that needs no signature. Returns the hash, or the refusal.
pub(crate) fn send(
    chain: &DevChain,
    from: Address,
    to: Address,
    data: &Bytes,
) -> Result<B256, String> {
    let call = json!([{"from": from, "to": to, "data": data}]);
    match chain.request("eth_sendTransaction", call) {
        Ok(hash) => Ok(hash.as_str().unwrap().parse().unwrap()),
        Err(error) => Err(error["message"].as_str().unwrap().to_owned()),
    }
}

/// Approves `spender`. Panics when the call fails.
pub(crate) fn approve(
    chain: &DevChain,
    from: Address,
    token: Address,
    spender: Address,
    value: U256,
) {
    let call = approveCall { spender, value };
    send(chain, from, token, &call.abi_encode().into()).unwrap();
}

pub(crate) fn held(chain: &DevChain, token: Address, account: Address) -> U256 {
    chain.balance_of(token, account).unwrap()
}
