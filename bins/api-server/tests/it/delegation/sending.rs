//! Tests of the whole way of a plan on real servers: a sub-wallet, a grant, a plan, an order, three
//! sealed steps on the embedded chain, and the end of the grant.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::{SolCall as _, sol};
use api_server::config::DelegationSection;
use api_server::{Config, EmbeddedPlan, EmbeddedPlans};
use calldata_checks::{Rail, UtcSeconds};
use data_sources::SystemClock;
use delegation_fence::{
    AccountKind, Grant, Message, Name, Order, Policy, Revocation, Signed, verify_log,
};
use dev_chain::{BUYER, DEV_ACCOUNTS, DevChain, RpcServer, base};
use plan_builder::{FeeDocument, Moment, Request, ports::NoSimulator, swap};
use replay::Recordings;
use serde_json::{Value, json};
use test_support::eventually;

use crate::delegation::sample::{Aggregator, Draft};
pub(crate) use crate::delegation::sample::{BASE, USDC, WETH};
pub(crate) use crate::delegation::stage::{GRANT_ID, PROJECT};
use crate::support::{World, weakly_stretched};

sol! {
    function transfer(address to, uint256 value) external returns (bool);
}

pub(crate) const FEES: &str = include_str!("../../../../../fixtures/vectors/plans/fees.toml");
const POLICY: &str = include_str!("../../../../../docs/fence-policy.example.json");
pub(crate) const SALT: &str = "0x1111111111111111111111111111111111111111111111111111111111111111";
/// The recipient of the reviewed fee.
const OWN: Address = address!("90F79bf6EB2c4f870365E785982E1f101E93b906");
/// The worth of the sample's quote at the recorded price of WETH, 2,500 USD, and the fee of 1 %.
pub(crate) const AMOUNT: u64 = 760_000_007;

pub(crate) fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

pub(crate) fn policy() -> Policy {
    let mut document: Value = serde_json::from_str(POLICY).unwrap();
    document["fee_config_version"] = "2026-11-01".into();
    Policy::parse(&document.to_string()).unwrap()
}

pub(crate) fn sign<M: Message>(message: M, key: &PrivateKeySigner) -> Signed<M> {
    EmbeddedPlans::sign(message, key).unwrap()
}

pub(crate) struct Round {
    pub(crate) world: World,
    pub(crate) base: DevChain,
    pub(crate) wallet: Address,
    client: reqwest::Client,
    _rpc: RpcServer,
    _folder: tempfile::TempDir,
}

impl Round {
    /// Starts a server with custody and the fence. The buyer's sub-wallet has tokens and no gas.
    pub(crate) async fn open() -> Self {
        Self::open_with(5 * AMOUNT, |_| {}).await
    }

    /// Starts such a server with this many tokens in the sub-wallet. The test may change the
    /// configuration.
    pub(crate) async fn open_with(tokens: u64, change: impl FnOnce(&mut Config)) -> Self {
        let base = DevChain::with_base_stage().unwrap();
        // Gas is as cheap as on rollups, because the top-ups of an owner are limited to the sum
        // that it has paid, and coins without a price count as dear.
        base.set_base_fee(1_000_000);
        let mut round = Self::start(base, change).await;
        for _ in 0..20 {
            round.wallet = round.buy_sub_wallet().await;
        }
        round.fund(tokens);
        round
    }

    async fn buy_sub_wallet(&self) -> Address {
        let payment = self.world.buyer.payment("/sub-wallet").await;
        let answer = self.world.buyer.get_paid("/sub-wallet", &payment).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let wallet = answer.body()["data"]["sub_wallet"].clone();
        wallet.as_str().unwrap().parse().unwrap()
    }

