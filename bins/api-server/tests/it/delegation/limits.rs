//! Tests of limits that hold for every request: the method, the path, the size, and the number of
//! requests from one address.

use api_server::config::DelegationSection;
use serde_json::Value;

use crate::delegation::served::Served;
use crate::delegation::world::Clock;

#[tokio::test]
async fn an_address_has_a_limit_of_requests_per_minute() {
    let section = DelegationSection {
        posts_per_minute: 2,
        gets_per_minute: 3,
        ..DelegationSection::default()
    };
    let served = Served::with(section, Clock::new()).await;
    for _ in 0..2 {
        assert_eq!(served.post("/delegation/grants", "{}").await.status, 422);
    }
    let refused = served.post("/delegation/limits", "{}").await;
    assert_eq!(refused.error(), (429, "rate_limited".to_owned()));
    let after: u64 = refused.headers["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=30).contains(&after), "{after}");
    // Reading requests are counted separately. Requests outside `/delegation/` are not counted.
    for _ in 0..3 {
        assert_eq!(served.get("/delegation/status").await.status, 200);
    }
    assert_eq!(served.get("/delegation/status").await.error().0, 429);
    assert_eq!(served.get("/healthz").await.status, 200);

    let metrics = served.get("/metrics").await.text;
    for line in [
        r#"svc_delegation_answers_total{endpoint="status",outcome="ok"}"#,
        r#"svc_delegation_answers_total{endpoint="grants",outcome="typed_data_malformed"}"#,
        r#"svc_delegation_answers_total{endpoint="limits",outcome="rate_limited"}"#,
    ] {
        assert!(metrics.contains(line), "{line}");
    }
}

#[tokio::test]
async fn wrong_methods_paths_and_sizes_are_refused() {
    let served = Served::new().await;
    for (method, path, status, allow) in [
        ("GET", "/delegation/grants", 405, "POST, OPTIONS"),
        ("DELETE", "/delegation/revocations", 405, "POST, OPTIONS"),
        ("POST", "/delegation/status", 405, "GET, HEAD, OPTIONS"),
        ("PUT", "/delegation/submissions", 405, "POST, OPTIONS"),
        ("OPTIONS", "/delegation/submissions", 204, "POST, OPTIONS"),
        ("OPTIONS", "/delegation/policy", 204, "GET, HEAD, OPTIONS"),
    ] {
        let answer = served.send(served.request(method, path)).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.headers["allow"], allow, "{method} {path}");
    }
    let head = served
        .send(served.request("HEAD", "/delegation/policy"))
        .await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    for path in [
        "/delegation/",
        "/delegation/grant",
        "/delegation/grants/0x00",
    ] {
        assert_eq!(
            served.get(path).await.error(),
            (404, "not_found".to_owned()),
            "{path}"
        );
    }
    let answer = served.get("/delegation/grants/0x12/0x34/log").await;
    assert_eq!(answer.error(), (400, "invalid_params".to_owned()));
    let paths: Vec<Value> = answer.json()["error"]["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["path"].clone())
        .collect();
    assert_eq!(paths, ["path.account", "path.grant_id"]);
    let word = "11".repeat(32);
    let log = format!(
        "/delegation/grants/0x{}/0x{word}/log?cursor=-1",
        "22".repeat(20)
    );
    assert_eq!(
        served.get(&log).await.error(),
        (400, "invalid_params".to_owned())
    );
    let large = " ".repeat(64 * 1024 + 1);
    let answer = served.post("/delegation/grants", large).await;
    assert_eq!(answer.error(), (413, "payload_too_large".to_owned()));
}
