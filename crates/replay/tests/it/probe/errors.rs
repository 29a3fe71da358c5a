//! Tests of the probe's words for the failures of an upstream: each failure has its own word.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use data_sources::{
    Clock, SourceConfig,
    anthropic::Anthropic,
    coingecko::Coingecko,
    gemini::Gemini,
    openai::Openai,
    perplexity::Perplexity,
    probe::{Probed, Row, State, exit_code, probe, table},
    transport::{Transport, TransportError},
};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use super::world::now;

async fn rows(url: String, change: impl FnOnce(&mut SourceConfig)) -> Vec<Row> {
    let mut config = SourceConfig {
        urls: BTreeMap::from([("base_url".to_owned(), url)]),
        api_key: Some("5ec2e7-of-the-operator".to_owned().into()),
        timeout: Some(Duration::from_millis(400)),
        ..SourceConfig::default()
    };
    change(&mut config);
    let clock: Arc<dyn Clock> = Arc::new(now());
    let adapter = Coingecko::new(&Transport::new().unwrap(), config, clock).unwrap();
    probe(&adapter, now(), &|_| vec!["/token-details"])
        .await
        .rows
}

async fn answering(response: ResponseTemplate, change: impl FnOnce(&mut SourceConfig)) -> Vec<Row> {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(response)
        .mount(&server)
        .await;
    rows(server.uri(), change).await
}

/// Returns the state of the first row, whether its source was reached and took the key, and the
/// exit code. Checks that the table names the state and does not contain the key.
fn first(rows: &[Row]) -> (State, Option<bool>, Option<bool>, u8) {
    let row = &rows[0];
    let text = table(rows);
    assert!(text.contains(row.state.as_str()), "{text}");
    assert!(!text.contains("5ec2e7"), "{text}");
    (row.state, row.reachable, row.authenticated, exit_code(rows))
}

fn status(status: u16) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_raw("{}", "application/json")
}

#[tokio::test]
async fn each_failure_has_its_own_word() {
    let same = |_: &mut SourceConfig| {};
    let keyless = |config: &mut SourceConfig| config.api_key = None;
    for code in [401, 403] {
        let rows = answering(status(code), same).await;
        assert_eq!(
            first(&rows),
            (State::KeyRefused, Some(true), Some(false), 2)
        );
        let rows = answering(status(code), keyless).await;
        assert_eq!(first(&rows), (State::AccessRefused, Some(true), None, 2));
    }
    let rows = answering(status(402), same).await;
    assert_eq!(
        first(&rows),
        (State::PaymentRequired, Some(true), Some(true), 2)
    );
    let rows = answering(status(429).insert_header("retry-after", "7"), same).await;
    assert_eq!(
        first(&rows),
        (State::RateLimited, Some(true), Some(true), 1)
    );
    assert_eq!(
        rows[0].detail.as_deref(),
        Some("rate limited, retry in 7 s")
    );
    assert_eq!(
        rows[1].state,
        State::NotAsked,
        "no question is sent in the pause"
    );
    let rows = answering(status(404), same).await;
    assert_eq!(first(&rows), (State::HttpStatus, Some(true), Some(true), 1));
    let slow = status(200).set_delay(Duration::from_secs(3));
    let rows = answering(slow, same).await;
    assert_eq!(first(&rows), (State::TimedOut, Some(false), None, 1));
    let rows = answering(
        ResponseTemplate::new(200).set_body_raw("<p>", "text/html"),
        same,
    )
    .await;
    assert_eq!(first(&rows), (State::Malformed, Some(true), Some(true), 2));
    assert_eq!(rows[0].parsed, Some(false));
    let rows = rows_of_a_closed_port().await;
    assert_eq!(first(&rows), (State::Unreachable, Some(false), None, 1));
}

async fn rows_of_a_closed_port() -> Vec<Row> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    rows(format!("http://127.0.0.1:{port}"), |_| {}).await
}

