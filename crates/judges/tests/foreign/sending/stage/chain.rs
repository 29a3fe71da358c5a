//! The part of the stage that controls the chain: its blocks, its pool, and the account's own
//! transactions.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::sol;
use dev_chain::base::{ROUTER, USDC};
use judges::Rpc;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use test_support::eventually;

use super::Stage;
use crate::base_chain::TRADER;

sol! {
    function allowance(address owner, address spender) external view returns (uint256);
}

impl Stage {
    pub(crate) fn rpc(&self) -> &Rpc {
        self.anvil.rpc()
    }

    pub(crate) async fn call<T: DeserializeOwned>(&self, method: &'static str, params: Value) -> T {
        self.rpc().call(method, params).await.unwrap()
    }

    /// Sends a call from the account itself, and waits for its block.
    pub(crate) async fn account_sends(&self, to: Address, data: &Bytes) {
        let receipt = self.anvil.transact(TRADER, to, data).await.unwrap();
        assert!(!receipt.status.is_zero());
    }

    /// Sends a transaction from the account, and does not wait for a block.
    pub(crate) async fn account_submits(&self, to: Address, data: &Bytes) {
        let call = json!([{"from": TRADER.address, "to": to, "data": data, "gas": "0x7a120"}]);
        let _: B256 = self.call("eth_sendTransaction", call).await;
    }

    pub(crate) async fn set_code(&self, code: &[u8]) {
        let code = Bytes::copy_from_slice(code);
        self.anvil.set_code(TRADER.address, &code).await.unwrap();
    }

    pub(crate) async fn head(&self) -> u64 {
        let number: String = self.call("eth_blockNumber", json!([])).await;
        u64::from_str_radix(number.trim_start_matches("0x"), 16).unwrap()
    }

    /// Waits until the block with this number counts as sealed.
    pub(crate) async fn sealed_above(&self, number: u64) {
        let above = async || (self.head().await > number).then_some(());
        eventually("a block above the given one", above).await;
    }

    pub(crate) async fn mine(&self) {
        let _: Value = self.call("evm_mine", json!([])).await;
    }

    /// Makes a block every so many seconds, or none by itself for 0.
    pub(crate) async fn mine_every(&self, seconds: u64) {
        let _: Value = self.call("evm_setIntervalMining", json!([seconds])).await;
    }

    pub(crate) async fn stop_mining(&self) {
        self.mine_every(0).await;
    }

    pub(crate) async fn go_on_mining(&self) {
        self.mine_every(1).await;
    }

    /// Waits until a transaction of the account is in the node's pool. Returns its hash.
    pub(crate) async fn in_pool(&self) -> B256 {
        let pending = async || {
            let asked = json!(["pending", false]);
            let block: Value = self.call("eth_getBlockByNumber", asked).await;
            let hash = block["transactions"].get(0)?.as_str()?;
            Some(hash.parse().unwrap())
        };
        eventually("a transaction in the pool", pending).await
    }

    pub(crate) async fn allowance(&self) -> U256 {
        let call = allowanceCall {
            owner: TRADER.address,
            spender: ROUTER,
        };
        self.rpc().view(USDC, &call).await.unwrap()
    }
}
