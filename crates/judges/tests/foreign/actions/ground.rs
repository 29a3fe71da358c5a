//! The chains on which a shop acts: the embedded ones, or anvil with the same contracts.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U64, U256};
use alloy_sol_types::{SolEvent as _, sol};
use dev_chain::iris::Iris;
use dev_chain::{DevChain, RpcServer};
use judges::{Account, Anvil, Rpc, TestToken, Toolchain};
use serde::Deserialize;
use serde_json::{Value, json};

sol! {
    event MessageSent(bytes message);
    function transfer(address to, uint256 amount) external returns (bool);
}

/// The node that runs the chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Embedded,
    Anvil,
}

/// One chain, and the task that reports its burns to the attestation service.
pub(crate) struct Ground {
    pub(crate) rpc: Rpc,
    chain_id: u64,
    node: Node,
}

enum Node {
    Embedded {
        _chain: DevChain,
        _server: RpcServer,
    },
    Anvil(Box<Anvil>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    transaction_hash: B256,
    log_index: U64,
    data: Bytes,
}

impl Ground {
    /// Opens a chain with the accounts of `stage`. `iris` watches it if it has a CCTP domain.
    pub(crate) async fn open(
        toolchain: &Toolchain,
        kind: Kind,
        (chain_id, stage): (u64, DevChain),
        iris: &mut Iris,
        domain: Option<u32>,
    ) -> Self {
        let (rpc, node) = match kind {
            Kind::Embedded => {
                stage.set_base_fee(1_000_000);
                let server = stage.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
                let rpc = Rpc::new(server.url());
                if let Some(domain) = domain {
                    *iris = iris.clone().watching(domain, &stage);
                }
                let node = Node::Embedded {
                    _chain: stage,
                    _server: server,
                };
                (rpc, node)
            }
            Kind::Anvil => {
                let anvil = Anvil::start_ticking(toolchain, chain_id).await.unwrap();
                copy(&stage, anvil.rpc()).await;
                let rpc = anvil.rpc().clone();
                if let Some(domain) = domain {
                    tokio::spawn(follow(rpc.clone(), iris.clone(), domain));
                }
                (rpc, Node::Anvil(Box::new(anvil)))
            }
        };
        Self {
            rpc,
            chain_id,
            node,
        }
    }

    /// The chain as a table of the service's configuration.
    pub(crate) fn toml(&self) -> String {
        let (id, url) = (self.chain_id, self.rpc.url());
        format!("[chains.{id}]\nrpc_urls = [\"{url}\"]\n\n")
    }

    /// An account's balance of a token.
    pub(crate) async fn holds(&self, token: Address, account: Address) -> U256 {
        let call = TestToken::balanceOfCall { account };
        self.rpc.view(token, &call).await.unwrap()
    }

    /// Gives an account coins on anvil, whose priority fees are those of Ethereum. On the embedded
    /// chains the service pays for gas, so this does nothing there.
    pub(crate) async fn give_coins(&self, account: Address) {
        if matches!(self.node, Node::Anvil(_)) {
            let wei = U256::from(10_u64.pow(18));
            let _: Value = anvil(&self.rpc, "anvil_setBalance", json!([account, wei])).await;
        }
    }

    /// Transfers a token from one of anvil's own accounts.
    pub(crate) async fn transfer(&self, token: Address, from: Account, to: Address, amount: u64) {
        let Node::Anvil(anvil) = &self.node else {
            panic!("not anvil")
        };
        let amount = U256::from(amount);
        let call = transferCall { to, amount };
        let receipt = anvil.send(from, token, &call).await.unwrap();
        assert_eq!(self.holds(token, to).await, amount);
        // The service counts a transaction when enough blocks are above it.
        let settled = receipt.block_number + U64::from(3);
        let mut ticks = tokio::time::interval(Duration::from_millis(200));
        while self.head().await < settled {
            ticks.tick().await;
        }
    }

    async fn head(&self) -> U64 {
        self.rpc.call("eth_blockNumber", json!([])).await.unwrap()
    }

