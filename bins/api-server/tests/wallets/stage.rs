//! A server with custody on three embedded chains, and the buyer's sub-wallet.

use std::sync::Arc;
use std::time::Duration;

use alloy_dyn_abi::TypedData;
use alloy_primitives::{Address, U256};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::sol;
use api_server::Config;
use api_server::config::CustodySection;
use data_sources::SystemClock;
use dev_chain::cctp::ATTESTER;
use dev_chain::iris::{Iris, IrisServer};
use dev_chain::{BUYER, DEV_ACCOUNTS, DevChain, RpcServer, arbitrum, base};
use replay::Recordings;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::buyer::{Answer, header_of};

sol! {
    function transfer(address to, uint256 amount) external returns (bool);
}

const FEES: &str = include_str!("../../../../fixtures/vectors/plans/fees.toml");
const TARGETS: &str = include_str!("../../../../docs/wallet-targets.example.toml");

pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) base: DevChain,
    pub(crate) arbitrum: DevChain,
    pub(crate) iris: Iris,
    pub(crate) wallet: Address,
    _nodes: [RpcServer; 2],
    _circle: IrisServer,
    _folder: tempfile::TempDir,
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

impl Stage {
    pub(crate) async fn open() -> Self {
        Box::pin(Self::open_with(|_| {})).await
    }

    /// With a configuration that a test changes last.
    pub(crate) async fn open_with(change: impl FnOnce(&mut Config)) -> Self {
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
        let nodes = [
            base.serve(any()).await.unwrap(),
            arbitrum.serve(any()).await.unwrap(),
        ];
        let circle = iris.serve(any()).await.unwrap();
        let (path, circle_url) = (folder.path().to_owned(), circle.url());
        let urls = nodes.each_ref().map(RpcServer::url);
        let xlayer = DevChain::with_xlayer_stage().unwrap();
        // As cheap as rollups are: what an owner is topped up with is bounded by what it has paid.
        for chain in [&base, &arbitrum, &xlayer] {
            chain.set_base_fee(1_000_000);
        }
        let recordings = Recordings::embedded().unwrap().at(now());
        let start = World::over(
            xlayer,
            Arc::new(SystemClock),
            recordings,
            move |config, rpc, _| {
                config.custody = Some(CustodySection::local(
                    path.join("wallets"),
                    "the operator's secret".into(),
                ));
                config.wallets.chains = vec![196, 8453, 42_161];
                config.wallets.reviewed = Some(path.join("targets.toml"));
                config.wallets.gas_account_key = Some(DEV_ACCOUNTS[2].key.to_string().into());
                let fees = path.join("fees.toml").to_string_lossy().into_owned();
                config.plans.insert("fee_config".to_owned(), fees.into());
                let [base, arbitrum] = urls;
                for (id, url) in [("196", rpc.to_owned()), ("8453", base), ("42161", arbitrum)] {
                    let table = config.chains.0.entry(id.to_owned()).or_default();
                    table.rpc_urls = vec![url];
                    table.mode = None;
                }
                let table = config.upstreams.0.entry("circle".to_owned()).or_default();
                table.base_url = Some(circle_url);
                table.mode = None;
                change(config);
            },
        );
        let world = Box::pin(start).await;
        let mut stage = Self {
            world,
            base,
            arbitrum,
            iris,
            wallet: Address::ZERO,
            _nodes: nodes,
            _circle: circle,
            _folder: folder,
        };
        let wallet = stage.buy_sub_wallet().await["sub_wallet"].clone();
        stage.wallet = wallet.as_str().unwrap().parse().unwrap();
        // An owner is topped up for gas with no more than it has paid, and coins without a price
        // count as much.
        for _ in 0..15 {
            stage.buy_sub_wallet().await;
        }
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

    /// Pays for an action.
    pub(crate) async fn post(&self, route: &str, body: &Value) -> Answer {
        let payment = self.payment(route).await;
        self.world.buyer.post_paid(route, body, &payment).await
    }

    /// The same once more, with the principal that a refusal asks for.
    pub(crate) async fn post_funded(&self, route: &str, body: &Value) -> Answer {
        let refused = self.post(route, body).await;
        refused.is_refused(409, "funds_required");
        let asked = refused.body()["error"]["principal_auth"].clone();
        let mut body = body.clone();
        body["principal_auth"] = sign(&asked);
        self.post(route, &body).await
    }

    /// What an action that is charged answers with.
    pub(crate) async fn done(&self, route: &str, body: &Value) -> Value {
        let answer = self.post(route, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body()["data"].clone()
    }

    /// Gives the sub-wallet USDC on Base.
    pub(crate) fn give_usdc(&self, amount: u64) {
        let call = transferCall {
            to: self.wallet,
            amount: U256::from(amount),
        };
        self.base.call_as(BUYER.address, base::USDC, &call).unwrap();
        self.base.mine();
        self.base.mine();
    }

    /// The intent, as it is shown free of charge when it has come to its end.
    pub(crate) async fn ended(&self, intent: &Value) -> Value {
        let target = format!("/intents/{}", intent["intent_id"].as_str().unwrap());
        for _ in 0..120 {
            let answer = self.world.buyer.get(&target).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            let shown = answer.body();
            if shown["status"] != "in_progress" {
                return shown;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        panic!("an intent does not end: {intent}");
    }

    /// A token of an account.
    pub(crate) fn holds(chain: &DevChain, token: Address, account: Address) -> u64 {
        chain.balance_of(token, account).unwrap().to()
    }
}

/// The buyer's signature over what a refusal asks for, as the routes take it.
pub(crate) fn sign(asked: &Value) -> Value {
    let typed: TypedData = serde_json::from_value(asked.clone()).unwrap();
    let key = PrivateKeySigner::from_bytes(&BUYER.key).unwrap();
    let signature = key
        .sign_hash_sync(&typed.eip712_signing_hash().unwrap())
        .unwrap();
    json!({
        "signature": alloy_primitives::hex::encode_prefixed(signature.as_bytes()),
        "authorization": asked["message"],
    })
}