    /// Starts a server with custody and the fence on `base`. The test may change the configuration.
    pub(crate) async fn start(base: DevChain, change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("policy.json"), policy().canonical()).unwrap();
        std::fs::write(folder.path().join("fees.toml"), FEES).unwrap();
        let rpc = base.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
        let (path, node) = (folder.path().to_owned(), rpc.url());
        let recordings = Recordings::embedded().unwrap().at(now());
        let start = World::at(
            Arc::new(SystemClock),
            recordings,
            move |config: &mut Config, _| {
                config.custody = Some(weakly_stretched(
                    path.join("wallets"),
                    "the operator's secret",
                ));
                config.wallets.gas_account_key = Some(DEV_ACCOUNTS[2].key.to_string().into());
                config.delegation = Some(DelegationSection {
                    project_id: PROJECT.to_owned(),
                    instance_salt: SALT.to_owned(),
                    policy: Some(path.join("policy.json")),
                    policy_digest: policy().digest().to_string(),
                    max_deviation_bps: 10_000,
                    ..DelegationSection::default()
                });
                let fees = path.join("fees.toml").to_string_lossy().into_owned();
                config.plans.insert("fee_config".to_owned(), fees.into());
                let table = config.chains.0.entry("8453".to_owned()).or_default();
                table.rpc_urls = vec![node];
                table.mode = None;
                change(config);
            },
        );
        // The state of a whole server is too large for a stack.
        let world = Box::pin(start).await;
        Self {
            world,
            base,
            wallet: Address::ZERO,
            client: test_support::http_client(),
            _rpc: rpc,
            _folder: folder,
        }
    }

    /// Gives the account tokens, and no coins for gas.
    pub(crate) fn fund(&self, tokens: u64) {
        let transfer = transferCall {
            to: self.wallet,
            value: U256::from(tokens),
        };
        let data = Bytes::from(transfer.abi_encode());
        let call = json!({"from": BUYER.address, "to": USDC, "data": data});
        let sent = self.base.request("eth_sendTransaction", json!([call]));
        sent.unwrap();
        // The server reads blocks that have another block above them.
        self.base.mine();
    }

    /// Restarts the server with a configuration that a test changes.
    pub(crate) async fn restart(&mut self, change: impl FnOnce(&mut Config)) {
        Box::pin(self.world.restart_with(change)).await;
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.world.address)
    }

    pub(crate) async fn post(&self, path: &str, body: String) -> (u16, Value) {
        let response = self
            .client
            .post(self.url(path))
            .body(body)
            .send()
            .await
            .unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap())
    }

    pub(crate) async fn get(&self, path: &str) -> String {
        let response = self.client.get(self.url(path)).send().await.unwrap();
        response.text().await.unwrap()
    }

    pub(crate) fn grant(&self, delegate: Address) -> Grant {
        grant(self.wallet, delegate)
    }

    pub(crate) async fn ordered(&self, number: u8, delegate: &PrivateKeySigner) -> (Value, String) {
        ordered(self.wallet, number, delegate).await
    }

    pub(crate) async fn ended(&self, digest: &str) -> Value {
        let ended = async || {
            let said = self.get(&format!("/delegation/submissions/{digest}")).await;
            let said: Value = serde_json::from_str(&said).unwrap();
            // The server refuses a read beyond the limit per minute; a later one succeeds.
            let state = said["state"].as_str()?;
            matches!(state, "done" | "halted_clean" | "halted_dirty").then_some(said)
        };
        eventually(&format!("the end of {digest}"), ended).await
    }
}

/// Makes a grant of a sub-wallet for `delegate`.
pub(crate) fn grant(account: Address, delegate: Address) -> Grant {
    let policy = policy();
    Grant {
        account,
        account_kind: AccountKind::SubWallet,
        chain_id: BASE,
        policy_name: policy.name().clone(),
        rules_digest: policy.digest(),
        project_id: Name::new(PROJECT).unwrap(),
        capability: policy.capability().clone(),
        delegate,
        per_swap_cap: policy.per_swap_cap(),
        grant_id: GRANT_ID,
        issued_at: now() - 5,
        not_before: now() - 5,
        expires_at: now() + 86_400,
    }
}