#[tokio::test]
async fn a_probe_without_any_enabled_source_says_so() {
    let rows = rows("http://127.0.0.1:1".to_owned(), |config| {
        config.enabled = false
    })
    .await;
    assert_eq!(first(&rows), (State::Disabled, None, None, 2));
    assert!(table(&rows).ends_with("no upstream is switched on"));
}

#[tokio::test]
async fn a_spent_quota_sends_no_request() {
    let server = MockServer::start().await;
    let quota = |config: &mut SourceConfig| config.monthly_quota = Some(1);
    let rows = rows(server.uri(), quota).await;
    let asked = server.received_requests().await.unwrap().len();
    assert!(asked <= 1, "{asked}");
    assert!(
        rows.iter().any(|row| row.state == State::NotAsked),
        "{rows:?}"
    );
}

type New<T> = fn(&Transport, SourceConfig, Arc<dyn Clock>) -> Result<T, TransportError>;

/// Probes a model whose upstream gives the same answer to every request. Returns the rows and the
/// requested addresses.
async fn model<T: Probed>(new: New<T>, response: ResponseTemplate) -> (Vec<Row>, Vec<String>) {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(response)
        .mount(&server)
        .await;
    let config = SourceConfig {
        urls: BTreeMap::from([("base_url".to_owned(), server.uri())]),
        api_key: Some("5ec2e7-of-the-operator".to_owned().into()),
        ..SourceConfig::default()
    };
    let adapter = new(&Transport::new().unwrap(), config, Arc::new(now())).unwrap();
    let rows = probe(&adapter, now(), &|_| Vec::new()).await.rows;
    let asked = server.received_requests().await.unwrap();
    let paths = asked
        .iter()
        .map(|request| format!("{} {}", request.method, request.url.path()));
    (rows, paths.collect())
}

/// A request for the list of models is free. It shows a wrong key before anything is paid.
#[tokio::test]
async fn a_wrong_key_of_a_model_is_found_without_a_paid_request() {
    let recorded = |file: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/upstreams");
        std::fs::read_to_string(format!("{folder}/{file}")).unwrap()
    };
    let wrong = ResponseTemplate::new(400)
        .set_body_raw(recorded("gemini/models_wrong_key.json"), "application/json");
    for (name, source, path, (rows, asked)) in [
        (
            "openai",
            "openai.models",
            "/v1/models",
            model(Openai::new, status(401)).await,
        ),
        (
            "anthropic",
            "anthropic.models",
            "/v1/models",
            model(Anthropic::new, status(401)).await,
        ),
        (
            "gemini",
            "gemini.models",
            "/v1beta/models",
            model(Gemini::new, status(403)).await,
        ),
        (
            "gemini",
            "gemini.models",
            "/v1beta/models",
            model(Gemini::new, wrong).await,
        ),
    ] {
        assert_eq!(asked, [format!("GET {path}")], "{name}");
        let of_models: Vec<_> = rows.iter().filter(|row| row.source == source).collect();
        assert_eq!(of_models.len(), 1, "{name}");
        assert_eq!(of_models[0].state, State::KeyRefused, "{name}: {rows:?}");
        assert_eq!(of_models[0].authenticated, Some(false), "{name}");
        assert_eq!(exit_code(&rows), 2, "{name}");
        // The probe makes no paid request, and lists these sources as not asked.
        let unasked = rows.iter().filter(|row| row.state == State::NotAsked);
        assert_eq!(unasked.count(), rows.len() - 1, "{name}: {rows:?}");
        assert!(!table(&rows).contains("5ec2e7"), "{name}");
    }
    let answer = recorded("openai/models.json");
    let right = ResponseTemplate::new(200).set_body_raw(answer, "application/json");
    let (rows, _) = model(Openai::new, right).await;
    assert_eq!(
        (rows[0].state, rows[0].authenticated),
        (State::Ok, Some(true))
    );
    // This provider has no free list of models, so the probe asks nothing.
    let (rows, asked) = model(Perplexity::new, status(401)).await;
    assert!(asked.is_empty());
    assert!(
        rows.iter().all(|row| row.state == State::NotAsked),
        "{rows:?}"
    );
}
