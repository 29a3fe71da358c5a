//! A chain whose blocks and clock a test controls, an account with a grant, and plans that were
//! ordered under it.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::{SolCall as _, sol};
use calldata_checks::UtcSeconds;
use custody::{Owner, Turns};
use delegation_fence::{
    AccountKind, Budget, ClearObstacle, Confirmation, Domain, Event, Fence, Grant, Instance,
    Message, Name, Now, Order, Phase, Policy, ReadBack, Report, Signature, Signed, State,
    Submission, Transaction, TypedData, admit,
};
use dev_chain::{DEV_ACCOUNTS, DevChain, Mining, Reply, base};
use fence_sending::{
    ChainClocks, ChainReader, GasRules, OutgoingCall, Pace, Parts, Route, RouteFuture,
    RoutedAccounts, Sendings, own_call,
};
use fence_server::{Acceptance, Change, Delegations, KeptSubmission, Prices, Store as _};
use gas_funding::{CoinPrices, Funder, GasFunding, MemoryBook, PaidTotals};
use serde_json::{Value, json};
use test_support::{Fuse, MortalBook, MortalNode, MortalRecords};
use tokio::time::Instant;
use tx_sender::{
    Chain, Clock, HashSigner, MemoryStore, NodeFault, Options, RpcNode, Sender, Takeover,
    TransactionSigner, Transport,
};

use crate::memory::Memory;
use crate::mortal::MortalFence;
use crate::sample::{BASE, Draft, NOW, USDC, WETH, build, policy};
use crate::turns;

sol! {
    function snwap(address tokenIn, uint256 amountIn, address recipient, address tokenOut, uint256 amountOutMin, address executor, bytes executorData) external returns (uint256);
    function approve(address spender, uint256 value) external returns (bool);
}

pub(crate) const GRANT: B256 = B256::repeat_byte(0x22);
/// What each plan swaps: 1,000.000007 USDC.
pub(crate) const AMOUNT: u64 = 1_000_000_007;
const BUDGET: Budget = Budget {
    least_amount: U256::ZERO,
    of_plan: 0,
    of_account: u64::MAX,
    of_all: u64::MAX,
};
const EXAMPLE: &str = include_str!("../../../../docs/fence-policy.example.json");

pub(crate) fn key(number: u8) -> PrivateKeySigner {
    PrivateKeySigner::from_bytes(&B256::repeat_byte(number)).unwrap()
}

/// The sub-wallet.
pub(crate) fn wallet() -> PrivateKeySigner {
    key(0x61)
}

pub(crate) fn owner() -> PrivateKeySigner {
    key(0x51)
}

fn delegate() -> PrivateKeySigner {
    key(0x52)
}

/// A node that is a chain in this process; tests may put another chain in its place.
#[derive(Clone)]
pub(crate) struct InProcess {
    chain: Arc<Mutex<DevChain>>,
    /// Whether it answers.
    pub(crate) up: Arc<std::sync::atomic::AtomicBool>,
    /// What it answers in the chain's place.
    pub(crate) instead: Arc<Mutex<Option<Instead>>>,
}

/// The answer to a request, without its envelope, where it is not the chain's.
pub(crate) type Instead = Box<dyn Fn(&Value) -> Option<Value> + Send>;

/// What a node says of a call that reverts.
pub(crate) fn reverts() -> Value {
    json!({ "error": { "code": 3, "message": "execution reverted" } })
}

impl InProcess {
    pub(crate) fn new(chain: &DevChain) -> Self {
        Self {
            chain: Arc::new(Mutex::new(chain.clone())),
            up: Arc::new(true.into()),
            instead: Arc::default(),
        }
    }
}

impl Transport for InProcess {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(2)).await;
            if !self.up.load(std::sync::atomic::Ordering::SeqCst) {
                return Err(NodeFault::Unreachable);
            }
            if let Some(instead) = self.instead.lock().unwrap().as_ref() {
                let request: Value = serde_json::from_slice(&body).unwrap();
                if let Some(mut answer) = instead(&request) {
                    answer["jsonrpc"] = "2.0".into();
                    answer["id"] = request["id"].clone();
                    return Ok(answer.to_string().into_bytes());
                }
            }
            let reply = self.chain.lock().unwrap().answer(&body);
            match reply {
                Reply::Http { body, .. } => Ok(body),
                _ => Err(NodeFault::Lost { method }),
            }
        })
    }
}

