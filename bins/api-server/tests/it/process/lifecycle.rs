//! Tests of a server from its start to its end: missing dependencies, shutdown, restart.

use dev_chain::{DevChain, GAS_PAYER, Mining, Reuse, TokenSpec, USDC, USDG, USDT0};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::process::config::{PAYEE, run_on};
use crate::process::eventually;
use crate::process::server::{demo, run, start_server};
use crate::process::world::{PRICED, World};

/// Stands for a secret in the environment.
const MARKER: &str = "5ec2e7d00dfeed5ec2e7";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_facilitator_that_is_down_stops_payments_and_nothing_else() {
    let world = World::new(Mining::Auto).await;
    // The port is bound and not listening: no other process gets it, and connections to it are
    // refused.
    let down = TcpSocket::new_v4().unwrap();
    down.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let facilitator = format!("http://{}/{MARKER}", down.local_addr().unwrap());
    let environment = [
        ("SVC__SETTLEMENT__MODE", "facilitator"),
        ("SVC__SETTLEMENT__FACILITATOR_URL", &facilitator),
    ];
    let server = start_server(&world.config(""), &environment).await;

    assert_eq!(world.buyer.get(&server, "/healthz").await.status, 200);
    let ready = world.buyer.get(&server, "/readyz").await;
    assert_eq!(ready.status, 503);
    let body = ready.body();
    assert_eq!(body["ready"], false);
    assert_eq!(body["reasons"][0]["component"], "settlement");
    assert_eq!(body["reasons"].as_array().unwrap().len(), 1);
    let status = world.buyer.get(&server, "/status").await;
    assert_eq!(status.status, 200);
    assert_eq!(status.body()["settlement"]["state"], "unavailable");
    assert_eq!(status.body()["ledger"]["state"], "ok");

    let payment = world.buyer.sign(&server, PRICED[0], 0).await;
    for _ in 0..2 {
        let refused = world.buyer.present(&server, &payment).await;
        assert_eq!(refused.status, 503, "{}", refused.text);
        refused.assert_uncharged();
        assert_eq!(refused.error("code"), "upstream_unavailable");
        assert_eq!(refused.error("reason"), "settlement_unavailable");
        assert_eq!(refused.error("retryable"), true);
        assert!(refused.headers.contains_key("retry-after"));
    }
    assert!(!world.is_settled(&payment));

    // The facilitator starts, and the server needs no restart.
    let up = down.listen(16).unwrap();
    tokio::spawn(answer_supported(up));
    eventually("readiness", async || {
        (world.buyer.get(&server, "/readyz").await.status == 200).then_some(())
    })
    .await;
    let log = server.stop().await;
    assert!(
        !log.contains(MARKER) && !ready.text.contains(MARKER),
        "a URL may hold a key: {log}"
    );
}

/// Answers a readiness check as a facilitator would.
async fn answer_supported(listener: TcpListener) {
    let kinds = r#"{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:196"}],"extensions":[],"signers":{}}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{kinds}",
        kinds.len()
    );
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_finishes_calls_in_flight() {
    let world = World::new(Mining::Auto).await;
    let server = world.start().await;
    let payment = world.buyer.sign(&server, PRICED[0], 0).await;
    world.upstream.close();
    let (buyer, url) = (world.buyer.clone(), server.url(&payment.target));
    let header = payment.header.clone();
    let call = tokio::spawn(async move { buyer.try_get(&url, Some(&header)).await });
    world.upstream.holds(1).await;

    server.terminate();
    let address = server.address();
    eventually("new connections to be refused", async || {
        TcpStream::connect(address).await.is_err().then_some(())
    })
    .await;
    assert!(!call.is_finished());
    world.upstream.open();
    let answer = call.await.unwrap().expect("an answer");
    world.assert_paid(&payment, &answer);
    server.ended().await.ok();

    // The server has flushed its journal.
    let server = world.start().await;
    let again = world.buyer.present(&server, &payment).await;
    assert_eq!(again.text, answer.text);
    server.stop().await;
}

