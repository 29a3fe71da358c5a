//! The world of the foreign clients: a chain, an upstream and the service, and the conditions that
//! every payment must meet.

use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, U64, U256};
use alloy_sol_types::SolEvent;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use judges::{
    Account, Anvil, ApiServer, ApiServerConfig, Client, Log, Order, OrderOutcome, PAYEE,
    ServiceAnswer, TestToken, Token, Toolchain, TransactionReceipt, install_tokens,
};
use replay::{Recordings, ReplayServer};
use reqwest::StatusCode;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use test_support::process::Server;

/// A paid route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Priced {
    /// The path. For a GET it includes the query.
    pub(crate) path: &'static str,
    /// The price, in the smallest unit of any asset.
    pub(crate) amount: U256,
}

pub(crate) const PRICE: Priced = Priced {
    path: "/price?token=0xe538905cf8410324e03A5A23C1c177a474D59b2b",
    amount: U256::from_limbs([2_000, 0, 0, 0]),
};
pub(crate) const APPROVE: Priced = Priced {
    path: "/approve?token=0x779Ded0c9e1022225f8E0630b35a9b54bE713736&amount=25500000",
    amount: U256::from_limbs([5_000, 0, 0, 0]),
};
pub(crate) const SWAP: Priced = Priced {
    path: "/swap",
    amount: U256::from_limbs([10_000, 0, 0, 0]),
};

fn unix_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs()
}

/// The buyer's balance of each asset at the start.
pub(crate) const FUNDS: U256 = U256::from_limbs([1_000_000_000, 0, 0, 0]);

/// Everything that a foreign client needs. Dropping it stops everything.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) toolchain: Toolchain,
    pub(crate) chain: Anvil,
    pub(crate) service: ApiServer,
    pub(crate) http: reqwest::Client,
    _upstream: ReplayServer,
    _facilitator: Option<Server>,
}

impl World {
    /// Starts a service that settles by itself.
    pub(crate) async fn start() -> Self {
        Self::start_with(async |_| None).await
    }

    /// Starts a service with more lines in the table `[payment]`.
    pub(crate) async fn configured(payment: &str) -> Self {
        Self::open(async |_| None, payment).await
    }

    /// Starts a service with a facilitator, if there is one. The facilitator starts once the chain
    /// runs.
    pub(crate) async fn start_with(
        facilitator: impl AsyncFnOnce(&Anvil) -> Option<(Server, String)>,
    ) -> Self {
        Self::open(facilitator, "").await
    }

    async fn open(
        facilitator: impl AsyncFnOnce(&Anvil) -> Option<(Server, String)>,
        payment: &str,
    ) -> Self {
        let toolchain = Toolchain::from_env().unwrap();
        let chain = Anvil::start(&toolchain).await.unwrap();
        install_tokens(&chain, FUNDS).await.unwrap();
        // The service is the shipped one, so its clock is the machine's. The deadline of a swap
        // must be after now.
        let recordings = Recordings::embedded().unwrap().at(unix_now());
        let upstream = ReplayServer::start(recordings).await.unwrap();
        let (facilitator, facilitator_url) = facilitator(&chain).await.unzip();
        let service = ApiServer::start(&ApiServerConfig {
            rpc_url: chain.rpc().url().to_owned(),
            facilitator_url,
            okx_url: upstream.base_url("web3.okx.com"),
            defillama_url: None,
            more: String::new(),
            payment: payment.to_owned(),
        })
        .await
        .unwrap();
        Self {
            toolchain,
            chain,
            service,
            http: test_support::http_client(),
            _upstream: upstream,
            _facilitator: facilitator,
        }
    }

    /// Stops the service as an operator would, and asserts that it ends by itself with success.
    pub(crate) async fn stop(self) {
        self.service.terminate().await.ok();
    }

    /// Lets a client pay. Checks the answer, the receipt and the chain, and checks that the same
    /// payment buys the same answer and nothing else. Returns the body of the answer.
    pub(crate) async fn check_payment(
        &self,
        client: Client,
        order: &Order,
        token: Token,
        amount: U256,
    ) -> Value {
        let before = self.balances(token).await;
        let outcome = client.pay(&self.toolchain, order).await.unwrap();
        let OrderOutcome::Answered(answer) = outcome else {
            panic!("{client:?}: {outcome:?}")
        };
        assert_eq!(
            answer.status,
            200,
            "{client:?}: {answer:#?}\n{}",
            self.service.log()
        );
        assert_eq!(
            answer.requests, 2,
            "{client:?}: an unpaid request and a paid one"
        );
        self.check_receipt(&answer, token, amount).await;
        let after = self.balances(token).await;
        assert_eq!(after, (before.0 - amount, before.1 + amount), "{client:?}");

        self.check_replay(order, &answer, token).await;
        check_body(&answer)
    }

