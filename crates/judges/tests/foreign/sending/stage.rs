//! The stage of these tests: an account of anvil with a grant, and the processes that send for it,
//! over files.

mod chain;
mod grant;

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use calldata_checks::{Rail, UtcSeconds};
use delegation_fence::onchain::{GrantFile, Level};
use delegation_fence::{
    AccountKind, Budget, ClearObstacle, Event, Fence, Grant, Order, Report, Revocation, State,
    Transaction,
};
use dev_chain::base::{CHAIN_ID, USDC};
use fence_sending::{
    ChainClocks, ChainReader, DelegatedAccounts, GasFunding, GasRules, OutgoingCall, Owner, Pace,
    Parts, Route, RouteFuture, RoutedAccounts, Sendings, own_call,
};
use fence_server::{DelegationError, Delegations, KeptSubmission, OnChain, Ordered, Store};
use judges::{Account, Anvil, Toolchain};
use plan_builder::ports::NoSimulator;
use plan_builder::{Moment, Request, swap};
use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::eventually;
use tx_sender::{
    Chain, HttpTransport, LocalKey, Options, RpcNode, Sender, SqliteStore, TransactionSigner,
    Transport,
};

use self::grant::{fence_policy, instance, key, sign};
use crate::base_chain::{self, TRADER};
use crate::onchain::install;
use crate::sending::sample::{Aggregator, Draft, WETH, policy};

const GRANT_ID: B256 = B256::repeat_byte(0x22);
pub(crate) struct Stage {
    anvil: Anvil,
    owner: keystore::Key,
    pub(crate) file: GrantFile,
    pub(crate) delegations: Arc<Delegations>,
    store: Arc<dyn Store>,
    _sendings: Sendings,
    _folder: TempDir,
}

struct Trader;

impl Route for Trader {
    fn kind(&self) -> AccountKind {
        AccountKind::SubWallet
    }

    fn owner(&self, _: Address) -> RouteFuture<'_, Option<Address>> {
        Box::pin(async { Ok(Some(key(0x51).address())) })
    }

    fn budget_owner(&self, _: Address) -> RouteFuture<'_, Option<Owner>> {
        Box::pin(async { Ok(None) })
    }

    fn signer(&self, _: Address) -> RouteFuture<'_, Option<Arc<dyn TransactionSigner>>> {
        Box::pin(async { Ok(Some(local_key(TRADER))) })
    }

    fn call(
        &self,
        kept: &KeptSubmission,
        transaction: Transaction,
    ) -> Result<OutgoingCall, ClearObstacle> {
        Ok(own_call(&kept.admitted, transaction))
    }
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

fn local_key(account: Account) -> Arc<dyn TransactionSigner> {
    Arc::new(LocalKey::from_hex(&account.private_key.into()).unwrap())
}

impl Stage {
    /// Opens a stage with an account whose key the service has.
    pub(crate) async fn open() -> Self {
        Self::open_as(None).await
    }

    /// Opens a stage with an account that has the framework's code, and whose key the service does
    /// not have.
    pub(crate) async fn delegated(level: Level) -> Self {
        Self::open_as(Some(level)).await
    }

    async fn open_as(level: Option<Level>) -> Self {
        let toolchain = Toolchain::from_env().unwrap();
        let anvil = base_chain::start(&toolchain).await;
        if level.is_some() {
            install::install(&toolchain, &anvil).await;
            install::point(&anvil, TRADER, 0).await;
        }
        // The setup must be in a block that has other blocks above it.
        for _ in 0..2 {
            let _: Value = anvil.rpc().call("evm_mine", json!([])).await.unwrap();
        }
        let _: Value = anvil
            .rpc()
            .call("evm_setAutomine", json!([false]))
            .await
            .unwrap();
        let _: Value = anvil
            .rpc()
            .call("evm_setIntervalMining", json!([1]))
            .await
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let url = anvil.rpc().url().to_owned();
        let node = HttpTransport::new(&url.into(), Duration::from_secs(5)).unwrap();
        let node: Arc<dyn Transport> = Arc::new(node);
        let network = Chain {
            id: CHAIN_ID,
            nodes: vec![Arc::new(RpcNode::new(Arc::clone(&node)))],
            policy: tx_sender::Policy {
                resend_after: Duration::from_secs(1),
                ..tx_sender::Policy::default()
            },
        };
        let records = SqliteStore::open(folder.path().join("sender.db")).unwrap();
        let sender = Sender::new(Arc::new(records), vec![network], vec![], Options::default());
        let store = fence_server::SqliteStore::open(folder.path().join("fence.db")).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let chain = ChainReader::new(CHAIN_ID, vec![node], 1);
        let clock: Arc<dyn Fn() -> u64 + Send + Sync> = Arc::new(now);
        let delegated = level.map(|level| {
            let redeemer = local_key(Account::SETTLER);
            let tokens = vec![WETH, Address::repeat_byte(0x77)];
            Arc::new(DelegatedAccounts::new(
                chain.clone(),
                redeemer,
                level,
                tokens,
                196,
            ))
        });
        let route: Arc<dyn Route> = match &delegated {
            Some(delegated) => Arc::<DelegatedAccounts>::clone(delegated),
            None => Arc::new(Trader),
        };
        let delegations = Delegations::install(fence_server::Parts {
            fence: Fence::new(instance(), fence_policy()).unwrap(),
            plans: policy(),
            budget: Budget {
                least_amount: U256::ZERO,
                of_plan: 0,
                of_account: u64::MAX,
                of_all: u64::MAX,
            },
            store: Arc::clone(&store),
            accounts: Arc::new(RoutedAccounts::new(vec![Arc::clone(&route)])),
            clocks: Arc::new(ChainClocks::new(chain.clone(), Arc::clone(&clock))),
            prices: None,
            chain: None,
            delegated: delegated.map(|delegated| -> Arc<dyn fence_server::Chain> { delegated }),
            strangers_revocations: 1000,
        });
        let delegations = Arc::new(delegations.await.unwrap());
        let policy = fence_policy();
        let grant = Grant {
            account: TRADER.address,
            account_kind: match level {
                Some(_) => AccountKind::Eoa7702,
                None => AccountKind::SubWallet,
            },
            chain_id: CHAIN_ID,
            policy_name: policy.name().clone(),
            rules_digest: policy.digest(),
            project_id: instance().project_id,
            capability: policy.capability().clone(),
            delegate: key(0x52).address(),
            per_swap_cap: policy.per_swap_cap(),
            grant_id: GRANT_ID,
            issued_at: now() - 5,
            not_before: now() - 5,
            expires_at: now() + 86_400,
        };
        let owner = match level {
            Some(_) => keystore::Key::from_text(TRADER.private_key).unwrap(),
            None => key(0x51),
        };
        let signed = sign(grant, &owner);
        let file = GrantFile {
            delegations: match level {
                Some(level) => grant::delegations(signed.typed_data(), level),
                None => Vec::new(),
            },
            signed,
        };
        delegations.receive_grant(file.clone()).await.unwrap();
        let sendings = Sendings::start(Parts {
            delegations: Arc::clone(&delegations),
            routes: vec![route],
            chain,
            sender,
            turns: fence_sending::Turns::default(),
            gas: GasRules::default(),
            funding: GasFunding::none(),
            pace: Pace {
                look: Duration::from_millis(200),
                rest: Duration::from_millis(500),
                ..Pace::default()
            },
            clock,
        });
        Self {
            anvil,
            owner,
            file,
            delegations,
            store,
            _sendings: sendings,
            _folder: folder,
        }
    }

