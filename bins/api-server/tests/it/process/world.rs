//! The world of a server: the embedded chain and the recorded upstream, each behind a tripwire, and
//! a folder with the configuration and the ledger.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, B256, U256, address, hex};
use bytes::Bytes;
use dev_chain::{BUYER, DevChain, GAS_PAYER, Mining, Reply, USDC, USDG, USDT0};
use http::header::CONTENT_TYPE;
use http_body_util::Full;
use http_edge::{ClientAddress, Handler, Limits, RequestBody, RequestId, read_body};
use hyper::{Request, Response};
use replay::{Recordings, ReplayServer};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;

use crate::process::buyer::{Answer, Buyer, Payment};
use crate::process::facilitator::Facilitator;
use crate::process::server::{Server, start_server};
use crate::process::tripwire::Tripwire;
use crate::process::{PATIENCE, eventually};

/// The payee. It is no account of local test chains, because `serve` refuses those.
pub(crate) const PAYEE: Address = address!("5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");

/// Tokens with a recorded price.
pub(crate) const PRICED: [&str; 3] = [
    "/price?token=0xe538905cf8410324e03A5A23C1c177a474D59b2b",
    "/price?token=0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
    "/price?token=0x4ae46a509F6b1D9056937BA4500cb143933D2dc8",
];

pub(crate) struct World {
    pub(crate) chain: DevChain,
    pub(crate) buyer: Buyer,
    pub(crate) wire: Arc<Tripwire>,
    pub(crate) upstream: Arc<Upstream>,
    rpc_url: String,
    facilitator: Option<Facilitator>,
    upstream_url: String,
    pub(crate) folder: TempDir,
    /// The source of prices, for worlds of wallets. No gate and no tripwire is before it.
    prices: Option<ReplayServer>,
    /// The address of a database that replaces the file.
    pub(crate) database: Option<String>,
}

impl World {
    /// Makes a world with a facilitator that settles on the same chain.
    pub(crate) async fn behind_a_facilitator() -> Self {
        let mut world = Self::new(Mining::Auto).await;
        world.facilitator = Some(Facilitator::open(&world.chain, world.wire.clone()).await);
        world
    }

    pub(crate) async fn new(mining: Mining) -> Self {
        let chain = DevChain::builder()
            .chain_196_assets()
            .mining(mining)
            .build()
            .unwrap();
        Self::over(chain, Recordings::embedded().unwrap()).await
    }

    /// Makes a world for wallets: the chain that wallets act on, and a facilitator. The quotes have
    /// deadlines of today.
    pub(crate) async fn of_wallets() -> Self {
        let chain = DevChain::with_xlayer_stage().unwrap();
        // Gas is as cheap as on rollups, because an owner's top-ups are limited to the sum that it
        // has paid.
        chain.set_base_fee(1_000_000);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let recordings = || Recordings::embedded().unwrap().at(now.as_secs());
        let mut world = Self::over(chain, recordings()).await;
        world.prices = Some(ReplayServer::start(recordings()).await.unwrap());
        world.facilitator = Some(Facilitator::open(&world.chain, world.wire.clone()).await);
        world
    }

    async fn over(chain: DevChain, recordings: Recordings) -> Self {
        let wire = Arc::new(Tripwire::default());
        let node = Node {
            chain: chain.clone(),
            wire: wire.clone(),
        };
        let upstream = Arc::new(Upstream {
            replay: ReplayServer::start(recordings).await.unwrap(),
            http: test_support::http_client(),
            open: watch::Sender::new(true),
            waiting: watch::Sender::new(0),
            wire: wire.clone(),
        });
        let folder = tempfile::tempdir().unwrap();
        test_support::private_file(folder.path().join("gas.key"), GAS_PAYER.key.to_string());
        Self {
            rpc_url: serve(Arc::new(node)).await,
            facilitator: None,
            upstream_url: serve(upstream.clone()).await,
            chain,
            buyer: Buyer::new(),
            wire,
            upstream,
            folder,
            prices: None,
            database: None,
        }
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.path().join("service.db")
    }

    /// The chain's RPC endpoint, behind the tripwire.
    pub(crate) fn rpc_url(&self) -> &str {
        &self.rpc_url
    }

    /// The URL at which the recordings of `host` are served.
    pub(crate) fn upstream(&self, host: &str) -> String {
        format!("{}/{host}", self.upstream_url)
    }