/// The server first tells a load balancer that it is ending. It still serves the requests that
/// arrive meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_says_draining_and_goes_on_serving_for_the_configured_time() {
    let world = World::new(Mining::Auto).await;
    let server = start_server(&world.config("server.drain_seconds = 10"), &[]).await;
    let ready = world.buyer.get(&server, "/readyz").await;
    assert_eq!(ready.status, 200, "{}", ready.text);
    let asked = std::time::Instant::now();
    server.terminate();
    let draining = eventually("readiness to end", async || {
        let ready = world.buyer.get(&server, "/readyz").await;
        (ready.status == 503).then(|| ready.body())
    })
    .await;
    assert_eq!(draining["ready"], false);
    assert_eq!(
        draining["reasons"],
        serde_json::json!([{ "component": "server", "reason": "draining" }])
    );
    // New connections are served, too.
    let newcomer = crate::process::buyer::Buyer::new();
    let payment = newcomer.sign(&server, PRICED[0], 0).await;
    world.assert_paid(&payment, &newcomer.present(&server, &payment).await);
    assert_eq!(newcomer.get(&server, "/healthz").await.status, 200);
    server.ended().await.ok();
    let took = asked.elapsed();
    assert!(took > std::time::Duration::from_secs(8), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_grace_period_ends() {
    let world = World::new(Mining::Auto).await;
    let config = world.config("server.shutdown_grace_seconds = 1");
    let server = start_server(&config, &[]).await;
    let payment = world.buyer.sign(&server, PRICED[0], 0).await;
    world.upstream.close();
    let (buyer, url) = (world.buyer.clone(), server.url(&payment.target));
    let header = payment.header.clone();
    let call = tokio::spawn(async move { buyer.try_get(&url, Some(&header)).await });
    world.upstream.holds(1).await;
    server.terminate();
    let asked = std::time::Instant::now();
    server.ended().await.ok();
    // The time limit of the upstream would end this call only after twenty seconds.
    assert!(
        asked.elapsed() < std::time::Duration::from_secs(10),
        "{:?}",
        asked.elapsed()
    );
    assert!(
        call.await
            .unwrap()
            .is_none_or(|answer| answer.status != 200)
    );
    assert!(
        !world.is_settled(&payment),
        "nothing is charged for what was not delivered"
    );

    world.upstream.open();
    let server = world.start().await;
    let answer = world.buyer.present(&server, &payment).await;
    world.assert_paid(&payment, &answer);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_ledger_has_one_server() {
    let world = World::new(Mining::Auto).await;
    let server = world.start().await;
    let config = world.config("");
    let second =
        tokio::task::block_in_place(|| run(&["serve", "--config", config.to_str().unwrap()], &[]));
    let ledger = world.ledger();
    let says = [
        "storage.url: ",
        ledger.to_str().unwrap(),
        "in use by another server",
    ];
    second.error(2, &says);
    assert!(!second.stderr.contains("listening on"), "{second:?}");
    // The first server continues.
    let payment = world.buyer.sign(&server, PRICED[0], 0).await;
    world.assert_paid(&payment, &world.buyer.present(&server, &payment).await);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_keeps_the_answers() {
    let world = World::new(Mining::Auto).await;
    let mut server = world.start().await;
    let mut bought = Vec::new();
    for (asset, target) in PRICED.into_iter().enumerate() {
        let payment = world.buyer.sign(&server, target, asset).await;
        let answer = world.buyer.present(&server, &payment).await;
        world.assert_paid(&payment, &answer);
        bought.push((payment, answer));
    }
    let received = world.received();
    // The server asks neither the upstream nor the chain again.
    world.upstream.close();
    for _ in 0..2 {
        server.stop().await;
        server = world.start().await;
        for (payment, first) in &bought {
            let again = world.buyer.present(&server, payment).await;
            assert_eq!((again.status, &again.text), (200, &first.text));
            for header in ["payment-response", "content-digest", "content-type"] {
                assert_eq!(again.headers[header], first.headers[header]);
            }
        }
    }
    assert_eq!(world.received(), received);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_stays_up_and_its_lines_work() {
    let demo = demo().await;
    let buyer = crate::process::buyer::Buyer::new();
    let last = |line: &str| line.contains("/delegation/status").then_some(());
    demo.wait_for_line(last)
        .await
        .expect("the demo's invitation");
    let text = demo.stdout();
    let quoted = |line: &str| -> Vec<String> {
        line.split('\'')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    let lines: Vec<Vec<String>> = text
        .lines()
        .filter(|line| line.starts_with("curl "))
        .map(quoted)
        .collect();
    let [costs, pays, all, _fence] = &lines[..] else {
        panic!("four lines to try: {text}")
    };
    let unpaid = buyer.try_get(&costs[0], None).await.unwrap();
    assert_eq!(unpaid.status, 402, "{}", unpaid.text);
    let (name, payment) = pays[0].split_once(": ").unwrap();
    assert_eq!(name, "PAYMENT-SIGNATURE");
    let paid = buyer.try_get(&pays[1], Some(payment)).await.unwrap();
    assert_eq!(paid.status, 200, "{}", paid.text);
    let again = buyer.try_get(&pays[1], Some(payment)).await.unwrap();
    assert_eq!((again.text, again.status), (paid.text.clone(), 200));
    assert_eq!(
        again.headers["payment-response"],
        paid.headers["payment-response"]
    );
    let all = buyer.try_get(&all[0], None).await.unwrap();
    assert!(all.text.contains("/generate-meme"), "{}", all.text);

    // What owners and their operator need.
    let printed = |name: &str| {
        let words = text.split_whitespace();
        let mut values = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        values.next().expect(name).to_owned()
    };
    let acting = buyer.try_get(&(printed("API_URL") + "/status"), None).await;
    assert_eq!(acting.unwrap().status, 200);
    let fence = printed("SVC_FENCE_URL") + "/delegation/status";
    let fence = buyer.try_get(&fence, None).await.unwrap();
    assert!(
        fence.text.contains(&printed("SVC_FENCE_PROJECT_ID")),
        "{}",
        fence.text
    );
    assert_eq!(printed("SVC_FENCE_SALT").len(), 66);
    let operator = text.lines().find(|line| line.starts_with("api-server "));
    let operator: Vec<&str> = operator.unwrap().split(' ').collect();
    assert_eq!(
        operator[1..4],
        ["wallets", "export", "--config"],
        "{operator:?}"
    );
    let listed = run(&["wallets", "list", "--config", operator[4]], &[]);
    let wallet = text.lines().find(|line| line.contains("sub-wallet   0x"));
    let wallet = wallet.unwrap().split_whitespace().next_back().unwrap();
    assert!(listed.ok().stdout.contains(wallet), "{listed:?}");
    demo.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_token_that_differs_from_the_configuration_is_refused_by_name() {
    let token = |address, name: &str, version: &str| TokenSpec {
        address,
        name: name.to_owned(),
        symbol: "T".to_owned(),
        version: version.to_owned(),
        reuse: Reuse::Reverts,
    };
    let right = [
        token(USDT0, "USD\u{20ae}0", "1"),
        token(USDC, "USD Coin", "2"),
        token(USDG, "Global Dollar", "1"),
    ];
    let version = [
        right[0].clone(),
        token(USDC, "USD Coin", "1"),
        right[2].clone(),
    ];
    let name = [
        token(USDT0, "USDT0", "1"),
        right[1].clone(),
        right[2].clone(),
    ];
    for (chain_id, tokens, says) in [
        (
            196,
            &version[..],
            vec![&*USDC.to_string(), "`USD Coin` version `2`"],
        ),
        (
            196,
            &name[..],
            vec![&*USDT0.to_string(), "`USD\u{20ae}0` version `1`"],
        ),
        (196, &right[..2], vec![&*USDG.to_string(), "has no code"]),
        (
            1,
            &right[..],
            vec!["settlement.rpc_url: expected chain 196, observed 1"],
        ),
    ] {
        let builder = DevChain::builder().chain_id(chain_id);
        let builder = tokens
            .iter()
            .cloned()
            .fold(builder, |builder, token| builder.token(token));
        let rpc = builder
            .build()
            .unwrap()
            .serve(([127, 0, 0, 1], 0).into())
            .await
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("api.toml");
        let ledger = format!("sqlite://{}", folder.path().join("service.db").display());
        std::fs::write(&path, PAYEE).unwrap();
        let output = tokio::task::block_in_place(|| {
            let key = GAS_PAYER.key.to_string();
            let environment = [
                ("SVC__SERVER__LISTEN", "127.0.0.1:0"),
                ("SVC__STORAGE__URL", &ledger),
                ("SVC__SETTLEMENT__MODE", "onchain"),
                ("SVC__SETTLEMENT__RPC_URL", &rpc.url()),
                ("SVC__SETTLEMENT__PRIVATE_KEY", &key),
            ];
            run_on("serve", &path, &environment)
        });
        output.error(2, &says);
        assert!(!output.stderr.contains("listening on"), "{output:?}");
    }
}
