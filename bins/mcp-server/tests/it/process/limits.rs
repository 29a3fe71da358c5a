//! Tests of the remaining limits of upstreams: they outlive a restart, and operators can see them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;

use calldata_checks::Rail;
use serde_json::{Value, json};
use test_support::process::Server;
use test_support::{answer_http, wait};

use crate::process::rails::stage::Venues;
use crate::process::server::{Configured, before_listening, get, get_text};
use crate::process::shares::{ask, begin};

/// A server with a file for the used limits, over recorded venues that it treats as live.
struct Stage {
    configured: Configured,
    _venues: Venues,
}

impl Stage {
    fn new(lines: &str) -> Self {
        let venues = Venues::open();
        let configured = Configured::new(&format!("{lines}{}", venues.taken_for_live()));
        Self {
            configured,
            _venues: venues,
        }
    }

    fn kept(lines: &str) -> (Self, PathBuf) {
        // The server makes the folder of the file, beside the configuration.
        let folder = tempfile::tempdir().unwrap().keep();
        let file = folder.join("data/rail.db");
        let url = format!("storage.url = 'sqlite://{}'\n", file.display());
        (Self::new(&format!("{url}{lines}")), file)
    }

    fn start(&self) -> (Server, SocketAddr) {
        let server = self.configured.serve();
        let address = server.address();
        (server, address)
    }
}

fn upstream(address: SocketAddr, id: &str) -> Value {
    let status = get(address, "/status");
    let upstreams = status["upstreams"].as_array().unwrap();
    upstreams
        .iter()
        .find(|seen| seen["id"] == id)
        .unwrap()
        .clone()
}

/// The quotas of the tests. The store counts in slices of a thousandth, so quotas below 2,000 calls
/// are exact.
const QUOTAS: &str = "upstreams.lifi.monthly_quota = 1500\n\
    upstreams.circle.monthly_quota = 1500\n\
    upstreams.polymarket.monthly_quota = 1500\n\
    upstreams.hyperliquid.monthly_quota = 1500\n";

#[test]
fn budgets_and_quotas_continue_from_the_last_server() {
    let (stage, file) = Stage::kept(QUOTAS);
    let (server, address) = stage.start();
    let before = before_listening(&server);
    let says = format!("kept in {}", file.display());
    assert!(before.iter().any(|line| line.contains(&says)), "{before:?}");
    for rail in Rail::ALL {
        assert_eq!(ask(address, rail, "192.0.2.1"), None, "{rail:?}");
    }
    let seen = [
        "lifi.quote",
        "circle.fees",
        "polymarket.gamma",
        "hyperliquid.meta",
    ];
    let quotas = |address| seen.map(|id| upstream(address, id)["quota_left"].as_u64().unwrap());
    let left = quotas(address);
    assert_eq!((left[0], left[2]), (1_499, 1_500 - 7), "{left:?}");
    assert!(left.iter().all(|left| *left < 1_500), "{left:?}");
    let long = ["lifi.quote", "hyperliquid.meta"];
    let budgets = |address| long.map(|id| upstream(address, id)["budget_left"].as_u64().unwrap());
    let weight = budgets(address);
    assert_eq!(weight[0], 69);
    assert!(weight[1] < 1_100, "{weight:?}");
    wait(server.stop());

    let (server, address) = stage.start();
    assert_eq!(quotas(address), left);
    // A slice of Hyperliquid's minute, and a second of its use, may have passed.
    let again = budgets(address);
    assert_eq!(again[0], 69);
    assert!(again[1] < 1_100, "{again:?}");
    wait(server.stop());

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
    std::fs::remove_dir_all(file.parent().unwrap().parent().unwrap()).unwrap();
}

#[test]
fn without_a_file_everything_begins_anew_and_the_log_says_so() {
    let stage = Stage::new(QUOTAS);
    let (server, address) = stage.start();
    let before = before_listening(&server);
    assert_eq!(before.len(), 1, "{before:?}");
    assert!(before[0].contains("in memory"), "{before:?}");
    assert!(before[0].contains("storage.url"), "{before:?}");
    assert_eq!(ask(address, Rail::Swap, "192.0.2.1"), None);
    let left = |address| {
        let seen = upstream(address, "lifi.quote");
        (seen["budget_left"].clone(), seen["quota_left"].clone())
    };
    assert_eq!(left(address), (json!(69), json!(1_499)));
    wait(server.stop());
    let (server, address) = stage.start();
    assert_eq!(left(address), (json!(70), json!(1_500)));
    wait(server.stop());
}

