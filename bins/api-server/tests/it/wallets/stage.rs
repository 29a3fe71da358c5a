//! The stage of the tests of actions: a server with custody on three embedded chains, and the
//! buyer's sub-wallet.

use std::sync::Arc;

use alloy_dyn_abi::TypedData;
use alloy_primitives::{Address, U256};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::sol;
use api_server::Config;
use data_sources::SystemClock;
use dev_chain::cctp::ATTESTER;
use dev_chain::iris::{Iris, IrisServer};
use dev_chain::{
    BUYER, DEV_ACCOUNTS, DevAccount, DevChain, MinedSummary, RpcServer, arbitrum, base, xlayer,
};
use replay::{Recordings, ReplayServer};
use reqwest::Method;
use serde_json::{Value, json};
use test_support::eventually;
use wallet_actions::{Intent, Store as _};
use x402_wire::PaymentPayload;

use crate::support::buyer::{Answer, header_of};
use crate::support::{World, weakly_stretched};
use crate::wallets::between::Node;

sol! {
    function transfer(address to, uint256 amount) external returns (bool);
}

const FEES: &str = include_str!("../../../../../fixtures/vectors/plans/fees.toml");
const TARGETS: &str = include_str!("../../../../../docs/wallet-targets.example.toml");

pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) base: DevChain,
    pub(crate) arbitrum: DevChain,
    pub(crate) iris: Iris,
    pub(crate) wallet: Address,
    /// The nodes through which wallets act, on chain 196 and on Base.
    pub(crate) nodes: [Arc<Node>; 2],
    _node: RpcServer,
    _circle: IrisServer,
    _folder: tempfile::TempDir,
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

impl Stage {
    /// Opens a stage as an operator would set it up. The owner has paid enough for its gas.
    pub(crate) async fn open() -> Self {
        let usual = |config: &mut Config| {
            for table in config.chains.0.values_mut() {
                (table.confirmations, table.block_time_ms) = (None, None);
            }
        };
        let stage = Box::pin(Self::open_with(usual)).await;
        // An owner's top-ups for gas are limited to the sum that it has paid, and coins without a
        // price count as dear.
        for _ in 0..15 {
            stage.buy_sub_wallet().await;
        }
        stage
    }

    /// Opens a stage where a transaction counts as soon as it is in a block.
    pub(crate) async fn fast() -> Self {
        Box::pin(Self::open_with(|_| {})).await
    }

    /// Opens a stage whose configuration the test may change.
    pub(crate) async fn open_with(change: impl FnOnce(&mut Config)) -> Self {
        Box::pin(Self::over("", |config, _| change(config))).await
    }

