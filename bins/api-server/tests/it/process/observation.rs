//! Tests of the free endpoints and the log of a running server.

use dev_chain::{GAS_PAYER, Mining};
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::process::server::start_server;
use crate::process::world::{PRICED, World};

/// Stands for a secret in the environment.
const MARKER: &str = "5ec2e7d00dfeed5ec2e7";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_free_endpoints_answer() {
    let world = World::new(Mining::Auto).await;
    let server = start_server(
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
        ("/status/detail", "application/json"),
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
        let client = test_support::http_client();
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
        (&dataset["routes"][0], &dataset["verdict"]),
        (&"/all-tokens".into(), &"fresh".into())
    );
    assert!(dataset["age_seconds"].as_u64().unwrap() < 60, "{dataset}");

    let page = world.buyer.get(&server, "/").await.text;
    for action in ["send_same_again", "look_up", "wait", "sign_new"] {
        assert!(page.contains(action), "the page does not tell {action}");
    }

    let metrics = world.buyer.get(&server, "/metrics").await.text;
    assert!(
        metrics.contains("svc_paid_calls_total{operation=\"all_tokens\",outcome=\"served\"} 1")
    );
    assert!(
        metrics.contains("\nsvc_payments_settled_total 1\n"),
        "{metrics}"
    );
    // Gauges are read at each scrape.
    let value = |series: &str| -> f64 {
        let line = metrics.lines().find(|line| line.starts_with(series));
        let (_, value) = line.unwrap().rsplit_once(' ').unwrap();
        value.parse().unwrap()
    };
    assert!(value("svc_settlements_left ") > 0.0);
    assert!(value("svc_ledger_bytes ") > 0.0);
    assert!(value("svc_payments_open{state=\"unknown\"} ").abs() < 0.5);
    assert!(value("svc_payments_oldest_unknown_seconds ").abs() < 0.5);
    assert!(value("svc_upstream_up{source=\"okx.all-tokens\"} ") > 0.5);
    for (state, is_in) in [("ok", 1.0), ("unavailable", 0.0), ("payment_required", 0.0)] {
        let series =
            format!("svc_upstream_state{{upstream=\"okx.all-tokens\",state=\"{state}\"}} ");
        assert!((value(&series) - is_in).abs() < 0.5, "{series}");
    }
    assert!(value("svc_connections ") > 0.5);
    // A series exists before its first event, so that the first event is an increase.
    for upstream in ["okx", "goplus", "hyperliquid", "defillama"] {
        let series = format!("svc_upstream_tolerated_total{{upstream=\"{upstream}\"}} ");
        assert!(value(&series).abs() < 0.5, "{series}");
    }
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
        ("SVC__LOG__FILTER", "trace"),
        ("SVC__UPSTREAMS__OKX__API_KEY", MARKER),
        ("SVC__UPSTREAMS__OKX__SECRET_KEY", MARKER),
        ("SVC__UPSTREAMS__OKX__PASSPHRASE", MARKER),
    ];
    let server = start_server(&world.config(""), &environment).await;
    let payment = world.buyer.sign(&server, PRICED[0], 0).await;
    let answer = world.buyer.present(&server, &payment).await;
    world.assert_paid(&payment, &answer);
    let again = world.buyer.present(&server, &payment).await;
    // One payment does not settle, and one is invalid.
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
        // The signature as a whole, and as the r and s of a call to the token.
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

/// The alarm for an empty gas account needs the figure when it is zero.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_gas_account_has_no_settlements_left() {
    let world = World::new(Mining::Auto).await;
    let config = world.config("");
    std::fs::write(
        world.folder.path().join("gas.key"),
        "0x".to_owned() + &"5a".repeat(32),
    )
    .unwrap();
    let server = start_server(&config, &[]).await;
    // A scraper that reads only the metrics sees the figure, too.
    let metrics = world.buyer.get(&server, "/metrics").await.text;
    for series in ["svc_settlements_left 0", "svc_gas_balance_wei 0"] {
        assert!(metrics.contains(&format!("\n{series}\n")), "{metrics}");
    }
    let ready = world.buyer.get(&server, "/readyz").await;
    assert_eq!(ready.status, 503, "{}", ready.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scrape_of_the_metrics_alone_shows_the_gas_account() {
    let world = World::new(Mining::Auto).await;
    let server = start_server(&world.config(""), &[]).await;
    let metrics = world.buyer.get(&server, "/metrics").await.text;
    for series in ["svc_settlements_left ", "svc_gas_balance_wei "] {
        let line = metrics.lines().find(|line| line.starts_with(series));
        let (_, value) = line.unwrap().rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().unwrap() > 0.0, "{series}: {value}");
    }
    // The series of call durations exist before the first call as well.
    for series in [
        "svc_rpc_seconds_count{method=\"eth_sendRawTransaction\",outcome=\"error\"} 0",
        "svc_clock_difference_seconds 0",
    ] {
        assert!(metrics.contains(&format!("\n{series}\n")), "{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_that_disagree_are_a_reason_and_a_gauge() {
    let world = World::new(Mining::Auto).await;
    let server = start_server(&world.config(""), &[]).await;
    world.chain.advance_time(3_600);
    world.chain.mine();
    let ready = world.buyer.get(&server, "/readyz").await;
    assert_eq!(ready.status, 503, "{}", ready.text);
    let reasons = ready.body()["reasons"].clone();
    assert_eq!(reasons[0]["component"], "settlement", "{reasons}");
    let reason = reasons[0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("the machine's clock says "), "{reason}");
    let metrics = world.buyer.get(&server, "/metrics").await.text;
    let series = "svc_clock_difference_seconds ";
    let line = metrics.lines().find(|line| line.starts_with(series));
    let apart: f64 = line.unwrap()[series.len()..].parse().unwrap();
    // The chain is ahead.
    assert!((-3_700.0..-3_500.0).contains(&apart), "{apart}");
}
