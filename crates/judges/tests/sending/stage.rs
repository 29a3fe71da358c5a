//! An account of anvil with a grant, and the processes that send for it, over files.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{SolCall as _, sol};
use delegation_fence::{
    AccountKind, Admitted, Budget, ClearObstacle, Domain, Event, Fence, Grant, Instance, Message,
    Name, Order, Policy, Report, Revocation, Signature, Signed, State, Transaction, TypedData,
};
use dev_chain::base::{CHAIN_ID, ROUTER, USDC};
use fence_sending::{
    Call, ChainClocks, ChainReader, GasRules, Pace, Parts, Route, RouteFuture, RoutedAccounts,
    Sendings, own_call,
};
use fence_server::{Delegations, Ordered, Store};
use judges::{Anvil, Rpc, Toolchain};
use plan_builder::{Moment, Request, ports::NoSimulator, swap};
use plan_checks::{Rail, UtcSeconds};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tx_sender::{
    Chain, HttpTransport, LocalKey, Options, RpcNode, Sender, SqliteStore, TransactionSigner,
    Transport,
};

use crate::base_chain::{self, TRADER};
use crate::sample::{Aggregator, Draft, WETH, policy};

sol! {
    function snwap(address tokenIn, uint256 amountIn, address recipient, address tokenOut, uint256 amountOutMin, address executor, bytes executorData) external returns (uint256);
    function allowance(address owner, address spender) external view returns (uint256);
}

const POLICY: &str = include_str!("../../../../docs/fence-policy.example.json");
const GRANT_ID: B256 = B256::repeat_byte(0x22);
const SALT: B256 = B256::repeat_byte(0x11);
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    anvil: Anvil,
    delegations: Arc<Delegations>,
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

    fn signer(&self, _: Address) -> RouteFuture<'_, Option<Arc<dyn TransactionSigner>>> {
        Box::pin(async {
            let key = LocalKey::from_hex(&TRADER.private_key.into()).unwrap();
            let signer: Arc<dyn TransactionSigner> = Arc::new(key);
            Ok(Some(signer))
        })
    }

    fn call(&self, admitted: &Admitted, transaction: Transaction) -> Result<Call, ClearObstacle> {
        Ok(own_call(admitted, transaction))
    }
}

fn key(number: u8) -> keystore::Key {
    keystore::Key::from_bytes(&[number; 32]).unwrap()
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

fn fence_policy() -> Policy {
    let mut document: Value = serde_json::from_str(POLICY).unwrap();
    document["fee_config_version"] = policy().fees.version.into();
    Policy::parse(&document.to_string()).unwrap()
}

fn instance() -> Instance {
    Instance {
        domain: Domain::new(CHAIN_ID, SALT),
        project_id: Name::new("shop").unwrap(),
    }
}

fn sign<M: Message>(message: M, key: &keystore::Key) -> Signed<M> {
    let typed_data = TypedData::new(instance().domain, message).unwrap();
    let signature = key.sign(typed_data.digest()).unwrap();
    Signed::new(typed_data, Signature::from_bytes(&signature).unwrap())
}

impl Stage {
    pub(crate) async fn open() -> Self {
        let toolchain = Toolchain::from_env().unwrap();
        let anvil = base_chain::start(&toolchain).await;
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
        let route: Arc<dyn Route> = Arc::new(Trader);
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
        });
        let delegations = Arc::new(delegations.await.unwrap());
        let policy = fence_policy();
        let grant = Grant {
            account: TRADER.address,
            account_kind: AccountKind::SubWallet,
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
        delegations
            .receive_grant(sign(grant, &key(0x51)))
            .await
            .unwrap();
        let sendings = Sendings::start(Parts {
            delegations: Arc::clone(&delegations),
            routes: vec![route],
            chain,
            sender,
            gas: GasRules::default(),
            pace: Pace {
                look: Duration::from_millis(200),
                ..Pace::default()
            },
            clock,
        });
        Self {
            anvil,
            delegations,
            store,
            _sendings: sendings,
            _folder: folder,
        }
    }

    pub(crate) fn rpc(&self) -> &Rpc {
        self.anvil.rpc()
    }

    pub(crate) async fn call<T: DeserializeOwned>(&self, method: &'static str, params: Value) -> T {
        self.rpc().call(method, params).await.unwrap()
    }

    /// A plan for the account as the rail builds it, ordered and accepted.
    pub(crate) async fn accept(&self, number: u8) -> B256 {
        let arguments = json!({
            "accountProfile": {"kind": "eoa", "address": TRADER.address, "chainId": CHAIN_ID},
            "chainId": CHAIN_ID, "fromToken": USDC, "toToken": WETH,
            "fromAmount": "1000000007", "slippage": {"maxBps": 50},
        });
        let at = now();
        let edit = move |draft: &mut Draft| {
            draft.quote.read_at = UtcSeconds::from_unix(at);
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
        self.delegations.submit(&ordered).await.unwrap();
        digest
    }

    pub(crate) async fn revoke(&self) {
        let revocation = Revocation {
            account: TRADER.address,
            chain_id: CHAIN_ID,
            grant_id: GRANT_ID,
            project_id: instance().project_id,
            revoked_at: now(),
        };
        let signed = sign(revocation, &key(0x51));
        self.delegations.receive_revocation(signed).await.unwrap();
    }

    pub(crate) async fn report(&self, plan: B256) -> Report {
        let kept = self.store.submission(plan).await.unwrap().unwrap();
        kept.sending().unwrap().report(&kept.admitted)
    }

    pub(crate) async fn ended(&self, plan: B256) -> State {
        let began = std::time::Instant::now();
        loop {
            let report = self.report(plan).await;
            if report.state.is_final() {
                return report.state;
            }
            assert!(began.elapsed() < PATIENCE * 2, "{report:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn until(&self, plan: B256, is: impl Fn(&Event) -> bool) {
        let began = std::time::Instant::now();
        loop {
            let kept = self.store.submission(plan).await.unwrap().unwrap();
            if kept.events.iter().any(&is) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{:?}", kept.events);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The account's transaction that the node's pool has.
    pub(crate) async fn in_pool(&self) -> B256 {
        let began = std::time::Instant::now();
        loop {
            let block: Value = self
                .call("eth_getBlockByNumber", json!(["pending", false]))
                .await;
            if let Some(hash) = block["transactions"].get(0).and_then(Value::as_str) {
                return hash.parse().unwrap();
            }
            assert!(began.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn allowance(&self) -> U256 {
        let call = allowanceCall {
            owner: TRADER.address,
            spender: ROUTER,
        };
        self.rpc().view(USDC, &call).await.unwrap()
    }
}