    /// Checks that the receipt names a transaction that moved exactly this payment.
    async fn check_receipt(&self, answer: &ServiceAnswer, token: Token, amount: U256) {
        let receipt = answer.receipt.as_ref().expect("a receipt");
        assert!(receipt.success, "{receipt:?}");
        assert_eq!(receipt.network, "eip155:196");
        assert_eq!(receipt.payer, Account::BUYER.address);
        let transaction = self
            .chain
            .rpc()
            .receipt(receipt.transaction)
            .await
            .unwrap()
            .expect("a mined transaction");
        assert_eq!(transaction.status, U64::ONE, "{transaction:?}");

        let transfers = events::<TestToken::Transfer>(&transaction, token.address);
        let [transfer] = &transfers[..] else {
            panic!("one transfer: {transaction:?}")
        };
        assert_eq!(transfer.from, Account::BUYER.address);
        assert_eq!(transfer.to, PAYEE);
        assert_eq!(transfer.value, amount);
        let used = events::<TestToken::AuthorizationUsed>(&transaction, token.address);
        let [used] = &used[..] else {
            panic!("one authorization: {transaction:?}")
        };
        let call = TestToken::authorizationStateCall {
            authorizer: Account::BUYER.address,
            nonce: used.nonce,
        };
        assert!(self.chain.rpc().view(token.address, &call).await.unwrap());
    }

    /// Sends the same payment again. The same request must get the same answer, another request a
    /// refusal, and neither may make a transaction.
    async fn check_replay(&self, order: &Order, answer: &ServiceAnswer, token: Token) {
        let (block, balances) = (
            self.chain.rpc().block_number().await.unwrap(),
            self.balances(token).await,
        );

        let again = self.resend(order, answer, &order.url).await;
        assert_eq!(again.status(), StatusCode::OK);
        for name in ["payment-response", "content-digest", "content-type"] {
            let header = again
                .headers()
                .get(name)
                .map(|value| value.to_str().unwrap().to_owned());
            assert_eq!(header.as_ref(), answer.headers.get(name), "{name}");
        }
        assert_eq!(again.text().await.unwrap(), answer.body);

        let elsewhere = if order.method == "GET" {
            self.service
                .url("/price?token=0x4ae46a509F6b1D9056937BA4500cb143933D2dc8")
        } else {
            format!("{}?other=1", order.url)
        };
        let refused = self.resend(order, answer, &elsewhere).await;
        assert!(
            matches!(
                refused.status(),
                StatusCode::CONFLICT | StatusCode::PAYMENT_REQUIRED
            ),
            "{refused:?}"
        );
        assert!(!refused.headers().contains_key("payment-response"));

        assert_eq!(self.chain.rpc().block_number().await.unwrap(), block);
        assert_eq!(self.balances(token).await, balances);
    }

    async fn resend(&self, order: &Order, answer: &ServiceAnswer, url: &str) -> reqwest::Response {
        let method = reqwest::Method::from_bytes(order.method.as_bytes()).unwrap();
        let payment = answer
            .payment_signature
            .as_deref()
            .expect("a payment header");
        let mut request = self
            .http
            .request(method, url)
            .header("payment-signature", payment);
        if let Some(body) = &order.body {
            request = request
                .header("content-type", "application/json")
                .body(body.clone());
        }
        request.send().await.unwrap()
    }

    /// The balances of the buyer and the payee.
    pub(crate) async fn balances(&self, token: Token) -> (U256, U256) {
        let rpc = self.chain.rpc();
        let of = |account: Address| token.balance_of(rpc, account);
        (
            of(Account::BUYER.address).await.unwrap(),
            of(PAYEE).await.unwrap(),
        )
    }
}

/// Checks the body of a 200: an object of `data` and `meta`, with its digest, which only the buyer
/// may store.
fn check_body(answer: &ServiceAnswer) -> Value {
    let digest = STANDARD.encode(Sha256::digest(&answer.body));
    assert_eq!(
        answer.headers["content-digest"],
        format!("sha-256=:{digest}:")
    );
    assert!(
        answer.headers["content-type"].starts_with("application/json"),
        "{answer:?}"
    );
    assert!(
        answer.headers["cache-control"].contains("private"),
        "{answer:?}"
    );
    let body: Value = serde_json::from_str(&answer.body).expect("JSON");
    assert!(
        body["data"].is_object() && body["meta"].is_object(),
        "{body:#}"
    );
    body
}

/// The events of one kind that a contract emitted in a transaction.
pub(crate) fn events<E: SolEvent>(receipt: &TransactionReceipt, contract: Address) -> Vec<E> {
    let of_kind =
        |log: &&Log| log.address == contract && log.topics.first() == Some(&E::SIGNATURE_HASH);
    receipt
        .logs
        .iter()
        .filter(of_kind)
        .map(|log| E::decode_raw_log(log.topics.iter().copied(), &log.data).expect("an event"))
        .collect()
}
