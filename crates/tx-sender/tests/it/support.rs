//! A lane on a chain. A test controls its blocks, its clock and its nodes.

use std::collections::HashMap;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake};
use std::thread::Thread;
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use dev_chain::{DEV_ACCOUNTS, DevChain, DevChainBuilder, GAS_PAYER, Mining, Reply};
use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::{eventually, eventually_every, pass};
use tokio::task::unconstrained;
use tokio::time::Instant;
use tx_sender::{
    Chain, Clock, Lane, LocalKey, MemoryStore, Node, NodeFault, Options, Policy, Record, Request,
    RpcNode, Sender, SqliteStore, Store, StoreError, StoreFuture, TransactionSigner, Transport,
};

pub(crate) const NOW: u64 = 1_795_219_200;
pub(crate) const BASE_FEE: u64 = 20_000_000;
/// The cap for a unit of gas in these tests. It is fifty times the base fee.
pub(crate) const CAP: u128 = 1_000_000_000;
pub(crate) const LANE: Lane = Lane {
    chain_id: 196,
    account: GAS_PAYER.address,
};
/// A contract that reverts.
pub(crate) const REVERTS: Address = Address::repeat_byte(0xa1);
/// A contract that uses up all gas.
pub(crate) const BURNS: Address = Address::repeat_byte(0xa2);

/// How long an answer of a fast node takes.
const LATENCY: Duration = Duration::from_millis(2);
/// The time limit of the transport for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A node that is a chain in this process. A test may put another chain in its place.
#[derive(Clone)]
pub(crate) struct InProcess {
    chain: Arc<Mutex<DevChain>>,
    /// How often the sender has called each method.
    pub(crate) asked: Arc<Mutex<HashMap<&'static str, usize>>>,
    /// How long an answer takes.
    pub(crate) latency: Duration,
}

impl InProcess {
    pub(crate) fn new(chain: &DevChain) -> Self {
        Self {
            chain: Arc::new(Mutex::new(chain.clone())),
            asked: Arc::default(),
            latency: LATENCY,
        }
    }

    pub(crate) fn turn_to(&self, chain: &DevChain) {
        *self.chain.lock().unwrap() = chain.clone();
    }

    pub(crate) fn node(&self) -> Arc<dyn Node> {
        Arc::new(RpcNode::new(Arc::new(self.clone())))
    }
}

impl Transport for InProcess {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        Box::pin(async move {
            tokio::time::sleep(self.latency).await;
            *self.asked.lock().unwrap().entry(method).or_default() += 1;
            let reply = self.chain.lock().unwrap().answer(&body);
            match reply {
                Reply::Http { body, .. } => Ok(body),
                Reply::Close => Err(NodeFault::Lost { method }),
                Reply::Never => {
                    tokio::time::sleep(TIMEOUT).await;
                    Err(NodeFault::Lost { method })
                }
            }
        })
    }
}

pub(crate) struct World {
    pub(crate) chain: DevChain,
    pub(crate) node: InProcess,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) policy: Policy,
    /// The length of a lane's lease.
    pub(crate) lease_seconds: u64,
    start: Instant,
    /// Keeps the folder with the file of the records, if they are in a file.
    folder: Option<TempDir>,
}

pub(crate) fn policy() -> Policy {
    Policy {
        max_fee_per_gas: CAP,
        poll_interval: Duration::from_millis(200),
        watch_interval: Duration::from_secs(1),
        resend_after: Duration::from_secs(4),
        bump_after: Duration::from_secs(6),
        clear_after: Duration::from_secs(60),
        ..Policy::default()
    }
}

pub(crate) fn builder() -> DevChainBuilder {
    let start = Instant::now();
    let coins = U256::from(10_u128.pow(22));
    DEV_ACCOUNTS
        .iter()
        .fold(DevChain::builder(), |builder, account| {
            builder.account(account.address, coins)
        })
        .clock(move || NOW + start.elapsed().as_secs())
        .base_fee(BASE_FEE)
        .mining(Mining::Manual)
        .code(REVERTS, Bytes::from_static(&hex!("60006000fd")))
        .code(BURNS, Bytes::from_static(&hex!("fe")))
}

pub(crate) fn key() -> Arc<dyn TransactionSigner> {
    Arc::new(LocalKey::from_hex(&hex::encode(GAS_PAYER.key).into()).unwrap())
}

impl World {
    pub(crate) fn new() -> Self {
        Self::on(builder().build().unwrap())
    }

    pub(crate) fn on(chain: DevChain) -> Self {
        Self {
            node: InProcess::new(&chain),
            chain,
            store: Arc::new(MemoryStore::default()),
            policy: policy(),
            lease_seconds: Options::default().lease_seconds,
            start: Instant::now(),
            folder: None,
        }
    }

    /// Makes a world whose records are in a file, which every process opens itself.
    pub(crate) fn with_file() -> Self {
        let mut world = Self::new();
        world.folder = Some(tempfile::tempdir().unwrap());
        world.store = world.open_store();
        world
    }

    /// Opens the records as a new process would.
    pub(crate) fn open_store(&self) -> Arc<dyn Store> {
        match &self.folder {
            None => Arc::clone(&self.store),
            Some(folder) => {
                let path = folder.path().join("service.sender.db");
                Arc::new(SqliteStore::open(path).unwrap())
            }
        }
    }

    pub(crate) async fn sender(&self) -> Sender {
        self.sender_over(self.store.clone(), vec![self.node.node()], key())
            .await
    }

