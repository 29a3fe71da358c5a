//! Tests of `check-config --online`: its requests, its lines and its exit code.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use dev_chain::{DevChain, Mining, Reuse, RpcServer, TokenSpec, USDC, USDG, USDT0};
use http_body_util::Full;
use http_edge::{ClientAddress, Handler, RequestBody, RequestId};
use hyper::{Request, Response};
use ledger::Journal as _;
use test_support::postgres::Schema;
use tokio::net::TcpSocket;

use crate::process::config::PAYEE;
use crate::process::server::run;
use crate::process::world;

/// Stands for a key in a URL, which must never be printed.
pub(crate) const MARKER: &str = "5ec2e7d00dfeed5ec2e7";
pub(crate) const BOTH: &str = r#"{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:196"},{"x402Version":2,"scheme":"aggr_deferred","network":"eip155:196"}],"extensions":[],"signers":{}}"#;
const NONE: &str = r#"{"kinds":[],"extensions":[],"signers":{}}"#;

/// A server that answers every request with one JSON text.
struct Says(String);

impl Handler for Says {
    async fn handle(
        self: Arc<Self>,
        _request: Request<RequestBody>,
        _id: RequestId,
        _client: ClientAddress,
    ) -> Response<Full<Bytes>> {
        world::json(200, Bytes::from(self.0.clone()))
    }
}

pub(crate) async fn saying(text: impl Into<String>) -> String {
    let says = Arc::new(Says(text.into()));
    format!("{}/{MARKER}", world::serve(says).await)
}

pub(crate) async fn node(chain: &DevChain) -> (RpcServer, String) {
    let rpc = chain.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
    let url = format!("{}?key={MARKER}", rpc.url());
    (rpc, url)
}

/// A URL with a port that is bound and not listening: connections to it are refused, and no other
/// process can take it.
fn closed_port() -> (TcpSocket, String) {
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let url = format!("http://{}/{MARKER}", bound.local_addr().unwrap());
    (bound, url)
}

/// Runs `check-config --online`. Returns the lines after the report, and the exit code.
pub(crate) async fn check(file: &str) -> (Vec<String>, i32) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("api.toml");
    let mut top = format!("{PAYEE}settlement.timeout_ms = 5000\n");
    if !file.contains("storage.url") {
        let unused = folder.path().join("unused.db");
        top.push_str(&format!("storage.url = 'sqlite://{}'\n", unused.display()));
    }
    std::fs::write(&path, format!("{top}{file}")).unwrap();
    let output = tokio::task::spawn_blocking(move || {
        run(
            &[
                "check-config",
                "--online",
                "--config",
                path.to_str().unwrap(),
            ],
            &[],
        )
    })
    .await
    .unwrap();
    let (stdout, stderr) = (output.stdout, output.stderr);
    assert!(
        !format!("{stdout}{stderr}").contains(MARKER),
        "{stdout}{stderr}"
    );
    assert!(!stderr.contains("panicked"), "{stderr}");
    let lines = stdout
        .lines()
        .skip(1)
        .filter(|line| !line.starts_with("  "))
        .map(str::to_owned)
        .collect();
    (lines, output.code)
}