/// The quota is one call a month. Its pace allows that call at once. The next call is due in the
/// next month, for any caller and after any restart.
#[test]
fn a_quota_that_is_spent_refuses_over_a_restart_with_the_time_of_the_next_call() {
    let (stage, file) = Stage::kept("upstreams.lifi.monthly_quota = 1\n");
    let (server, address) = stage.start();
    assert_eq!(ask(address, Rail::Swap, "192.0.2.1"), None);
    let refused = ask(address, Rail::Swap, "192.0.2.1").unwrap();
    assert_eq!(refused["check"], "rate_limited", "{refused}");
    assert!(refused["retry_after"].as_u64().unwrap() > 0);
    wait(server.stop());
    let (server, address) = stage.start();
    let refused = ask(address, Rail::Swap, "192.0.2.1").unwrap();
    assert_eq!(refused["check"], "rate_limited", "{refused}");
    assert_eq!(upstream(address, "lifi.quote")["calls"], 0);
    // Other upstreams are not affected.
    assert_eq!(ask(address, Rail::Bridge, "192.0.2.1"), None);
    wait(server.stop());
    std::fs::remove_dir_all(file.parent().unwrap().parent().unwrap()).unwrap();
}

/// The pool covers six requests and the share of each address three. Nothing is refilled during a
/// test.
const SCARCE: &str = "server.client_address_header = 'x-forwarded-for'\n\
    plans.shares.swap = { pool = 6, pool_per_hour = 1, address = 3, address_per_hour = 1 }\n";

#[test]
fn a_used_share_stays_used_after_a_restart() {
    let (stage, file) = Stage::kept(SCARCE);
    let (server, address) = stage.start();
    let (greedy, modest) = ("192.0.2.1", "2001:db8:0:1::9");
    while ask(address, Rail::Swap, greedy).is_none() {}
    wait(server.stop());
    let (server, address) = stage.start();
    let refused = ask(address, Rail::Swap, greedy).unwrap();
    assert_eq!(refused["check"], "rate_limited", "{refused}");
    assert_eq!(upstream(address, "lifi.quote")["calls"], 0);
    // The pool is still empty, and a share that nobody used is full.
    assert_eq!(ask(address, Rail::Swap, modest), None);
    assert!(ask(address, Rail::Swap, modest).is_some());
    wait(server.stop());
    let (server, address) = stage.start();
    assert!(ask(address, Rail::Swap, modest).is_some());
    wait(server.stop());
    std::fs::remove_dir_all(file.parent().unwrap().parent().unwrap()).unwrap();
}

