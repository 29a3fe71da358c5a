//! The shop of these tests: the service with custody on three chains, and a foreign client that
//! buys there.

use std::time::Duration;

use alloy_primitives::Address;
use dev_chain::cctp::ATTESTER;
use dev_chain::iris::{Iris, IrisServer};
use dev_chain::{DevChain, arbitrum, base, xlayer};
use judges::{
    Account, ApiServer, ApiServerConfig, Client, Order, OrderOutcome, ServiceAnswer, Toolchain,
};
use replay::{Recordings, ReplayServer};
use serde_json::{Value, json};

use super::ground::{Ground, Kind};
use crate::typed_documents;

const TARGETS: &str = include_str!("../../../../../docs/wallet-targets.example.toml");
const FEES: &str = include_str!("../../../../../fixtures/vectors/plans/fees.toml");
/// The key of the account that pays for the gas of wallets: the fifth one of development chains.
const GAS_KEY: &str = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";

pub(crate) struct Shop {
    toolchain: Toolchain,
    client: Client,
    pub(crate) xlayer: Ground,
    pub(crate) base: Ground,
    pub(crate) arbitrum: Ground,
    service: ApiServer,
    _upstream: ReplayServer,
    _circle: IrisServer,
    _folder: tempfile::TempDir,
}

impl Shop {
    pub(crate) async fn open(kind: Kind, client: Client) -> Self {
        let toolchain = Toolchain::from_env().unwrap();
        let mut iris = Iris::new(ATTESTER).unwrap();
        let stage = (xlayer::CHAIN_ID, DevChain::with_xlayer_stage().unwrap());
        let xlayer = Ground::open(&toolchain, kind, stage, &mut iris, None).await;
        let stage = (base::CHAIN_ID, DevChain::with_base_stage().unwrap());
        let base = Ground::open(&toolchain, kind, stage, &mut iris, Some(base::DOMAIN)).await;
        let stage = (arbitrum::CHAIN_ID, DevChain::with_arbitrum_stage().unwrap());
        let domain = Some(arbitrum::DOMAIN);
        let arbitrum = Ground::open(&toolchain, kind, stage, &mut iris, domain).await;
        let circle = iris.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let recordings = Recordings::embedded().unwrap().at(now.unwrap().as_secs());
        let upstream = ReplayServer::start(recordings).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            test_support::private_file(&path, text);
            path.display().to_string()
        };
        let (targets, secret) = (file("targets.toml", TARGETS), file("secret", "a secret"));
        let (gas, fees) = (file("gas.key", GAS_KEY), file("fees.toml", FEES));
        let wallets = folder.path().join("wallets").display().to_string();
        let chains = [&xlayer, &base, &arbitrum].map(Ground::toml).concat();
        let more = format!(
            "\n[upstreams.lifi]\nbase_url = \"{}/v1\"\n\n\
             [upstreams.circle]\nbase_url = \"{}\"\n\n\
             [plans]\nfee_config = \"{fees}\"\n\n\
             [custody]\nprovider = \"local\"\ndirectory = \"{wallets}\"\nsecret_file = \"{secret}\"\n\n\
             [wallets]\nchains = [196, 8453, 42161]\nreviewed = \"{targets}\"\n\
             gas_account_key_file = \"{gas}\"\n\n{chains}",
            upstream.base_url("li.quest"),
            circle.url(),
        );
        let service = ApiServer::start(&ApiServerConfig {
            rpc_url: xlayer.rpc.url().to_owned(),
            facilitator_url: None,
            okx_url: upstream.base_url("web3.okx.com"),
            defillama_url: Some(upstream.base_url("coins.llama.fi")),
            more,
            payment: String::new(),
        })
        .await
        .unwrap();
        Self {
            toolchain,
            client,
            xlayer,
            base,
            arbitrum,
            service,
            _upstream: upstream,
            _circle: circle,
            _folder: folder,
        }
    }

    async fn pay(&self, order: &Order) -> ServiceAnswer {
        let outcome = self.client.pay(&self.toolchain, order).await.unwrap();
        let OrderOutcome::Answered(answer) = outcome else {
            panic!("{:?}: {outcome:?}", self.client)
        };
        answer
    }

    pub(crate) async fn act(&self, route: &str, body: &Value) -> (u16, Value) {
        let order = Order::post(self.service.url(route), body);
        let answer = self.pay(&order).await;
        (answer.status, serde_json::from_str(&answer.body).unwrap())
    }

    /// The payer's sub-wallet. It gets coins where the service does not pay for gas.
    pub(crate) async fn sub_wallet(&self) -> Address {
        let answer = self.pay(&Order::get(self.service.url("/sub-wallet"))).await;
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        let wallet = answer["data"]["sub_wallet"].as_str().unwrap();
        let wallet = wallet.parse().unwrap();
        for ground in [&self.xlayer, &self.base, &self.arbitrum] {
            ground.give_coins(wallet).await;
        }
        wallet
    }

    /// Pays for an action, and returns its data when it has ended, even if the answer was a 202.
    pub(crate) async fn done(&self, route: &str, body: &Value) -> Value {
        let (status, answer) = self.act(route, body).await;
        assert!(
            matches!(status, 200 | 202),
            "{answer:#}\n{}",
            self.service.log()
        );
        let shown = match status {
            202 => self.ended(&answer["data"]).await,
            _ => answer["data"].clone(),
        };
        assert_eq!(shown["status"], "completed", "{shown:#}");
        shown
    }

    /// Like [`Self::done`], for an action whose principal the payer must send: it signs the message
    /// of the refusal.
    pub(crate) async fn funded(&self, route: &str, body: &Value) -> Value {
        let (status, refused) = self.act(route, body).await;
        let code = &refused["error"]["code"];
        assert_eq!(
            (status, code),
            (409, &json!("funds_required")),
            "{refused:#}"
        );
        let asked = &refused["error"]["principal_auth"];
        let mut body = body.clone();
        body["principal_auth"] = json!({
            "signature": self.sign(asked).await,
            "authorization": asked["message"],
        });
        let done = self.done(route, &body).await;
        assert_eq!(done["steps"][0]["kind"], "principal");
        done
    }

    async fn ended(&self, intent: &Value) -> Value {
        let id = intent["intent_id"].as_str().unwrap();
        let url = self.service.url(&format!("/intents/{id}"));
        let mut ticks = tokio::time::interval(Duration::from_millis(250));
        for _ in 0..240 {
            ticks.tick().await;
            let shown = test_support::http_client()
                .get(&url)
                .send()
                .await
                .unwrap()
                .text()
                .await
                .unwrap();
            let shown: Value = serde_json::from_str(&shown).unwrap();
            if shown["status"] != "in_progress" {
                return shown;
            }
        }
        panic!("an intent does not end: {intent}\n{}", self.service.log());
    }

    /// The payer's signature over typed data as it was handed out, made by the code of a browser
    /// wallet.
    async fn sign(&self, typed: &Value) -> String {
        let key = Account::BUYER.private_key;
        let verdict = typed_documents::sign(&self.toolchain, key, typed).await;
        assert_eq!(verdict.metamask, verdict.viem, "{typed:#}");
        verdict.metamask.signature
    }

    /// Stops the service as an operator would.
    pub(crate) async fn close(self) {
        self.service.terminate().await.ok();
    }
}
