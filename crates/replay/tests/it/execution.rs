//! Tests that run quotes and readings of the real adapters on the chains of `dev-chain` and compare
//! the effects.

mod bridge;
mod lending;
mod swaps;

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, sol};
use dev_chain::{DevChain, Reply};
use jiff::Timestamp;
use serde_json::{Value, json};

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

fn ask(chain: &DevChain, method: &str, params: &Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    match chain.answer(request.to_string().as_bytes()) {
        Reply::Http { body, .. } => serde_json::from_slice(&body).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Sends a call from an account without a signature. Returns the transaction's hash or the text of
/// the refusal.
pub(crate) fn send(
    chain: &DevChain,
    from: Address,
    to: Address,
    data: &Bytes,
) -> Result<B256, String> {
    let call = json!([{"from": from, "to": to, "data": data}]);
    let answer = ask(chain, "eth_sendTransaction", &call);
    match answer["result"].as_str() {
        Some(hash) => Ok(hash.parse().unwrap()),
        None => Err(answer["error"]["message"].as_str().unwrap().to_owned()),
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