    /// How many transactions of an account are in blocks.
    pub(crate) async fn nonce(&self, account: Address) -> u64 {
        let params = json!([account, "latest"]);
        let nonce: U64 = self
            .rpc
            .call("eth_getTransactionCount", params)
            .await
            .unwrap();
        nonce.to()
    }

    /// Makes a block every this many seconds from now on. With zero, makes none.
    pub(crate) async fn mine_every(&self, seconds: u64) {
        let _: Value = anvil(&self.rpc, "evm_setIntervalMining", json!([seconds])).await;
    }

    /// Waits until a transaction of an account is in the pool, and makes the node lose it.
    pub(crate) async fn drop_pending_of(&self, account: Address) {
        let mut ticks = tokio::time::interval(Duration::from_millis(50));
        let hash = loop {
            ticks.tick().await;
            let params = json!(["pending", true]);
            let block: Value = anvil(&self.rpc, "eth_getBlockByNumber", params).await;
            let transactions = block["transactions"].as_array().unwrap().iter();
            let mut of_account = transactions.filter(|transaction| {
                let from: Address = transaction["from"].as_str().unwrap().parse().unwrap();
                from == account
            });
            if let Some(transaction) = of_account.next() {
                break transaction["hash"].clone();
            }
        };
        let dropped: Value = anvil(&self.rpc, "anvil_dropTransaction", json!([hash])).await;
        assert_eq!(dropped, hash);
    }

    /// Replaces the newest blocks by empty ones, until no block has the latest transaction of the
    /// account.
    pub(crate) async fn reorganise_away(&self, account: Address, nonce: u64) {
        let head = self.head().await;
        let mut depth = 0_u64;
        let before = loop {
            depth += 1;
            let block = head - U64::from(depth);
            let params = json!([account, block]);
            let sent: U64 = self
                .rpc
                .call("eth_getTransactionCount", params)
                .await
                .unwrap();
            if sent.to::<u64>() < nonce {
                break sent;
            }
        };
        let _: Value = anvil(&self.rpc, "anvil_reorg", json!([depth, []])).await;
        assert_eq!(U64::from(self.nonce(account).await), before);
    }
}

/// Copies every account of a stage to anvil.
async fn copy(stage: &DevChain, rpc: &Rpc) {
    for account in stage.accounts() {
        let at = account.address;
        let _: Value = anvil(rpc, "anvil_setBalance", json!([at, account.balance])).await;
        let _: Value = anvil(rpc, "anvil_setNonce", json!([at, U64::from(account.nonce)])).await;
        if !account.code.is_empty() {
            let _: Value = anvil(rpc, "anvil_setCode", json!([at, account.code])).await;
        }
        for (slot, word) in account.storage {
            let _: Value = anvil(rpc, "anvil_setStorageAt", json!([at, slot, word])).await;
        }
    }
}

async fn anvil(rpc: &Rpc, method: &'static str, params: Value) -> Value {
    rpc.call(method, params).await.unwrap()
}

/// Reports burns to the attestation service, until the node has ended.
async fn follow(rpc: Rpc, iris: Iris, domain: u32) {
    let mut next = 0_u64;
    let mut ticks = tokio::time::interval(Duration::from_millis(200));
    loop {
        ticks.tick().await;
        let Ok(head) = rpc.call::<U64>("eth_blockNumber", json!([])).await else {
            return;
        };
        if head.to::<u64>() < next {
            continue;
        }
        let filter = json!([{
            "fromBlock": U64::from(next), "toBlock": head, "topics": [MessageSent::SIGNATURE_HASH],
        }]);
        let Ok(logs) = rpc.call::<Vec<Sent>>("eth_getLogs", filter).await else {
            return;
        };
        for log in logs {
            let message = MessageSent::abi_decode_data(&log.data).unwrap().0;
            iris.record(domain, log.transaction_hash, log.log_index.to(), message);
        }
        next = head.to::<u64>().saturating_add(1);
    }
}