/// An account whose key the test has.
pub(crate) struct TestRoute {
    pub(crate) owner: Mutex<Option<Address>>,
    pub(crate) clears: Mutex<Result<(), ClearObstacle>>,
    /// Whether nobody has the key any more.
    pub(crate) keyless: std::sync::atomic::AtomicBool,
}

impl Route for TestRoute {
    fn kind(&self) -> AccountKind {
        AccountKind::SubWallet
    }

    fn owner(&self, _: Address) -> RouteFuture<'_, Option<Address>> {
        let owner = *self.owner.lock().unwrap();
        Box::pin(async move { Ok(owner) })
    }

    fn budget_owner(&self, _: Address) -> RouteFuture<'_, Option<Owner>> {
        let owner = self
            .owner
            .lock()
            .unwrap()
            .map(|owner| Owner::new(196, owner));
        Box::pin(async move { Ok(owner) })
    }

    fn signer(&self, _: Address) -> RouteFuture<'_, Option<Arc<dyn TransactionSigner>>> {
        let keyless = self.keyless.load(std::sync::atomic::Ordering::SeqCst);
        let signer: Arc<dyn TransactionSigner> = Arc::new(HashSigner::new(wallet()));
        Box::pin(async move { Ok(Some(signer).filter(|_| !keyless)) })
    }

    fn call(
        &self,
        kept: &KeptSubmission,
        transaction: Transaction,
    ) -> Result<OutgoingCall, ClearObstacle> {
        if let Transaction::Clear(_) = transaction {
            (*self.clears.lock().unwrap())?;
        }
        Ok(own_call(&kept.admitted, transaction))
    }
}

/// Every coin at so many dollars, if it has a price.
struct CoinUsd(Option<u64>);

impl CoinPrices for CoinUsd {
    fn micro_usd(&self, _: u64, wei: U256) -> gas_funding::PortFuture<'_, Option<u64>> {
        let worth = |dollars| (wei * U256::from(dollars)).div_ceil(U256::from(10_u64.pow(12)));
        let micro = self.0.map(|dollars: u64| worth(dollars).to());
        Box::pin(std::future::ready(micro))
    }
}

/// What every owner has paid.
struct Paid(u64);

impl PaidTotals for Paid {
    fn paid(&self, _: Owner) -> gas_funding::PortFuture<'_, Option<u64>> {
        Box::pin(std::future::ready(Some(self.0)))
    }
}

pub(crate) struct World {
    pub(crate) chain: DevChain,
    pub(crate) node: InProcess,
    pub(crate) store: Arc<Memory>,
    pub(crate) records: Arc<MemoryStore>,
    pub(crate) route: Arc<TestRoute>,
    pub(crate) funder: Option<Funder>,
    pub(crate) book: Arc<MemoryBook>,
    /// What the chain's coin is worth, in dollars.
    pub(crate) coin_usd: Option<u64>,
    /// What each owner has paid, in micro US dollars.
    pub(crate) paid: u64,
    pub(crate) takeover: Takeover,
    /// Whether processes share the turns on accounts.
    pub(crate) servers: bool,
    pub(crate) prices: Option<Arc<dyn Prices>>,
    /// Whether the processes know how to send for accounts.
    pub(crate) routed: bool,
    pub(crate) plans: Mutex<u8>,
    start: Instant,
}

/// What runs in one process, and ends with it.
pub(crate) struct Process {
    _sendings: Sendings,
    pub(crate) sender: Sender,
    pub(crate) turns: Turns,
    pub(crate) funding: GasFunding,
    pub(crate) fuse: Arc<Fuse>,
}

pub(crate) fn fence_policy() -> Policy {
    edited_policy(|_| {})
}

pub(crate) fn edited_policy(edit: impl FnOnce(&mut Value)) -> Policy {
    let mut document: Value = serde_json::from_str(EXAMPLE).unwrap();
    document["fee_config_version"] = policy().fees.version.into();
    edit(&mut document);
    Policy::parse(&document.to_string()).unwrap()
}

fn instance() -> Instance {
    Instance {
        domain: Domain::new(BASE, B256::repeat_byte(0x11)),
        project_id: Name::new("shop").unwrap(),
    }
}

fn fence() -> Fence {
    Fence::new(instance(), fence_policy()).unwrap()
}

