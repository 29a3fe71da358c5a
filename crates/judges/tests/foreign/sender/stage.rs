//! The stage of these tests: a lane on an anvil that makes a block only when a test says so.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256};
use judges::{Account, Anvil, Toolchain};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::eventually;
use tx_sender::{
    Chain, HttpTransport, Lane, LocalKey, Options, Policy, Record, Request, RpcNode, Sender,
    SqliteStore, Store as _, Takeover,
};

/// The amount that each request transfers, in wei.
pub(crate) const EFFECT: u64 = 7;
pub(crate) const GWEI: u64 = 1_000_000_000;

pub(crate) struct Stage {
    anvil: Anvil,
    pub(crate) sender: Sender,
    pub(crate) lane: Lane,
    store: Arc<SqliteStore>,
    folder: TempDir,
}

fn recipient(number: u64) -> Address {
    Address::left_padding_from(&(0xbeef_0000 + number).to_be_bytes())
}

pub(crate) fn name(number: u64) -> String {
    format!("transfer {number}")
}

pub(crate) fn transfer(number: u64) -> Request {
    Request {
        to: recipient(number),
        value: U256::from(EFFECT),
        input: Bytes::new(),
        gas_limit: 21_000,
        max_fee_per_gas: None,
        not_after: None,
        confirmations: None,
    }
}

fn policy() -> Policy {
    Policy {
        max_fee_per_gas: u128::from(GWEI) * 300,
        block_time: Duration::from_millis(500),
        poll_interval: Duration::from_millis(200),
        watch_interval: Duration::from_millis(300),
        resend_after: Duration::from_secs(1),
        bump_after: Duration::from_secs(10),
        ..Policy::default()
    }
}

fn open(path: PathBuf) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(path).unwrap())
}

async fn start(anvil: &Anvil, store: Arc<SqliteStore>) -> Sender {
    let http = HttpTransport::new(&anvil.rpc().url().into(), Duration::from_secs(5)).unwrap();
    let chain = Chain {
        id: Anvil::PAYMENTS,
        nodes: vec![Arc::new(RpcNode::new(Arc::new(http)))],
        policy: policy(),
    };
    let key = LocalKey::from_hex(&Account::SETTLER.private_key.into()).unwrap();
    let options = Options {
        takeover: Takeover::AtOnce,
        ..Options::default()
    };
    Sender::start(store, vec![chain], vec![Arc::new(key)], options)
        .await
        .unwrap()
}

impl Stage {
    pub(crate) async fn open() -> Self {
        let toolchain = Toolchain::from_env().unwrap();
        let anvil = Anvil::start(&toolchain).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path().join("sender.db"));
        let stage = Self {
            sender: start(&anvil, store.clone()).await,
            anvil,
            lane: Lane {
                chain_id: Anvil::PAYMENTS,
                account: Account::SETTLER.address,
            },
            store,
            folder,
        };
        let _: Value = stage.call("evm_setAutomine", json!([false])).await;
        // A reorganisation must not reach the first block.
        for _ in 0..8 {
            stage.mine().await;
        }
        stage
    }

    /// Replaces the process by another one that has the same records.
    pub(crate) async fn restart(&mut self) {
        self.store = open(self.folder.path().join("sender.db"));
        self.sender = start(&self.anvil, self.store.clone()).await;
    }

    pub(crate) async fn call<T: DeserializeOwned>(&self, method: &'static str, params: Value) -> T {
        self.anvil.rpc().call(method, params).await.unwrap()
    }

    pub(crate) async fn mine(&self) {
        let _: Value = self.call("evm_mine", json!([])).await;
    }

    /// Sets the base fee of the next block.
    pub(crate) async fn base_fee(&self, wei: u64) {
        let fee = format!("{wei:#x}");
        let _: Value = self
            .call("anvil_setNextBlockBaseFeePerGas", json!([fee]))
            .await;
    }

    pub(crate) async fn fund(&self, wei: U256) {
        let balance = json!([self.lane.account, wei]);
        let _: Value = self.call("anvil_setBalance", balance).await;
    }

    pub(crate) async fn submit(&self, number: u64) {
        let (key, request) = (name(number), transfer(number));
        let submitted = self.sender.submit(&key, self.lane, request).await;
        submitted.unwrap();
    }

    pub(crate) async fn record(&self, number: u64) -> Record {
        self.store.get(&name(number)).await.unwrap().unwrap()
    }

    pub(crate) async fn effect(&self, number: u64) -> U256 {
        self.anvil.rpc().balance(recipient(number)).await.unwrap()
    }

    pub(crate) async fn until(&self, number: u64, is: impl Fn(&Record) -> bool) -> Record {
        let record = async || Some(self.record(number).await).filter(&is);
        eventually(&format!("the record of request {number}"), record).await
    }

    pub(crate) async fn sealed(&self, number: u64) -> Record {
        let record = self.until(number, |record| record.state.is_outcome()).await;
        assert_eq!(record.state.as_str(), "sealed", "{record:?}");
        record
    }

    pub(crate) async fn held(&self, cause: Option<&str>) {
        let held = async || {
            let hold = self.sender.status(self.lane).hold;
            (hold.as_ref().map(tx_sender::Hold::code) == cause).then_some(())
        };
        eventually(&format!("the hold {cause:?}"), held).await;
    }

    /// Waits until the node has the newest transaction of the request.
    pub(crate) async fn in_pool(&self, number: u64) {
        let record = self
            .until(number, |record| record.state.as_str() == "broadcast")
            .await;
        self.in_pool_as(record.newest().unwrap().hash).await;
    }

    pub(crate) async fn in_pool_as(&self, hash: B256) {
        let waits = async || {
            let known: Value = self.call("eth_getTransactionByHash", json!([hash])).await;
            (known["blockHash"].is_null() && !known.is_null()).then_some(())
        };
        eventually(&format!("{hash} in the pool"), waits).await;
    }

    /// Sends a transaction of the lane's account that the sender does not know of.
    pub(crate) async fn send_behind_its_back(&self, nonce: u64, wei: u64) -> B256 {
        let fee = format!("{wei:#x}");
        let request = json!([{
            "from": self.lane.account, "to": Address::repeat_byte(0xee), "value": "0x1",
            "nonce": format!("{nonce:#x}"), "gas": "0x5208",
            "maxFeePerGas": fee, "maxPriorityFeePerGas": fee,
        }]);
        self.call("eth_sendTransaction", request).await
    }
}