    /// Opens a stage over the recordings of a scenario, if one is named. The test may change the
    /// configuration.
    pub(crate) async fn over(
        scenario: &str,
        change: impl FnOnce(&mut Config, &ReplayServer),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("fees.toml"), FEES).unwrap();
        std::fs::write(folder.path().join("targets.toml"), TARGETS).unwrap();
        let base = DevChain::with_base_stage().unwrap();
        let arbitrum = DevChain::with_arbitrum_stage().unwrap();
        let iris = Iris::new(ATTESTER)
            .unwrap()
            .watching(base::DOMAIN, &base)
            .watching(arbitrum::DOMAIN, &arbitrum);
        let any = || ([127, 0, 0, 1], 0).into();
        let node = arbitrum.serve(any()).await.unwrap();
        let circle = iris.serve(any()).await.unwrap();
        let (path, circle_url, arbitrum_url) = (folder.path().to_owned(), circle.url(), node.url());
        let xlayer = DevChain::with_xlayer_stage().unwrap();
        // Gas is as cheap as on rollups, because an owner's top-ups are limited to the sum that it
        // has paid.
        for chain in [&base, &arbitrum, &xlayer] {
            chain.set_base_fee(1_000_000);
        }
        let nodes = [Node::of(&xlayer), Node::of(&base)];
        let [xlayer_url, base_url] = [nodes[0].serve().await, nodes[1].serve().await];
        let recordings = Recordings::embedded().unwrap().at(now());
        let recordings = match scenario {
            "" => recordings,
            named => recordings.with_scenario(named),
        };
        let start = World::over(
            xlayer,
            Arc::new(SystemClock),
            recordings,
            move |config, _, replay| {
                config.custody = Some(weakly_stretched(
                    path.join("wallets"),
                    "the operator's secret",
                ));
                config.wallets.chains = vec![196, 8453, 42_161];
                config.wallets.reviewed = Some(path.join("targets.toml"));
                config.wallets.gas_account_key = Some(DEV_ACCOUNTS[2].key.to_string().into());
                let fees = path.join("fees.toml").to_string_lossy().into_owned();
                config.plans.insert("fee_config".to_owned(), fees.into());
                for (id, url) in [
                    ("196", xlayer_url),
                    ("8453", base_url),
                    ("42161", arbitrum_url),
                ] {
                    let table = config.chains.0.entry(id.to_owned()).or_default();
                    table.rpc_urls = vec![url];
                    table.mode = None;
                    (table.confirmations, table.block_time_ms) = (Some(0), Some(50));
                }
                let table = config.upstreams.0.entry("circle".to_owned()).or_default();
                table.base_url = Some(circle_url);
                table.mode = None;
                change(config, replay);
            },
        );
        let world = Box::pin(start).await;
        let mut stage = Self {
            world,
            base,
            arbitrum,
            iris,
            wallet: Address::ZERO,
            nodes,
            _node: node,
            _circle: circle,
            _folder: folder,
        };
        let wallet = stage.buy_sub_wallet().await["sub_wallet"].clone();
        stage.wallet = wallet.as_str().unwrap().parse().unwrap();
        stage
    }

    async fn buy_sub_wallet(&self) -> Value {
        let payment = self.world.buyer.payment("/sub-wallet").await;
        let answer = self.world.buyer.get_paid("/sub-wallet", &payment).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body()["data"].clone()
    }

    /// A payment header for a POST, without an identifier.
    pub(crate) async fn payment(&self, route: &str) -> String {
        let draft = self.world.buyer.draft(Method::POST, route).await;
        header_of(&self.world.buyer.signed(&draft))
    }

    /// A payment header for a POST, with an identifier, so that the buyer can get the answer again.
    pub(crate) async fn identified(&self, route: &str) -> String {
        let draft = self.world.buyer.draft(Method::POST, route).await;
        let mut payment = self.world.buyer.signed(&draft);
        let id = format!("mine-{}", draft.authorization.nonce);
        payment["extensions"] = json!({ "payment-identifier": { "info": { "id": id } } });
        header_of(&payment)
    }

    /// Pays for an action, and returns the answer.
    pub(crate) async fn post(&self, route: &str, body: &Value) -> Answer {
        let payment = self.payment(route).await;
        self.world.buyer.post_paid(route, body, &payment).await
    }

    /// Pays for the action again, now with the principal that the refusal asks for.
    pub(crate) async fn post_funded(&self, route: &str, body: &Value) -> Answer {
        let refused = self.post(route, body).await;
        refused.is_refused(409, "funds_required");
        let asked = refused.body()["error"]["principal_auth"].clone();
        let mut body = body.clone();
        body["principal_auth"] = sign(&asked);
        self.post(route, &body).await
    }

    /// Pays for an action that is charged. Returns its data.
    pub(crate) async fn done(&self, route: &str, body: &Value) -> Value {
        let answer = self.post(route, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body()["data"].clone()
    }

    /// Gives the sub-wallet USDC on Base.
    pub(crate) fn give_usdc(&self, amount: u64) {
        give(&self.base, base::USDC, self.wallet, amount);
    }

    /// Gives the sub-wallet USDG on chain 196.
    pub(crate) fn give_usdg(&self, amount: u64) {
        give(&self.world.chain, xlayer::USDG, self.wallet, amount);
    }

    /// Gives the sub-wallet coins for gas, so that it needs no top-up.
    pub(crate) fn give_coins(&self, chain: &DevChain) {
        let send = json!({
            "jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction",
            "params": [{ "from": DEV_ACCOUNTS[6].address, "to": self.wallet, "value": "0xde0b6b3a7640000" }],
        });
        drop(chain.answer(send.to_string().as_bytes()));
        chain.mine();
        chain.mine();
        assert!(!chain.native_balance(self.wallet).is_zero());
    }

    /// The transactions that the sub-wallet has sent on all chains.
    pub(crate) fn sent(&self) -> Vec<MinedSummary> {
        let chains = [&self.world.chain, &self.base, &self.arbitrum].into_iter();
        let all = chains.flat_map(DevChain::transactions);
        all.filter(|found| found.from == self.wallet).collect()
    }

    /// Asserts that an action is refused with this reason, and is neither charged nor begun.
    pub(crate) async fn refuses(
        &self,
        route: &str,
        body: &Value,
        (status, code, reason): (u16, &str, &str),
    ) -> Value {
        let (paid, sent) = (self.world.paid(), self.sent().len());
        let answer = self.post(route, body).await;
        answer.is_refused(status, code);
        let error = answer.body()["error"].clone();
        assert_eq!(error["reason"], reason, "{error}");
        assert_eq!(
            (self.world.paid(), self.sent().len()),
            (paid, sent),
            "{error}"
        );
        error
    }

    /// Restarts the server over a copy of the intent of `action`, a withdrawal with this body, with
    /// another id and payment, and with further changes. Its call awaits a charge.
    pub(crate) async fn restart_with_copy(
        &mut self,
        (action, body): (&Value, &Value),
        id: &str,
        payment: &Value,
        change: impl FnOnce(&mut Intent),
    ) {
        let path = self.world.folder().join("ledger.wallets.db");
        let restarted = self.world.restart_over(async |_| {
            let store = wallet_actions::SqliteStore::open(path).unwrap();
            let done = action["intent_id"].as_str().unwrap().parse().unwrap();
            let done = store.get(&done).await.unwrap().unwrap();
            let text = payment.to_string();
            let call = json!({
                "operation": "auto_withdraw", "query": null, "body": body.to_string(),
                "payment": text,
            });
            let payload = PaymentPayload::from_json(text.as_bytes()).unwrap();
            let mut copy = Intent {
                id: id.parse().unwrap(),
                payment: payload.authorization_key().unwrap().digest(),
                call: call.to_string(),
                purchase: None,
                awaits_charge: true,
                not_after: done.not_after + 3_600,
                ..done
            };
            change(&mut copy);
            store.insert(copy, None).await.unwrap();
        });
        Box::pin(restarted).await;
    }

    /// Waits for the end of an intent, and returns the free view of it.
    pub(crate) async fn ended(&self, intent: &Value) -> Value {
        let target = format!("/intents/{}", intent["intent_id"].as_str().unwrap());
        let ended = async || {
            let answer = self.world.buyer.get(&target).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            Some(answer.body()).filter(|shown| shown["status"] != "in_progress")
        };
        eventually(&format!("the end of {intent}"), ended).await
    }

    /// An account's balance of a token.
    pub(crate) fn holds(chain: &DevChain, token: Address, account: Address) -> u64 {
        chain.balance_of(token, account).unwrap().to()
    }
}

/// Sends a token from the buyer.
pub(crate) fn give(chain: &DevChain, token: Address, to: Address, amount: u64) {
    give_of(BUYER.address, chain, token, to, amount);
}

/// Sends a token from the account `from`.
pub(crate) fn give_of(from: Address, chain: &DevChain, token: Address, to: Address, amount: u64) {
    let amount = U256::from(amount);
    let call = transferCall { to, amount };
    chain.call_as(from, token, &call).unwrap();
    chain.mine();
    chain.mine();
}

/// Signs the message of a refusal as the buyer, in the form that the routes take.
pub(crate) fn sign(asked: &Value) -> Value {
    sign_as(&BUYER, asked)
}

/// Signs the message of a refusal as `signer`, in the form that the routes take.
pub(crate) fn sign_as(signer: &DevAccount, asked: &Value) -> Value {
    let typed: TypedData = serde_json::from_value(asked.clone()).unwrap();
    let key = PrivateKeySigner::from_bytes(&signer.key).unwrap();
    let signature = key
        .sign_hash_sync(&typed.eip712_signing_hash().unwrap())
        .unwrap();
    json!({
        "signature": alloy_primitives::hex::encode_prefixed(signature.as_bytes()),
        "authorization": asked["message"],
    })
}
