//! A chain whose blocks and clock a test controls, an account with a grant, and plans that were
//! ordered under it.

mod node;
mod order;
mod process;
mod route;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloy_primitives::{B256, Bytes, U256, keccak256};
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::sol;
use calldata_checks::UtcSeconds;
use delegation_fence::{
    AccountKind, Budget, Confirmation, Event, Grant, Now, Order, Phase, ReadBack, Report, State,
    Submission, admit,
};
use dev_chain::{DevChain, Mining, base};
use fence_server::{Acceptance, Change, Holder, Prices, Store as _};
use gas_funding::{Funder, MemoryBook};
use serde_json::Value;
use test_support::{Fuse, MortalNode, eventually_every, pass};
use tokio::time::Instant;
use tx_sender::{MemoryStore, Takeover, Transport};

pub(crate) use self::node::{InProcess, reverts};
use self::order::{arguments, fence, instance, sign};
pub(crate) use self::order::{edited_policy, fence_policy};
pub(crate) use self::process::Process;
pub(crate) use self::route::TestRoute;
use crate::memory::Memory;
use crate::sample::{BASE, Draft, NOW, USDC, WETH, build, policy};

sol! {
    function approve(address spender, uint256 value) external returns (bool);
}

pub(crate) const GRANT: B256 = B256::repeat_byte(0x22);
/// The input of each plan: 1,000.000007 USDC.
pub(crate) const AMOUNT: u64 = 1_000_000_007;
const BUDGET: Budget = Budget {
    least_amount: U256::ZERO,
    of_plan: 0,
    of_account: u64::MAX,
    of_all: u64::MAX,
};

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

pub(crate) struct World {
    pub(crate) chain: DevChain,
    pub(crate) node: InProcess,
    pub(crate) store: Arc<Memory>,
    pub(crate) records: Arc<MemoryStore>,
    pub(crate) route: Arc<TestRoute>,
    pub(crate) funder: Option<Funder>,
    pub(crate) book: Arc<MemoryBook>,
    /// The price of the chain's coin, in dollars.
    pub(crate) coin_usd: Option<u64>,
    /// The payments of each owner, in micro US dollars.
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
            draft.execute(number);
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
            holder: Holder::Known,
        };
        let at = UtcSeconds::from_unix(self.now());
        self.store.put(wallet().address(), at, change);
    }

    /// Checks the invariants at the end of every test.
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
                    // A plan without orders has no allowance of its own and reports the existing
                    // one: the clearing of an earlier plan may be in no block at that moment.
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

    pub(crate) fn report(&self, plan: B256) -> Report {
        let kept = self.store.kept(plan).unwrap();
        kept.sending().unwrap().report(&kept.admitted)
    }

    pub(crate) fn state(&self, plan: B256) -> State {
        self.report(plan).state
    }

    /// Passes a second, with a block at its end.
    pub(crate) async fn block(&self) {
        pass(Duration::from_secs(1)).await;
        self.chain.mine();
    }

    /// Makes blocks until a condition holds.
    pub(crate) async fn until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let mut second = self.now();
        let come = async || {
            if self.now() > second {
                second = self.now();
                self.chain.mine();
            }
            holds(self).then_some(())
        };
        eventually_every(Duration::from_millis(100), what, come).await;
    }

    /// Makes blocks until the end of a plan.
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

    /// Puts a node in the chain's place for some requests.
    pub(crate) fn instead(&self, answers: impl Fn(&Value) -> Option<Value> + Send + 'static) {
        *self.node.instead.lock().unwrap() = Some(Box::new(answers));
    }

    /// Counts the executed swaps of the router.
    pub(crate) fn swaps(&self) -> usize {
        let swapped = |sent: &&dev_chain::MinedSummary| {
            sent.to == Some(base::ROUTER) && sent.success && sent.from == wallet().address()
        };
        self.chain.transactions().iter().filter(swapped).count()
    }
}

/// Runs a future that waits for nothing.
pub(crate) fn futures_now<T>(future: impl Future<Output = T>) -> T {
    crate::sample::ready(future)
}