fn sign<M: Message>(message: M, key: &PrivateKeySigner) -> Signed<M> {
    let typed_data = TypedData::new(instance().domain, message).unwrap();
    let signature = key.sign_hash_sync(&typed_data.digest()).unwrap();
    Signed::new(
        typed_data,
        Signature::from_bytes(&signature.as_bytes()).unwrap(),
    )
}

fn arguments() -> Value {
    json!({
        "accountProfile": {"kind": "eoa", "address": wallet().address(), "chainId": BASE},
        "chainId": BASE, "fromToken": USDC, "toToken": WETH,
        "fromAmount": AMOUNT.to_string(), "slippage": {"maxBps": 50},
    })
}

/// The venue's leg as it can be executed.
fn executable(draft: &mut Draft, number: u8) {
    draft.call._transactionId = B256::repeat_byte(number);
    let leg = &mut draft.call._swapData[1];
    leg.callData = snwapCall {
        tokenIn: USDC,
        amountIn: leg.fromAmount,
        recipient: Address::ZERO,
        tokenOut: WETH,
        amountOutMin: U256::ZERO,
        executor: Address::ZERO,
        executorData: Bytes::new(),
    }
    .abi_encode()
    .into();
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(
        edit: impl FnOnce(dev_chain::DevChainBuilder) -> dev_chain::DevChainBuilder,
    ) -> Self {
        let start = Instant::now();
        let builder = DevChain::builder()
            .base_stage()
            .clock(move || NOW + start.elapsed().as_secs())
            .mining(Mining::Manual)
            .account(wallet().address(), U256::from(10_u64.pow(18)))
            .holder(USDC, wallet().address(), U256::from(base::USDC_FUNDS));
        let chain = edit(builder).build().unwrap();
        for _ in 0..4 {
            chain.mine();
        }
        let store = Memory::default();
        store.set_policy(Some(fence_policy()));
        let now = Now::offline(UtcSeconds::from_unix(NOW));
        let policy = fence_policy();
        let grant = Grant {
            account: wallet().address(),
            account_kind: AccountKind::SubWallet,
            chain_id: BASE,
            policy_name: policy.name().clone(),
            rules_digest: policy.digest(),
            project_id: instance().project_id,
            capability: policy.capability().clone(),
            delegate: delegate().address(),
            per_swap_cap: policy.per_swap_cap(),
            grant_id: GRANT,
            issued_at: NOW - 10,
            not_before: NOW - 10,
            expires_at: NOW + 86_400 * 30,
        };
        let owner = owner();
        let received = fence().receive(sign(grant, &owner), owner.address(), now);
        let change = Change::Grant(Box::new(received.unwrap()), Vec::new());
        store.put(wallet().address(), now.wall, change);
        Self {
            node: InProcess::new(&chain),
            chain,
            store: Arc::new(store),
            records: Arc::default(),
            route: Arc::new(TestRoute {
                owner: Mutex::new(Some(owner.address())),
                clears: Mutex::new(Ok(())),
                keyless: false.into(),
            }),
            funder: None,
            book: Arc::default(),
            coin_usd: None,
            paid: u64::MAX,
            takeover: Takeover::WhenOver,
            servers: false,
            prices: None,
            routed: true,
            plans: Mutex::new(0),
            start,
        }
    }

    pub(crate) fn now(&self) -> u64 {
        NOW + self.start.elapsed().as_secs()
    }

    /// A plan that was admitted and accepted.
    pub(crate) fn accept(&self) -> B256 {
        self.accept_edited(|_| {})
    }

    pub(crate) fn accept_edited(&self, edit: impl Fn(&mut Draft) + Send + Sync) -> B256 {
        let number = {
            let mut plans = self.plans.lock().unwrap();
            *plans += 1;
            *plans
        };
        let arguments = arguments();
        let sealed = build(&arguments, |draft| {
            executable(draft, number);
            edit(draft);
        });
        let envelope = sealed.unwrap().into_json();
        let plan: Value = serde_json::from_str(&envelope).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let call: Bytes = text(&plan["payload"]["steps"][2]["data"]).parse().unwrap();
        let order = Order {
            account: wallet().address(),
            grant_id: GRANT,
            payload_digest: text(&plan["submission"]["payload_digest"]).parse().unwrap(),
            call_hash: keccak256(&call),
            output_token: WETH,
            min_amount_out: text(&plan["payload"]["quote"]["to_amount_min"])
                .parse()
                .unwrap(),
            deadline: NOW + 40,
        };
        let order = sign(order, &delegate());
        let (fence, plans, request) = (fence(), policy(), arguments.to_string());
        let digest = order.message().payload_digest;
        let view = self.store.view(wallet().address(), GRANT, Some(digest));
        let view = futures_now(view).unwrap();
        let confirmation = Confirmation {
            fence: &fence,
            read_back: &ReadBack::of(fence.policy()),
            account: &view.account(fence.instance()).unwrap(),
            owner: owner().address(),
            plans: &plans,
            peg: None,
            now: Now::offline(UtcSeconds::from_unix(self.now())),
        };
        let submission = Submission {
            account: wallet().address(),
            grant_id: GRANT,
            request: &request,
            envelope: &envelope,
            order: &order,
        };
        let admitted = admit(&confirmation, &submission, Phase::Begin).unwrap();
        let acceptance = Acceptance {
            order,
            request,
            envelope,
            admitted,
            budget: BUDGET,
        };
        let at = UtcSeconds::from_unix(self.now());
        let change = Change::Accept(Box::new(acceptance));
        self.store.put(wallet().address(), at, change);
        digest
    }

    pub(crate) fn revoke(&self) {
        let change = Change::End {
            grant_id: GRANT,
            ended_at: self.now(),
            signed: None,
        };
        let at = UtcSeconds::from_unix(self.now());
        self.store.put(wallet().address(), at, change);
    }

    /// What holds at the end of everything, whatever has happened.
    pub(crate) fn judge(&self, plans: &[B256], what: &str) {
        assert_eq!(self.store.violations(), Vec::<String>::new(), "{what}");
        let sent = self.chain.transactions();
        let mut reported = U256::ZERO;
        for plan in plans {
            let kept = self.store.kept(*plan).unwrap();
            let call = &kept.admitted.steps[2].data;
            let calls: Vec<_> = sent.iter().filter(|sent| sent.input == *call).collect();
            assert!(
                calls.len() <= 1,
                "{what}: {} calls of one order",
                calls.len()
            );
            let report = self.report(*plan);
            let swapped = calls.iter().any(|sent| sent.success);
            let events = &kept.events;
            assert_eq!(
                report.state == State::Done,
                swapped,
                "{what}: {:?} {events:?}",
                report.state
            );
            for (hash, block, effective) in report.steps.into_iter().flatten() {
                let stands = sent.iter().find(|sent| sent.hash == hash);
                let stands = stands.map(|sent| (sent.block_number, sent.success));
                let said = Some((block.number, effective));
                assert_eq!(stands, said, "{what}: {events:?}");
            }
            match report.state {
                State::Done | State::HaltedClean => {
                    let cleared = report
                        .allowance_read_back
                        .is_none_or(|(left, _)| left.is_zero());
                    // A plan that ordered nothing has no allowance of its own. It says what it
                    // found: the clearing of an earlier plan may be in no block at that moment.
                    let began = events
                        .iter()
                        .any(|event| matches!(event, Event::Ordered(_)));
                    assert!(cleared || !began, "{what}: {report:?}");
                }
                State::HaltedDirty => {
                    reported = report.allowance_read_back.unwrap().0;
                    assert!(report.clear_transaction.is_some(), "{what}");
                }
                other => panic!("{what}: {other:?} {events:?}"),
            }
        }
        assert_eq!(self.allowance(), reported, "{what}");
    }

    /// The machine's clock.
    pub(crate) fn clock(&self) -> Arc<dyn Fn() -> u64 + Send + Sync> {
        let start = self.start;
        Arc::new(move || NOW + start.elapsed().as_secs())
    }

    /// The chain's node as one process sees it.
    pub(crate) fn node(&self, fuse: &Arc<Fuse>) -> Arc<dyn Transport> {
        Arc::new(MortalNode {
            node: Arc::new(self.node.clone()),
            fuse: Arc::clone(fuse),
        })
    }

    pub(crate) async fn process(&self, fuse: Arc<Fuse>) -> Process {
        let node = self.node(&fuse);
        let turns = match self.servers {
            true => turns::shared(self.records.clone(), Arc::clone(&fuse)),
            false => Turns::default(),
        };
        let start = self.start;
        let network = Chain {
            id: BASE,
            nodes: vec![Arc::new(RpcNode::new(Arc::clone(&node)))],
            policy: tx_sender::Policy {
                poll_interval: Duration::from_millis(200),
                watch_interval: Duration::from_secs(1),
                resend_after: Duration::from_secs(4),
                bump_after: Duration::from_secs(6),
                ..tx_sender::Policy::default()
            },
        };
        let records = MortalRecords {
            store: self.records.clone(),
            fuse: Arc::clone(&fuse),
        };
        let options = Options {
            clock: Clock::new(move || NOW + start.elapsed().as_secs()),
            takeover: self.takeover,
        };
        let funder: Arc<dyn TransactionSigner> = Arc::new(HashSigner::new(
            PrivateKeySigner::from_bytes(&DEV_ACCOUNTS[2].key).unwrap(),
        ));
        let sender = Sender::new(Arc::new(records), vec![network], vec![funder], options);
        let route: Arc<dyn Route> = Arc::clone(&self.route) as _;
        let chain = ChainReader::new(BASE, vec![node], 1);
        let clock = self.clock();
        let funding = match self.funder.clone() {
            None => GasFunding::none(),
            Some(funder) => GasFunding::new(gas_funding::Parts {
                funder,
                sender: sender.clone(),
                book: Arc::new(MortalBook {
                    book: Arc::clone(&self.book),
                    fuse: Arc::clone(&fuse),
                }),
                prices: Arc::new(CoinUsd(self.coin_usd)),
                paid: Arc::new(Paid(self.paid)),
                clock: Arc::clone(&clock),
            }),
        };
        let delegations = Delegations::install(fence_server::Parts {
            fence: fence(),
            plans: policy(),
            budget: BUDGET,
            store: Arc::new(MortalFence {
                store: Arc::clone(&self.store),
                fuse: Arc::clone(&fuse),
            }),
            accounts: Arc::new(RoutedAccounts::new(vec![Arc::clone(&route)])),
            clocks: Arc::new(ChainClocks::new(chain.clone(), Arc::clone(&clock))),
            prices: self.prices.clone(),
            chain: None,
            delegated: None,
        });
        let sendings = Sendings::start(Parts {
            delegations: Arc::new(delegations.await.unwrap()),
            routes: Vec::from_iter(self.routed.then_some(route)),
            chain,
            sender: sender.clone(),
            turns: turns.clone(),
            gas: GasRules::default(),
            funding: funding.clone(),
            pace: Pace {
                look: Duration::from_millis(200),
                unpriced: Duration::from_millis(200),
                sweep: Duration::from_millis(500),
                rest: Duration::from_secs(3),
                lease_seconds: 10,
                watched: Duration::from_secs(100),
            },
            clock,
        });
        Process {
            _sendings: sendings,
            sender,
            turns,
            funding,
            fuse,
        }
    }

    pub(crate) fn report(&self, plan: B256) -> Report {
        let kept = self.store.kept(plan).unwrap();
        kept.sending().unwrap().report(&kept.admitted)
    }

    pub(crate) fn state(&self, plan: B256) -> State {
        self.report(plan).state
    }

    /// Lets a second pass, with a block at its end.
    pub(crate) async fn block(&self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.chain.mine();
    }

    /// Makes blocks until something holds.
    pub(crate) async fn until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        for _ in 0..600 {
            if holds(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            if self.start.elapsed().subsec_millis() < 100 {
                self.chain.mine();
            }
        }
        panic!("{what} did not come to be");
    }

    /// Makes blocks until a plan has come to its end.
    pub(crate) async fn ended(&self, plan: B256) -> State {
        self.until("the end", |world| world.state(plan).is_final())
            .await;
        self.state(plan)
    }

    pub(crate) fn allowance(&self) -> U256 {
        let allowed = self.chain.allowance(USDC, wallet().address(), base::ROUTER);
        allowed.unwrap()
    }

    pub(crate) fn weth(&self) -> U256 {
        self.chain.balance_of(WETH, wallet().address()).unwrap()
    }

    /// Puts a node in the chain's place, as far as it answers something.
    pub(crate) fn instead(&self, answers: impl Fn(&Value) -> Option<Value> + Send + 'static) {
        *self.node.instead.lock().unwrap() = Some(Box::new(answers));
    }

    /// How often the router's swap was executed with effect.
    pub(crate) fn swaps(&self) -> usize {
        let swapped = |sent: &&dev_chain::MinedSummary| {
            sent.to == Some(base::ROUTER) && sent.success && sent.from == wallet().address()
        };
        self.chain.transactions().iter().filter(swapped).count()
    }
}

/// The output of a future that waits for nothing.
pub(crate) fn futures_now<T>(future: impl Future<Output = T>) -> T {
    crate::sample::ready(future)
}