    /// Builds a plan for the account as the rail does, orders it, and lets the service accept it.
    pub(crate) async fn accept(&self, number: u8) -> B256 {
        self.try_accept(number).await.unwrap()
    }

    /// Like [`Self::accept`]. Returns the error when the service refuses.
    pub(crate) async fn try_accept(&self, number: u8) -> Result<B256, DelegationError> {
        let arguments = json!({
            "accountProfile": {"kind": "eoa", "address": TRADER.address, "chainId": CHAIN_ID},
            "chainId": CHAIN_ID, "fromToken": USDC, "toToken": WETH,
            "fromAmount": "1000000007", "slippage": {"maxBps": 50},
        });
        let at = now();
        let edit = move |draft: &mut Draft| {
            draft.quote.read_at = UtcSeconds::from_unix(at);
            draft.execute(number);
        };
        let Request::Swap(request) = Request::parse(Rail::Swap, &arguments.to_string()).unwrap()
        else {
            panic!("no swap")
        };
        let moment = Moment {
            now_millis: at * 1000,
            entropy: [number; 32],
        };
        let quotes = Aggregator::new(edit);
        let sealed = swap::build(&request, &quotes, &NoSimulator, &policy(), &moment).await;
        let envelope = sealed.unwrap().into_json();
        let plan: Value = serde_json::from_str(&envelope).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let call: Bytes = text(&plan["payload"]["steps"][2]["data"]).parse().unwrap();
        let order = Order {
            account: TRADER.address,
            grant_id: GRANT_ID,
            payload_digest: text(&plan["submission"]["payload_digest"]).parse().unwrap(),
            call_hash: keccak256(&call),
            output_token: WETH,
            min_amount_out: text(&plan["payload"]["quote"]["to_amount_min"])
                .parse()
                .unwrap(),
            deadline: at + 25,
        };
        let digest = order.payload_digest;
        let ordered = Ordered {
            account: TRADER.address,
            grant_id: GRANT_ID,
            request: arguments.to_string(),
            envelope,
            order: sign(order, &key(0x52)),
        };
        self.delegations.submit(&ordered).await?;
        Ok(digest)
    }

    pub(crate) async fn revoke(&self) {
        let revocation = Revocation {
            account: TRADER.address,
            chain_id: CHAIN_ID,
            grant_id: GRANT_ID,
            project_id: instance().project_id,
            revoked_at: now(),
        };
        let signed = sign(revocation, &self.owner);
        self.delegations.receive_revocation(signed).await.unwrap();
    }

    /// The state of the grant's delegations on the chain.
    pub(crate) async fn on_chain(&self) -> OnChain {
        let read = self.delegations.on_chain(TRADER.address, GRANT_ID);
        read.await.unwrap().unwrap()
    }

    pub(crate) async fn report(&self, plan: B256) -> Report {
        let kept = self.store.submission(plan).await.unwrap().unwrap();
        kept.sending().unwrap().report(&kept.admitted)
    }

    /// Waits until the plan is in this state, in which it rests without having ended.
    pub(crate) async fn rests_in(&self, plan: B256, state: State) {
        let rests = async || (self.report(plan).await.state == state).then_some(());
        eventually(&format!("{state:?} of {plan}"), rests).await;
    }

    pub(crate) async fn ended(&self, plan: B256) -> State {
        let end = async || Some(self.report(plan).await.state).filter(|state| state.is_final());
        eventually(&format!("the end of {plan}"), end).await
    }

    pub(crate) async fn until(&self, plan: B256, is: impl Fn(&Event) -> bool) {
        let happened = async || {
            let kept = self.store.submission(plan).await.unwrap().unwrap();
            kept.events.iter().any(&is).then_some(())
        };
        eventually(&format!("an event of {plan}"), happened).await;
    }
}