    pub(crate) async fn sender_over(
        &self,
        store: Arc<dyn Store>,
        nodes: Vec<Arc<dyn Node>>,
        signer: Arc<dyn TransactionSigner>,
    ) -> Sender {
        let chain = Chain {
            id: LANE.chain_id,
            nodes,
            policy: self.policy,
        };
        Sender::start(store, vec![chain], vec![signer], self.options())
            .await
            .unwrap()
    }

    /// Returns options in which the clock of senders follows the simulated time.
    pub(crate) fn options(&self) -> Options {
        let start = self.start;
        Options {
            clock: Clock::new(move || NOW + start.elapsed().as_secs()),
            lease_seconds: self.lease_seconds,
            ..Options::default()
        }
    }

    /// Lets this many seconds pass, with a block at the end of each.
    pub(crate) async fn blocks(&self, seconds: u32) {
        for _ in 0..seconds {
            pass(Duration::from_secs(1)).await;
            self.chain.mine();
        }
        // The sender gets time to see the last block.
        pass(Duration::from_millis(900)).await;
    }

    pub(crate) async fn record(&self, key: &str) -> Record {
        at_once(self.store.get(key)).unwrap().unwrap()
    }

    pub(crate) async fn state(&self, key: &str) -> &'static str {
        self.record(key).await.state.as_str()
    }

    /// Waits until the record under this key is in this state.
    pub(crate) async fn comes_to(&self, key: &str, state: &str) -> Record {
        let come = async || Some(self.record(key).await).filter(|it| it.state.as_str() == state);
        eventually(format_args!("{key} is {state}"), come).await
    }

    /// Waits until the outcome of the request is no longer watched.
    pub(crate) async fn until_final(&self, key: &str) -> Record {
        let last = async || Some(self.record(key).await).filter(|record| record.is_final);
        eventually(format_args!("{key} is final"), last).await
    }

    /// Waits until this many transactions wait for a block.
    pub(crate) async fn until_waiting(&self, count: usize) {
        let waiting = async || (self.chain.waiting().len() == count).then_some(());
        eventually(format_args!("{count} waiting transactions"), waiting).await;
    }

    /// Waits until the lane is held by this cause, or by none.
    pub(crate) async fn until_held(&self, sender: &Sender, cause: Option<&str>) {
        let held = async || (self.hold(sender) == cause).then_some(());
        eventually(format_args!("a hold by {cause:?}"), held).await;
    }

    /// Returns the time until the bytes of a new request reach the node.
    pub(crate) async fn time_to_send(&self, sender: &Sender, number: u64) -> Duration {
        let (began, before) = (Instant::now(), self.chain.waiting().len());
        submit(sender, number).await;
        let sent = async || (self.chain.waiting().len() > before).then_some(());
        eventually_every(Duration::from_millis(1), "the bytes at the node", sent).await;
        began.elapsed()
    }

    /// Returns the effect of the request of [`transfer`] with this number.
    pub(crate) fn effect(&self, number: u64) -> U256 {
        self.chain.native_balance(recipient(number))
    }

    /// Sends a transaction of the lane's account that the sender does not know of.
    pub(crate) fn send_behind_its_back(&self, nonce: u64) -> B256 {
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction",
            "params": [{
                "from": GAS_PAYER.address, "to": Address::repeat_byte(0xee), "value": "0x1",
                "nonce": format!("{nonce:#x}"), "gas": "0x5208",
                "maxFeePerGas": "0x3b9aca00", "maxPriorityFeePerGas": "0x3b9aca00",
            }],
        });
        let Reply::Http { body, .. } = self.chain.answer(request.to_string().as_bytes()) else {
            panic!("no answer")
        };
        let answer: Value = serde_json::from_slice(&body).unwrap();
        answer["result"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .parse()
            .unwrap()
    }

    /// Sends coins to an account.
    pub(crate) fn fund(&self, to: Address, wei: U256) {
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction",
            "params": [{ "from": DEV_ACCOUNTS[1].address, "to": to, "value": format!("{wei:#x}") }],
        });
        let Reply::Http { body, .. } = self.chain.answer(request.to_string().as_bytes()) else {
            panic!("no answer")
        };
        let answer: Value = serde_json::from_slice(&body).unwrap();
        assert!(answer["result"].is_string(), "{answer}");
    }

    /// Returns the name of the lane's hold.
    pub(crate) fn hold(&self, sender: &Sender) -> Option<&'static str> {
        sender.status(LANE).hold.map(|hold| hold.code())
    }
}

/// Returns the answer of a store that works in a thread of its own. Awaiting the answer would let
/// simulated time pass.
pub(crate) fn at_once<T>(answer: StoreFuture<'_, T>) -> Result<T, StoreError> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let (mut context, mut answer) = (Context::from_waker(&waker), pin!(unconstrained(answer)));
    loop {
        match answer.as_mut().poll(&mut context) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}

pub(crate) fn recipient(number: u64) -> Address {
    Address::left_padding_from(&(0xbeef_0000 + number).to_be_bytes())
}

/// Makes a request with a visible effect: one wei for an account that only this request pays.
pub(crate) fn transfer(number: u64) -> Request {
    Request {
        to: recipient(number),
        value: U256::from(1),
        input: Bytes::new(),
        gas_limit: 21_000,
        max_fee_per_gas: None,
        not_after: None,
        confirmations: None,
    }
}

pub(crate) fn name(number: u64) -> String {
    format!("transfer {number}")
}

pub(crate) async fn submit(sender: &Sender, number: u64) {
    let watch = sender.submit(&name(number), LANE, transfer(number)).await;
    watch.unwrap();
}