fn starts(lines: &[String], expected: &[&str]) {
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, start) in lines.iter().zip(expected) {
        assert!(line.starts_with(start), "{line}\nexpected {start}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agreements_are_printed_line_by_line() {
    let chain = DevChain::with_chain_196_assets().unwrap();
    chain.mine();
    let (_rpc, rpc_url) = node(&chain).await;
    let facilitator = saying(BOTH).await;
    let (lines, code) = check(&format!(
        "settlement.facilitator_url = '{facilitator}'\nsettlement.rpc_url = '{rpc_url}'\n\
         chains.196.rpc_urls = ['{rpc_url}']\n"
    ))
    .await;
    starts(
        &lines,
        &[
            "settlement.rpc_url: ok: serves chain 196",
            "payment.assets[0]: ok: 0x779Ded0c9e1022225f8E0630b35a9b54bE713736 is \"USD₮0\"",
            "payment.assets[1]: ok: ",
            "payment.assets[2]: ok: ",
            "clock: ok: this machine is ",
            "settlement.facilitator_url: ok: settles exact and aggr_deferred",
            "chains.196.rpc_urls[0]: ok: serves chain 196",
        ],
    );
    assert_eq!(code, 0);
}

/// An idle chain has an old newest block, which proves nothing about the machine's clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_without_new_blocks_says_nothing_about_the_clock() {
    let chain = DevChain::builder()
        .chain_196_assets()
        .clock(|| 1_700_000_000)
        .build()
        .unwrap();
    let (_rpc, rpc_url) = node(&chain).await;
    let facilitator = saying(BOTH).await;
    let (lines, code) = check(&format!(
        "settlement.facilitator_url = '{facilitator}'\nsettlement.rpc_url = '{rpc_url}'\n"
    ))
    .await;
    let clock = lines.iter().find(|line| line.starts_with("clock:"));
    assert!(
        clock.is_some_and(
            |line| line.starts_with("clock: not reached: the chain has made no block for ")
        ),
        "{lines:#?}"
    );
    assert_eq!(code, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contradictions_are_named_and_exit_with_2() {
    let misnamed = |address, name: &str| TokenSpec {
        address,
        name: name.to_owned(),
        version: "9".to_owned(),
        symbol: "TKN".to_owned(),
        reuse: Reuse::Reverts,
    };
    let chain = DevChain::builder()
        .chain_id(196)
        .token(misnamed(USDT0, "Somebody else's dollar"))
        .token(misnamed(USDG, "Global Dollar"))
        .mining(Mining::Auto)
        .build()
        .unwrap();
    chain.advance_time(3600);
    chain.mine();
    let other = DevChain::builder().chain_id(8453).build().unwrap();
    let (_rpc, rpc_url) = node(&chain).await;
    let (_other_rpc, other_url) = node(&other).await;
    let facilitator = saying(NONE).await;
    let (lines, code) = check(&format!(
        "settlement.facilitator_url = '{facilitator}'\nsettlement.rpc_url = '{rpc_url}'\n\
         chains.1.rpc_urls = ['{other_url}']\nchains.8453.rpc_urls = ['{other_url}']\n"
    ))
    .await;
    starts(
        &lines,
        &[
            "settlement.rpc_url: ok: serves chain 196",
            "payment.assets[0]: contradicts: ",
            "payment.assets[1]: contradicts: ",
            "payment.assets[2]: contradicts: ",
            "clock: contradicts: this machine is 3",
            "settlement.facilitator_url: contradicts: the facilitator does not list scheme `exact`",
            "chains.1.rpc_urls[0]: contradicts: the node serves chain 8453, expected 1",
            "chains.8453.rpc_urls[0]: ok: serves chain 8453",
        ],
    );
    assert!(lines[2].contains(&USDC.to_string()), "{lines:#?}");
    assert_eq!(code, 2);

    // A node of another chain is asked nothing else.
    let (lines, code) = check(&format!(
        "settlement.facilitator_url = '{}'\nsettlement.rpc_url = '{other_url}'\n",
        saying(BOTH).await
    ))
    .await;
    starts(
        &lines,
        &[
            "settlement.rpc_url: contradicts: the node serves chain 8453, expected 196",
            "settlement.facilitator_url: ok",
        ],
    );
    assert_eq!(code, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreachable_parties_exit_with_1() {
    let (_bound, closed) = closed_port();
    let (lines, code) = check(&format!(
        "settlement.facilitator_url = '{closed}'\nsettlement.rpc_url = '{closed}'\n\
         chains.8453.rpc_urls = ['{closed}']\n"
    ))
    .await;
    starts(
        &lines,
        &[
            "settlement.rpc_url: not reached: eth_chainId: no connection",
            "settlement.facilitator_url: not reached: supported: no connection",
            "chains.8453.rpc_urls[0]: not reached: eth_chainId: no connection",
        ],
    );
    assert_eq!(code, 1);

    // The node refuses the key, and repeats it in its message.
    let refusal = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"unknown key 5ec2e7d00dfeed5ec2e7"}}"#;
    let (lines, code) = check(&format!(
        "settlement.facilitator_url = '{}'\nsettlement.rpc_url = '{}'\n",
        saying(BOTH).await,
        saying(refusal).await
    ))
    .await;
    starts(
        &lines,
        &[
            "settlement.rpc_url: not reached: eth_chainId: ",
            "settlement.facilitator_url: ok",
        ],
    );
    assert_eq!(code, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_without_gas_cannot_settle() {
    let chain = DevChain::with_chain_196_assets().unwrap();
    chain.mine();
    let (_rpc, rpc_url) = node(&chain).await;
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("gas.key");
    for (secret, verdict, code) in [
        ("11".repeat(32), "contradicts: ", 2),
        (
            dev_chain::GAS_PAYER.key.to_string(),
            "ok: settles exact;",
            0,
        ),
    ] {
        test_support::private_file(&key, &secret);
        let (lines, exit) = check(&format!(
            "settlement.mode = 'onchain'\nsettlement.rpc_url = '{rpc_url}'\n\
             settlement.private_key_file = '{}'\n",
            key.display()
        ))
        .await;
        let last = lines.last().unwrap();
        let start = format!("settlement.private_key: {verdict}");
        assert!(last.starts_with(&start), "{last}");
        assert_eq!(exit, code, "{lines:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tables_that_the_next_start_makes_are_named() {
    let facilitator = saying(BOTH).await;
    let Some(schema) = Schema::new() else { return };
    let url = schema.url();
    let file = format!("settlement.facilitator_url = '{facilitator}'\nstorage.url = '{url}'\n");
    let missing = |component: &str, version: u32| {
        format!(
            "storage.url: ok: there are no tables of `{component}`; the first start that needs them makes \
             version {version}"
        )
    };
    let others = [
        "server", "sender", "watch", "fence", "wallets", "gas", "custody",
    ];
    for ours in [
        [missing("ledger", 2), missing("instance", 2)],
        [
            "storage.url: ok: the tables of `ledger` have version 2".to_owned(),
            "storage.url: ok: the tables of `instance` have version 2".to_owned(),
        ],
    ] {
        let (lines, code) = check(&file).await;
        let mut expected: Vec<String> = ours.to_vec();
        for component in others {
            expected.push(format!(
                "storage.url: ok: there are no tables of `{component}`"
            ));
        }
        expected.push("settlement.facilitator_url: ok".to_owned());
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        starts(&lines, &expected);
        assert_eq!(code, 0);
        let opened = crate::process::ledger::open(url).await;
        opened.close().await.unwrap();
    }
    let older = "UPDATE schema_version SET version = 1 WHERE component = 'instance'";
    schema.connect().query("age", older, &[]).await.unwrap();
    let (lines, _) = check(&file).await;
    let brought = "storage.url: ok: the first start that needs the tables of `instance` brings them from version 1 to 2";
    assert!(lines.iter().any(|line| line == brought), "{lines:#?}");
    let unreachable = format!(
        "settlement.facilitator_url = '{facilitator}'\nstorage.url = 'postgres://svc@127.0.0.1:1/none'\n"
    );
    let (lines, code) = check(&unreachable).await;
    starts(
        &lines,
        &[
            "storage.url: not reached: ",
            "settlement.facilitator_url: ok",
        ],
    );
    assert_eq!(code, 1);
}

/// A file that a server has open is only read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_files_that_the_next_start_changes_are_named() {
    let facilitator = saying(BOTH).await;
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("paid.db");
    let file = format!(
        "settlement.facilitator_url = '{facilitator}'\nstorage.url = 'sqlite://{}'\n",
        ledger.display()
    );
    let (lines, code) = check(&file).await;
    starts(&lines, &["settlement.facilitator_url: ok"]);
    assert_eq!(code, 0);
    assert!(!ledger.exists());

    let opened = crate::process::ledger::open(ledger.to_str().unwrap()).await;
    let (lines, code) = check(&file).await;
    let ours = format!(
        "storage.url: ok: the file {} has version ",
        ledger.display()
    );
    starts(&lines, &[&ours, "settlement.facilitator_url: ok"]);
    assert_eq!(code, 0);
    let version: u32 = lines[0][ours.len()..].parse().unwrap();
    opened.close().await.unwrap();
    drop(opened);

    let age = |to: u32| {
        // The header of a SQLite file has the version of its tables at this place.
        let mut bytes = std::fs::read(&ledger).unwrap();
        bytes[60..64].copy_from_slice(&to.to_be_bytes());
        std::fs::write(&ledger, bytes).unwrap();
    };
    age(version - 1);
    let (lines, _) = check(&file).await;
    let brought = format!(
        "storage.url: ok: the first start that needs the file {} brings it from version {} to {version}",
        ledger.display(),
        version - 1
    );
    assert_eq!(lines[0], brought);
    age(version + 1);
    let (lines, code) = check(&file).await;
    let newer = format!(
        "storage.url: contradicts: the database {} has schema {}, this version knows schemas up to {version}",
        ledger.display(),
        version + 1
    );
    assert_eq!(lines[0], newer);
    assert_eq!(code, 2);
}
