//! Tests of the probe that a server runs in the background.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use data_sources::{
    Clock, SourceConfig,
    coingecko::Coingecko,
    probe::{Board, Probed, State, probe},
    transport::Transport,
};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use super::world::now;

const HOUR: Duration = Duration::from_secs(60 * 60);

fn adapter(url: String, change: impl FnOnce(&mut SourceConfig)) -> Coingecko {
    let mut config = SourceConfig {
        urls: BTreeMap::from([("base_url".to_owned(), url)]),
        ..SourceConfig::default()
    };
    change(&mut config);
    let clock: Arc<dyn Clock> = Arc::new(now());
    Coingecko::new(&Transport::new().unwrap(), config, clock).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_server_probes_soon_after_its_start_and_once_in_the_period() {
    // A disabled adapter opens no connection, so nothing waits for the network while the test's
    // clock is paused.
    let adapter = adapter("http://127.0.0.1:1".to_owned(), |config| {
        config.enabled = false
    });
    let adapters: [&dyn Probed; 1] = [&adapter];
    let (board, looks) = (Board::default(), AtomicUsize::new(0));
    let clock = || {
        looks.fetch_add(1, Ordering::Relaxed);
        now()
    };
    let serves = |_: &str| Vec::new();
    let looks_after = async |duration: Duration| {
        let keeping = board.keep(&adapters, 24 * HOUR, clock, &serves);
        let before = looks.load(Ordering::Relaxed);
        let ended = tokio::time::timeout(duration, keeping).await;
        assert!(ended.is_err(), "it goes on for ever");
        looks.load(Ordering::Relaxed) - before
    };
    assert_eq!(looks_after(Duration::from_secs(299)).await, 0);
    assert!(board.document().is_empty());
    assert_eq!(looks_after(HOUR).await, 1);
    assert_eq!(looks_after(22 * HOUR).await, 1);
    assert_eq!(looks_after(27 * HOUR).await, 2);
    let rows = board.document();
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(row["state"], "disabled", "{row}");
        assert_eq!(row["probed_at"].as_str().unwrap().len(), 20, "{row}");
    }
}

#[tokio::test]
async fn a_background_probe_leaves_the_rest_of_a_quota_to_paying_callers() {
    let server = MockServer::start().await;
    let empty = ResponseTemplate::new(404).set_body_raw("{}", "application/json");
    Mock::given(any()).respond_with(empty).mount(&server).await;
    let asked = async || server.received_requests().await.unwrap().len();
    let adapter = adapter(server.uri(), |config| config.daily_quota = Some(1));
    let spent = probe(&adapter, now(), &|_| Vec::new()).await;
    assert_eq!((asked().await, spent.results.is_empty()), (1, false));
    let board = Board::default();
    board.look(&adapter, now(), &|_| Vec::new()).await;
    assert_eq!(asked().await, 1);
    let rows = board.rows();
    assert!(!rows.is_empty());
    for (_, row) in rows {
        assert_eq!(row.state, State::NotAsked);
        assert!(row.detail.unwrap().contains("paying callers"));
    }
}
