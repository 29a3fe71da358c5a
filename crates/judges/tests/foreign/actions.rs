//! Foreign clients pay for actions of their sub-wallet, a foreign wallet signs the principal, and
//! the chain confirms it.

use alloy_primitives::U256;
use dev_chain::{DevChain, xlayer};
use judges::{
    Account, Client, Order, OrderOutcome, Service, ServiceAnswer, ServiceConfig, Toolchain, run,
};
use replay::{Recordings, ReplayServer};
use serde_json::{Value, json};

const TARGETS: &str = include_str!("../../../../docs/wallet-targets.example.toml");
/// The key of the account that pays wallets' gas: the fifth of development chains.
const GAS_KEY: &str = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";

struct Shop {
    toolchain: Toolchain,
    chain: DevChain,
    service: Service,
    _node: dev_chain::RpcServer,
    _upstream: ReplayServer,
    _folder: tempfile::TempDir,
}

impl Shop {
    async fn open() -> Self {
        let toolchain = Toolchain::from_env().unwrap();
        let chain = DevChain::with_xlayer_stage().unwrap();
        chain.set_base_fee(1_000_000);
        let node = chain.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let recordings = Recordings::embedded().unwrap().at(now.unwrap().as_secs());
        let upstream = ReplayServer::start(recordings).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let (targets, secret) = (file("targets.toml", TARGETS), file("secret", "a secret"));
        let gas = file("gas.key", GAS_KEY);
        let wallets = folder.path().join("wallets").display().to_string();
        let more = format!(
            "\n[custody]\nprovider = \"local\"\ndirectory = \"{wallets}\"\nsecret_file = \"{secret}\"\n\n\
             [wallets]\nchains = [196]\nreviewed = \"{targets}\"\ngas_account_key_file = \"{gas}\"\n\n\
             [chains.196]\nrpc_urls = [\"{}\"]\n",
            node.url()
        );
        let service = Service::start(&ServiceConfig {
            rpc_url: node.url(),
            facilitator_url: None,
            okx_url: upstream.base_url("web3.okx.com"),
            more,
        })
        .await
        .unwrap();
        Self {
            toolchain,
            chain,
            service,
            _node: node,
            _upstream: upstream,
            _folder: folder,
        }
    }

    async fn pay(&self, client: Client, order: &Order) -> ServiceAnswer {
        let outcome = client.pay(&self.toolchain, order).await.unwrap();
        let OrderOutcome::Answered(answer) = outcome else {
            panic!("{client:?}: {outcome:?}")
        };
        answer
    }

    async fn act(&self, client: Client, route: &str, body: &Value) -> (u16, Value) {
        let order = Order::post(self.service.url(route), body);
        let answer = self.pay(client, &order).await;
        (answer.status, serde_json::from_str(&answer.body).unwrap())
    }

    /// What an action that is charged answers with.
    async fn done(&self, client: Client, route: &str, body: &Value) -> Value {
        let (status, answer) = self.act(client, route, body).await;
        assert_eq!(status, 200, "{answer:#}\n{}", self.service.log());
        assert_eq!(answer["data"]["status"], "completed", "{answer:#}");
        answer["data"].clone()
    }

    /// The payer's signature over typed data, by foundry.
    async fn sign(&self, typed: &Value) -> String {
        let mut typed = typed.clone();
        let field = |name: &str, kind: &str| json!({ "name": name, "type": kind });
        typed["types"]["EIP712Domain"] = json!([
            field("name", "string"),
            field("version", "string"),
            field("chainId", "uint256"),
            field("verifyingContract", "address"),
        ]);
        let mut cast = self.toolchain.cast().unwrap();
        cast.args([
            "wallet",
            "sign",
            "--private-key",
            Account::BUYER.private_key,
            "--data",
        ]);
        cast.arg(typed.to_string());
        run(cast, b"").await.unwrap().trim().to_owned()
    }
}

/// Funded by a foreign signature, swapped, invested, taken back and withdrawn, each paid for by a
/// foreign client.
async fn round(client: Client) {
    let shop = Shop::open().await;
    let mut invest =
        json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": "40" });
    let (status, refused) = shop.act(client, "/auto-defi-invest", &invest).await;
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("funds_required"))
    );
    let asked = &refused["error"]["principal_auth"];
    invest["principal_auth"] = json!({
        "signature": shop.sign(asked).await,
        "authorization": asked["message"],
    });
    let wallet = refused["error"]["sub_wallet"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let done = shop.done(client, "/auto-defi-invest", &invest).await;
    assert_eq!(done["steps"][0]["kind"], "principal");
    let held = shop.chain.balance_of(xlayer::A_USDG, wallet).unwrap();
    assert!(held >= U256::from(39_999_999), "{held}");

    let out = json!({ "product_id": "aave-v3-xlayer-usdg", "ratio": "1" });
    shop.done(client, "/auto-defi-withdraw", &out).await;
    let swap = json!({
        "chain_id": "196", "from_token": xlayer::USDG, "to_token": xlayer::USDT0, "amount": "20",
    });
    let done = shop.done(client, "/auto-swap", &swap).await;
    let bought = shop.chain.balance_of(xlayer::USDT0, wallet).unwrap();
    assert_eq!(done["result"]["amount_out_atoms"], bought.to_string());
    for token in [xlayer::USDG, xlayer::USDT0] {
        let all = json!({ "chain_id": "196", "token": token, "amount": "max" });
        shop.done(client, "/auto-withdraw", &all).await;
        assert!(shop.chain.balance_of(token, wallet).unwrap().is_zero());
    }
    let log = shop.service.log();
    let status = shop.service.terminate().await.unwrap();
    assert!(status.success(), "{status}:\n{log}");
}

#[tokio::test]
async fn x402_fetch_buys_every_action() {
    round(Client::Fetch).await;
}

#[tokio::test]
async fn x402_requests_buys_every_action() {
    round(Client::Requests).await;
}