/// The server writes the use of a share into the file before the first request of a call, so
/// callers get no new share when it is killed. Here it is killed before the venue has answered.
#[test]
fn a_used_share_stays_used_after_a_kill() {
    let (asked, venue_is_asked) = mpsc::channel();
    let venue = answer_http(move |_| {
        let _ = asked.send(());
        loop {
            std::thread::park();
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let configured = Configured::new(&format!(
        "storage.url = 'sqlite://{}'\n\
         server.listen = '127.0.0.1:0'\n\
         server.client_address_header = 'x-forwarded-for'\n\
         plans.shares.swap = {{ pool = 3, pool_per_hour = 1, address = 3, address_per_hour = 1 }}\n\
         upstreams.lifi.base_url = '{venue}'\n",
        folder.path().join("rail.db").display()
    ));
    let (server, greedy) = (configured.serve(), "192.0.2.1");
    // The first call takes the pool, the second one the share of the address.
    let calls = [greedy, greedy].map(|client| {
        let call = begin(server.address(), Rail::Swap, client);
        venue_is_asked.recv().unwrap();
        call
    });
    server.killer().kill();
    drop((server, calls));

    let server = configured.serve();
    let refused = ask(server.address(), Rail::Swap, greedy).unwrap();
    assert_eq!(refused["check"], "rate_limited", "{refused}");
    assert_eq!(upstream(server.address(), "lifi.quote")["calls"], 0);
    // The share of another address is unused.
    let _call = begin(server.address(), Rail::Swap, "192.0.2.2");
    venue_is_asked.recv().unwrap();
    server.killer().kill();
}

#[test]
fn a_second_server_on_the_file_is_refused_by_its_key() {
    let (stage, file) = Stage::kept("");
    let (server, _) = stage.start();
    let says = ["storage.url: the database ", "in use by another server"];
    stage.configured.run("serve", &[]).error(2, &says);
    wait(server.stop());
    std::fs::remove_dir_all(file.parent().unwrap().parent().unwrap()).unwrap();
}

#[test]
fn remaining_limits_are_in_the_metrics() {
    let stage = Stage::new(QUOTAS);
    let (server, address) = stage.start();
    for rail in Rail::ALL {
        assert_eq!(ask(address, rail, "192.0.2.1"), None, "{rail:?}");
    }
    let metrics = get_text(address, "/metrics");
    for line in [
        "svc_upstream_budget_left{family=\"lifi\"} 69",
        "svc_upstream_budget_limit{family=\"lifi\"} 70",
        "svc_upstream_budget_limit{family=\"circle\"} 30",
        "svc_upstream_budget_limit{family=\"polymarket.clob_url\"} 200",
        "svc_upstream_budget_limit{family=\"hyperliquid\"} 1100",
        "svc_upstream_quota_left{upstream=\"lifi\"} 1499",
        "svc_upstream_quota_left{upstream=\"polymarket\"} 1493",
        "svc_upstream_quota_limit{upstream=\"hyperliquid\"} 1500",
        "svc_upstream_state{upstream=\"lifi.quote\",state=\"ok\"} 1",
        "svc_upstream_state{upstream=\"lifi.quote\",state=\"payment_required\"} 0",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line}: {metrics}"
        );
    }
    let quote = upstream(address, "lifi.quote");
    assert_eq!(
        (&quote["budget_left"], &quote["budget_limit"]),
        (&json!(69), &json!(70))
    );
    assert_eq!(quote["window_seconds"], 7_200);
    assert_eq!(quote["quota_left"], 1_499);
    let resets = quote["quota_resets_at"].as_str().unwrap();
    assert!(resets.ends_with("-01T00:00:00Z"), "{resets}");
    wait(server.stop());
}

#[test]
fn an_upstream_that_wants_to_be_paid_is_a_state_of_its_own() {
    let venue = answer_http(|_| (402, "{}".to_owned()));
    let configured = Configured::new(&format!(
        "server.listen = '127.0.0.1:0'\nupstreams.lifi.base_url = '{venue}'\n"
    ));
    let server = configured.serve();
    let address = server.address();
    let refused = ask(address, Rail::Swap, "192.0.2.1").unwrap();
    assert_eq!(refused["check"], "quote_unavailable", "{refused}");
    let quote = upstream(address, "lifi.quote");
    assert_eq!(quote["state"], "payment_required", "{quote}");
    assert_eq!(quote["calls"], 1);
    let metrics = get_text(address, "/metrics");
    for (state, value) in [("payment_required", 1), ("unavailable", 0), ("ok", 0)] {
        let line =
            format!("svc_upstream_state{{upstream=\"lifi.quote\",state=\"{state}\"}} {value}");
        assert!(
            metrics.lines().any(|found| found == line),
            "{line}: {metrics}"
        );
    }
    // The server does not use this venue, and shows operators the reason; the other venues serve.
    assert!(ask(address, Rail::Swap, "192.0.2.1").is_some());
    assert_eq!(upstream(address, "lifi.quote")["calls"], 1);
    assert_eq!(get(address, "/readyz")["ready"], true);
    let reasons = get(address, "/readyz")["reasons"].clone();
    assert_eq!(reasons[0]["component"], "lifi.quote", "{reasons}");
    wait(server.stop());

    // Without another venue no plan can be made, although the sources of prices are well.
    let configured = Configured::new(&format!(
        "server.listen = '127.0.0.1:0'\nupstreams.lifi.base_url = '{venue}'\n\
         upstreams.circle.enabled = false\nupstreams.polymarket.enabled = false\n\
         upstreams.hyperliquid.enabled = false\n"
    ));
    let server = configured.serve();
    let address = server.address();
    assert_eq!(get(address, "/readyz")["ready"], true);
    assert!(ask(address, Rail::Swap, "192.0.2.1").is_some());
    assert_eq!(upstream(address, "defillama.coins")["state"], "ok");
    assert_eq!(get(address, "/readyz")["ready"], false);
    wait(server.stop());
}
