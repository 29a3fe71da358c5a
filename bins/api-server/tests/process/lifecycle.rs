//! From start to end: dependencies that are down, shutdown, restart, what is observed and what is logged.

use dev_chain::{GAS_PAYER, Mining};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::eventually;
use crate::server::{Server, run};
use crate::world::{PRICED, World};

/// Stands for a secret in the environment.
const MARKER: &str = "5ec2e7d00dfeed5ec2e7";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_facilitator_that_is_down_stops_payments_and_nothing_else() {
    let world = World::new(Mining::Auto).await;
    // Bound and not listening: nobody else gets the port, and connections to it are refused.
    let down = TcpSocket::new_v4().unwrap();
    down.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let facilitator = format!("http://{}/{MARKER}", down.local_addr().unwrap());
    let environment = [
        ("SVC__SETTLEMENT__MODE", "facilitator"),
        ("SVC__SETTLEMENT__FACILITATOR_URL", &facilitator),
    ];
    let server = Server::start(&world.config(""), &environment).await;

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

    // It comes, and no restart is needed.
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

/// A facilitator as far as readiness asks for it.
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
async fn sigterm_finishes_what_is_in_flight() {
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
    let (status, log) = server.ended().await;
    assert_eq!(status.code(), Some(0), "{log}");

    // Its journal was flushed.
    let server = world.start().await;
    let again = world.buyer.present(&server, &payment).await;
    assert_eq!(again.text, answer.text);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_grace_period_ends() {
    let world = World::new(Mining::Auto).await;
    let config = world.config("server.shutdown_grace_seconds = 1");
    let server = Server::start(&config, &[]).await;
    let payment = world.buyer.sign(&server, PRICED[0], 0).await;
    world.upstream.close();
    let (buyer, url) = (world.buyer.clone(), server.url(&payment.target));
    let header = payment.header.clone();
    let call = tokio::spawn(async move { buyer.try_get(&url, Some(&header)).await });
    world.upstream.holds(1).await;
    server.terminate();
    let (status, log) = server.ended().await;
    assert_eq!(status.code(), Some(0), "{log}");
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
    let stderr = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("storage.url: "), "{stderr}");
    assert!(
        stderr.contains(world.ledger().to_str().unwrap()),
        "{stderr}"
    );
    assert!(stderr.contains("in use by another server"), "{stderr}");
    assert!(!stderr.contains("listening on"), "{stderr}");
    // The first one goes on.
    let payment = world.buyer.sign(&server, PRICED[0], 0).await;
    world.assert_paid(&payment, &world.buyer.present(&server, &payment).await);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_keeps_the_answers() {
    let world = World::new(Mining::Auto).await;
    let mut server = world.start().await;
    let mut bought = Vec::new();
    for asset in 0..3 {
        let payment = world.buyer.sign(&server, PRICED[asset], asset).await;
        let answer = world.buyer.present(&server, &payment).await;
        world.assert_paid(&payment, &answer);
        bought.push((payment, answer));
    }
    let received = world.received();
    // Neither the upstream nor the chain is asked again.
    world.upstream.close();
    for _ in 0..2 {
        server.stop().await;
        server = world.start().await;
        for (payment, first) in &bought {
            let again = world.buyer.present(&server, payment).await;
            assert_eq!((again.status, &again.text), (200, &first.text));
            for header in ["payment-response", "x-response-digest", "content-type"] {
                assert_eq!(again.headers[header], first.headers[header]);
            }
        }
    }
    assert_eq!(world.received(), received);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_free_endpoints_answer() {
    let world = World::new(Mining::Auto).await;
    let server = Server::start(
        &world.config("server.public_url = 'https://api.example.test'"),
        &[],
    )
    .await;
    let before = world.buyer.get(&server, "/freshness").await.body();
    assert_eq!(before["datasets"][0]["verdict"], "absent");
    let payment = world.buyer.sign(&server, "/all-tokens", 0).await;
    world.assert_paid(&payment, &world.buyer.present(&server, &payment).await);

    for (path, media_type) in [
        ("/", "text/html"),
        ("/healthz", "application/json"),
        ("/readyz", "application/json"),
        ("/status", "application/json"),
        ("/freshness", "application/json"),
        ("/metrics", "text/plain"),
        ("/openapi.json", "application/json"),
        ("/.well-known/x402", "application/json"),
        ("/llms.txt", "text/plain"),
    ] {
        let answer = world.buyer.get(&server, path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        assert!(
            answer.headers["content-type"]
                .to_str()
                .unwrap()
                .starts_with(media_type),
            "{path}"
        );
        assert!(answer.headers.contains_key("x-request-id"), "{path}");
        assert!(!answer.text.is_empty(), "{path}");
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let head = client.head(server.url(path)).send().await.unwrap();
        assert_eq!(head.status(), StatusCode::OK, "HEAD {path}");
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let refused = client
                .request(method, server.url(path))
                .send()
                .await
                .unwrap();
            assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
            assert_eq!(refused.headers()["allow"], "GET, HEAD, OPTIONS");
        }
    }

    let ready = world.buyer.get(&server, "/readyz").await.body();
    assert_eq!(
        (&ready["ready"], &ready["reasons"]),
        (&Value::from(true), &serde_json::json!([]))
    );

    let status = world.buyer.get(&server, "/status").await.body();
    let upstreams = status["upstreams"].as_array().unwrap();
    let tokens = upstreams
        .iter()
        .find(|upstream| upstream["id"] == "okx.all-tokens")
        .unwrap();
    assert_eq!(
        (&tokens["state"], &tokens["calls"]),
        (&Value::from("ok"), &Value::from(1))
    );
    assert!(
        tokens["p50_ms"].is_u64() && tokens["p95_ms"].is_u64(),
        "{tokens}"
    );
    for upstream in upstreams {
        let state = upstream["state"].as_str().unwrap();
        assert!(
            ["ok", "degraded", "disabled", "unavailable"].contains(&state),
            "{upstream}"
        );
    }
    let dataset = &world.buyer.get(&server, "/freshness").await.body()["datasets"][0];
    assert_eq!(
        (&dataset["route"], &dataset["verdict"]),
        (&"/all-tokens".into(), &"fresh".into())
    );
    assert!(dataset["age_seconds"].as_u64().unwrap() < 60, "{dataset}");

    let metrics = world.buyer.get(&server, "/metrics").await.text;
    assert!(metrics.contains("paid_calls_total{operation=\"all_tokens\",outcome=\"served\"} 1"));
    assert!(
        metrics.contains("\npayments_settled_total 1\n"),
        "{metrics}"
    );
    for line in metrics
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
    {
        let (_series, value) = line.rsplit_once(' ').unwrap();
        value.parse::<f64>().unwrap_or_else(|_| panic!("{line}"));
    }

    let known = world.buyer.get(&server, "/.well-known/x402").await.body();
    let resources = known["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 43);
    for resource in resources {
        assert!(
            resource
                .as_str()
                .unwrap()
                .starts_with("https://api.example.test/"),
            "{resource}"
        );
    }
    let openapi = world.buyer.get(&server, "/openapi.json").await.body();
    assert_eq!(openapi["servers"][0]["url"], "https://api.example.test");
    assert_eq!(
        openapi["openapi"].as_str().unwrap().split('.').next(),
        Some("3")
    );
    let page = world.buyer.get(&server, "/").await;
    assert!(page.headers.contains_key("content-security-policy"));
    assert!(page.text.contains("https://api.example.test/price"));
    let unknown = world.buyer.get(&server, "/nowhere").await;
    assert_eq!(
        (unknown.status, unknown.error("code")),
        (404, "not_found".into())
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_name_requests_and_neither_payments_nor_secrets() {
    let world = World::new(Mining::Auto).await;
    let environment = [
        ("SVC__LOG__FORMAT", "json"),
        ("SVC__LOG__FILTER", "debug"),
        ("SVC__UPSTREAMS__OKX__API_KEY", MARKER),
        ("SVC__UPSTREAMS__OKX__SECRET_KEY", MARKER),
        ("SVC__UPSTREAMS__OKX__PASSPHRASE", MARKER),
    ];
    let server = Server::start(&world.config(""), &environment).await;
    let payment = world.buyer.sign(&server, PRICED[0], 0).await;
    let answer = world.buyer.present(&server, &payment).await;
    world.assert_paid(&payment, &answer);
    let again = world.buyer.present(&server, &payment).await;
    // A payment that does not settle, and one that is no good.
    let unpriced = "/price?token=0x000000000000000000000000000000000000dEaD";
    let refused = world.buyer.sign(&server, unpriced, 1).await;
    let second = world.buyer.present(&server, &refused).await;
    assert_eq!(second.status, 404);
    let mut forged = world.buyer.sign(&server, PRICED[1], 2).await;
    forged.target = PRICED[2].to_owned();
    let third = world.buyer.present(&server, &forged).await;
    assert_eq!(third.status, 402);
    let log = server.stop().await;

    for answer in [&answer, &again, &second, &third] {
        let id = answer.headers["x-request-id"].to_str().unwrap();
        assert!(log.contains(id), "{id} is not in the log:\n{log}");
    }
    for line in log
        .lines()
        .filter(|line| !line.starts_with("listening on "))
    {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        assert!(event["level"].is_string(), "{line}");
    }
    let log = log.to_lowercase();
    for payment in [&payment, &refused, &forged] {
        let signature = payment.signature.trim_start_matches("0x");
        // Whole, or as the r and s of a call to the token.
        for secret in [
            &payment.header[..],
            &payment.header[64..128],
            &signature[..128],
        ] {
            assert!(
                !log.contains(&secret.to_lowercase()),
                "{secret} is in the log:\n{log}"
            );
        }
    }
    let gas_key = format!("{:x}", GAS_PAYER.key);
    for secret in [MARKER, gas_key.as_str()] {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_stays_up_and_its_lines_work() {
    let demo = Server::spawn_with(&["demo", "--listen", "127.0.0.1:0"], &[]);
    let buyer = crate::buyer::Buyer::new();
    let log = eventually("the demo's invitation", async || {
        let log = demo.log();
        log.contains("# everything that is sold").then_some(log)
    })
    .await;
    let quoted = |line: &str| -> Vec<String> {
        line.split('\'')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    let lines: Vec<Vec<String>> = log
        .lines()
        .filter(|line| line.starts_with("curl "))
        .map(quoted)
        .collect();
    let [costs, pays, _all] = &lines[..] else {
        panic!("three lines to try: {log}")
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
    demo.stop().await;
}