/// Makes a plan for the sub-wallet with the rail's plan builder, and an order for it.
pub(crate) async fn ordered(
    account: Address,
    number: u8,
    delegate: &PrivateKeySigner,
) -> (Value, String) {
    let arguments = json!({
        "accountProfile": {"kind": "eoa", "address": account, "chainId": BASE},
        "chainId": BASE, "fromToken": USDC, "toToken": WETH,
        "fromAmount": AMOUNT.to_string(), "slippage": {"maxBps": 50},
    });
    let plans = plan_builder::Policy::new(
        toml::from_str::<FeeDocument>(FEES)
            .unwrap()
            .review()
            .unwrap(),
    );
    let at = now();
    let edit = move |draft: &mut Draft| {
        draft.quote.read_at = UtcSeconds::from_unix(at);
        draft.fees._distributions[1].recipient = OWN;
        draft.execute(number);
    };
    let Request::Swap(request) = Request::parse(Rail::Swap, &arguments.to_string()).unwrap() else {
        panic!("no swap")
    };
    let moment = Moment {
        now_millis: at * 1000,
        entropy: [number; 32],
    };
    let quotes = Aggregator::new(edit);
    let sealed = swap::build(&request, &quotes, &NoSimulator, &plans, &moment).await;
    let plan = EmbeddedPlan {
        arguments: arguments.to_string(),
        envelope: sealed.unwrap().json().to_owned(),
    };
    let order = Order {
        deadline: at + 50,
        ..plan.order(account, GRANT_ID).unwrap()
    };
    let digest = order.payload_digest.to_string();
    let body = plan.submission(&sign(order, delegate)).unwrap();
    (body, digest)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_sent_for_a_sub_wallet_until_its_owner_ends_it() {
    let round = Round::open().await;
    let owner = PrivateKeySigner::from_bytes(&BUYER.key).unwrap();
    let delegate = PrivateKeySigner::random();
    let grant = sign(round.grant(delegate.address()), &owner);
    assert_eq!(
        round.post("/delegation/grants", grant.to_json()).await.0,
        201
    );

    let (body, digest) = round.ordered(1, &delegate).await;
    let (status, said) = round
        .post("/delegation/submissions", body.to_string())
        .await;
    assert_eq!(status, 202, "{said}");
    let said = round.ended(&digest).await;
    assert_eq!(said["state"], "done", "{said}");
    assert_eq!(said["landed"]["ok"], true);
    let weth = round.base.balance_of(WETH, round.wallet).unwrap();
    assert_eq!(said["landed"]["amount"], weth.to_string());
    let steps = said["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 3, "{said}");
    let allowed = || {
        round
            .base
            .allowance(USDC, round.wallet, base::ROUTER)
            .unwrap()
    };
    assert_eq!(allowed(), U256::ZERO);
    // The gas account has paid for the gas.
    assert!(round.base.native_balance(round.wallet) > U256::ZERO);

    // The same order returns the same plan again, and sends nothing.
    let before = round.base.transactions().len();
    let (status, _) = round
        .post("/delegation/submissions", body.to_string())
        .await;
    assert_eq!(status, 200);

    // The owner ends the grant while the second plan is being sent.
    let (body, second) = round.ordered(2, &delegate).await;
    let (status, said) = round
        .post("/delegation/submissions", body.to_string())
        .await;
    assert_eq!(status, 202, "{said}");
    let sent = async || (round.base.transactions().len() > before).then_some(());
    eventually("the first transaction of the second plan", sent).await;
    let revocation = Revocation {
        account: round.wallet,
        chain_id: BASE,
        grant_id: GRANT_ID,
        project_id: Name::new(PROJECT).unwrap(),
        revoked_at: now(),
    };
    let signed = sign(revocation, &owner).to_json();
    assert_eq!(round.post("/delegation/revocations", signed).await.0, 200);
    let said = round.ended(&second).await;
    assert_eq!(said["state"], "halted_clean", "{said}");
    assert_eq!(allowed(), U256::ZERO);
    assert_eq!(round.base.balance_of(WETH, round.wallet).unwrap(), weth);

    let log = format!("/delegation/grants/{}/{GRANT_ID}/log", round.wallet);
    let log = verify_log([round.get(&log).await.as_str()]).unwrap();
    assert!(log.is_revoked() && log.open_plans().is_empty());
    // The ended grant admits no further order.
    let (body, _) = round.ordered(3, &delegate).await;
    let (status, said) = round
        .post("/delegation/submissions", body.to_string())
        .await;
    assert_eq!(
        (status, &said["error"]["code"]),
        (403, &json!("grant_revoked"))
    );
}

/// A server that lost its custody still follows its open plan to the end, and reports the allowance
/// that is left.
#[tokio::test(flavor = "multi_thread")]
async fn an_open_plan_comes_to_its_end_without_custody() {
    let mut round = Round::open().await;
    let owner = PrivateKeySigner::from_bytes(&BUYER.key).unwrap();
    let delegate = PrivateKeySigner::random();
    let grant = sign(round.grant(delegate.address()), &owner);
    round.post("/delegation/grants", grant.to_json()).await;
    let (body, digest) = round.ordered(1, &delegate).await;
    let submitted = round.post("/delegation/submissions", body.to_string());
    assert_eq!(submitted.await.0, 202);
    round
        .world
        .restart_with(|config| config.custody = None)
        .await;
    let said = round.ended(&digest).await;
    assert_eq!(said["reason"], "account_kind_unsupported", "{said}");
    let is_left = said["allowance_read_back"] != "0";
    let state = if is_left {
        "halted_dirty"
    } else {
        "halted_clean"
    };
    assert_eq!(said["state"], state, "{said}");
    if is_left {
        let clear = &said["clear_transaction"];
        assert_eq!(clear["from"], round.wallet.to_string(), "{said}");
        assert!(
            clear["sent_by"].as_str().unwrap().contains("the service"),
            "{said}"
        );
    }
}