    /// Writes a configuration of a server in this world, with further lines.
    pub(crate) fn config(&self, further: &str) -> PathBuf {
        let path = self.folder.path().join("api.toml");
        let text = format!(
            r#"
server.listen = "127.0.0.1:0"
payment.pay_to = "{payee}"
{settler}
settlement.rpc_url = "{rpc}"
settlement.timeout_ms = 5000
settlement.reconcile_seconds = 1
storage.url = "{storage}"
upstreams.okx.base_url = "{upstream}/web3.okx.com"
upstreams.okx.mode = "replay"
upstreams.okx.timeout_ms = 20000
datasets.news = false
datasets.yields = false
{others_off}{further}
"#,
            payee = PAYEE,
            others_off = self.others_off(),
            settler = self.settler(),
            rpc = self.rpc_url,
            storage = self.storage(),
            upstream = self.upstream_url,
        );
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Switches off all upstreams but the aggregator, and the source of prices if there is one.
    fn others_off(&self) -> String {
        let specs = api_server::Sources::specs();
        let others = specs.iter().filter(|spec| spec.name != "okx");
        let lines = others.map(|spec| match (spec.name, &self.prices) {
            ("defillama", Some(prices)) => format!(
                "upstreams.defillama.coins_url = \"{}/coins.llama.fi\"\nupstreams.defillama.mode = \"replay\"\n",
                prices.url()
            ),
            (name, _) => format!("upstreams.{name}.enabled = false\n"),
        });
        lines.collect()
    }

    fn storage(&self) -> String {
        let file = || format!("sqlite://{}", self.ledger().display());
        self.database.clone().unwrap_or_else(file)
    }

    fn settler(&self) -> String {
        match &self.facilitator {
            Some(facilitator) => format!(
                "settlement.mode = \"facilitator\"\nsettlement.facilitator_url = \"{}\"",
                facilitator.url
            ),
            None => format!(
                "settlement.mode = \"onchain\"\nsettlement.private_key_file = \"{}/gas.key\"",
                self.folder.path().display()
            ),
        }
    }

    pub(crate) async fn start(&self) -> Server {
        start_server(&self.config(""), &[]).await
    }

    /// The sum that the payee has received, in all three assets.
    pub(crate) fn received(&self) -> U256 {
        let balance = |token| self.chain.balance_of(token, PAYEE).unwrap();
        [USDT0, USDC, USDG].into_iter().map(balance).sum()
    }

    pub(crate) fn is_settled(&self, payment: &Payment) -> bool {
        let (asset, nonce) = (payment.asset, payment.nonce);
        self.chain
            .authorization_used(asset, BUYER.address, nonce)
            .unwrap()
    }

    /// The transaction that moved the money of a payment: the first one that used its
    /// authorization.
    pub(crate) fn settled_by(&self, nonce: B256) -> Option<String> {
        let transactions = self.chain.transactions();
        let uses = |input: &[u8]| input.windows(32).any(|window| window == nonce.as_slice());
        let first = transactions
            .iter()
            .find(|found| found.success && uses(&found.input));
        first.map(|found| hex::encode_prefixed(found.hash))
    }

    /// Asserts that an answer of 200 is paid for, and names the transaction.
    pub(crate) fn assert_paid(&self, payment: &Payment, answer: &Answer) {
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(self.is_settled(payment), "served unpaid: {}", answer.text);
        assert_eq!(Some(answer.transaction()), self.settled_by(payment.nonce));
    }
}

/// The RPC endpoint of the embedded chain.
struct Node {
    chain: DevChain,
    wire: Arc<Tripwire>,
}

impl Handler for Node {
    async fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        _id: RequestId,
        _client: ClientAddress,
    ) -> Response<Full<Bytes>> {
        let body = read_body(request.into_body(), 1 << 20, PATIENCE)
            .await
            .unwrap();
        let call: Value = serde_json::from_slice(&body).unwrap();
        let method = call["method"].as_str().unwrap_or("batch");
        let answer = self
            .wire
            .pass(method, async { self.chain.answer(&body) })
            .await;
        let Reply::Http { status, body } = answer else {
            return std::future::pending().await;
        };
        json(status, body.into())
    }
}

/// The recorded upstream behind a gate that can be closed.
pub(crate) struct Upstream {
    replay: ReplayServer,
    http: reqwest::Client,
    open: watch::Sender<bool>,
    waiting: watch::Sender<usize>,
    wire: Arc<Tripwire>,
}

impl Upstream {
    /// Holds requests back from now on.
    pub(crate) fn close(&self) {
        self.open.send_replace(false);
    }

    /// Lets all requests through.
    pub(crate) fn open(&self) {
        self.open.send_replace(true);
        self.waiting.send_replace(0);
    }

    /// Waits until this many requests are held back.
    pub(crate) async fn holds(&self, count: usize) {
        eventually("requests at the gate", async || {
            (*self.waiting.borrow() >= count).then_some(())
        })
        .await;
    }
}

impl Handler for Upstream {
    async fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        _id: RequestId,
        _client: ClientAddress,
    ) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let body = read_body(body, 1 << 20, PATIENCE).await.unwrap();
        if !*self.open.borrow() {
            self.waiting.send_modify(|waiting| *waiting += 1);
            self.open.subscribe().wait_for(|open| *open).await.unwrap();
        }
        let path = head.uri.path().to_owned();
        let url = format!("{}{}", self.replay.url(), head.uri);
        let forwarded = self.http.request(head.method, url).body(body);
        let answer = self
            .wire
            .pass(&path, async { forwarded.send().await.unwrap() })
            .await;
        json(answer.status().as_u16(), answer.bytes().await.unwrap())
    }
}

/// Serves `handler` until the runtime ends. Returns the URL.
pub(crate) async fn serve<H: Handler>(handler: Arc<H>) -> String {
    let limits = Limits {
        header_timeout: Duration::from_secs(600),
        idle_timeout: Duration::from_secs(600),
        ..Limits::default()
    };
    let server = http_edge::Server::bind(([127, 0, 0, 1], 0).into(), limits)
        .await
        .unwrap();
    let url = format!("http://{}", server.local_addr());
    tokio::spawn(server.serve(handler, std::future::pending()));
    url
}

pub(crate) fn json(status: u16, body: Bytes) -> Response<Full<Bytes>> {
    let response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/json");
    response.body(Full::new(body)).unwrap()
}
