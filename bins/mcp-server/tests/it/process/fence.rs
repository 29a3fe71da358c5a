//! Tests of the status tool, against a paid API whose answers a test scripts.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use test_support::process::Server;
use test_support::{answer_http, eventually_blocking};

use crate::process::server::{Configured, post};

const DIGEST: &str = "0x609a8fda4ad5df10b28252f78de1a7dc8dd69788dd6da9dd7baacb8c76fc7da6";
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"svc_delegation_fence_status","arguments":{}}}"#;

/// Answers every request with a status and a body, and counts them.
struct Api {
    url: String,
    answer: Arc<Mutex<(u16, String, u32)>>,
}

impl Api {
    fn start() -> Self {
        let answer = Arc::new(Mutex::new((200, record(true).to_string(), 0)));
        let shared = Arc::clone(&answer);
        let url = answer_http(move |_| {
            let mut answer = shared.lock().unwrap();
            answer.2 += 1;
            (answer.0, answer.1.clone())
        });
        Self { url, answer }
    }

    fn set_answer(&self, status: u16, body: &Value) {
        let mut answer = self.answer.lock().unwrap();
        (answer.0, answer.1) = (status, body.to_string());
    }

    fn request_count(&self) -> u32 {
        self.answer.lock().unwrap().2
    }

    /// Starts a rail whose configuration pins the usual record.
    fn rail(&self) -> (Configured, Server, SocketAddr) {
        let configured = Configured::new(&format!(
            "server.listen = '127.0.0.1:0'\nserver.probe_hours = 0\n[delegation]\n\
             status_url = '{}/delegation/status'\npolicy_name = 'svc-base-swap-fence.v3'\n\
             policy_digest = '{DIGEST}'\nper_swap_cap_usd = 5000\nproject_id = 'shop'\n\
             policy = 'a-key-of-the-other-server.json'\n",
            self.url
        ));
        let rail = configured.serve();
        let address = rail.address();
        (configured, rail, address)
    }
}

fn record(present: bool) -> Value {
    json!({
        "present": present,
        "policy_name": "svc-base-swap-fence.v3",
        "per_swap_cap_usd": 5000,
        "project_id": "shop",
        "rules_digest": DIGEST,
    })
}

fn ask(rail: SocketAddr) -> Value {
    post(rail, CALL)["result"]["structuredContent"].clone()
}

/// Asks until the record has this value. A reading may be shared for a while, so this can take
/// several requests.
fn becomes(rail: SocketAddr, present: bool) {
    let said = || (ask(rail) == record(present)).then_some(());
    eventually_blocking(format_args!("presence: {present}"), said);
}

#[test]
fn the_fence_is_present_while_it_reads_back_as_the_pinned_one() {
    let api = Api::start();
    let (_configured, _rail, rail) = api.rail();
    assert_eq!(ask(rail), record(true));
    // Callers that ask at the same time share one reading.
    let callers: Vec<_> = (0..8).map(|_| thread::spawn(move || ask(rail))).collect();
    for caller in callers {
        assert_eq!(caller.join().unwrap(), record(true));
    }
    assert!(api.request_count() <= 2, "{}", api.request_count());

    let other = |edit: fn(&mut Value)| {
        let mut changed = record(true);
        edit(&mut changed);
        changed
    };
    // The record shows the pinned values, whatever the API answers.
    for (status, body) in [
        (
            200,
            other(|it| it["rules_digest"] = DIGEST.replace('6', "7").into()),
        ),
        (200, other(|it| it["user"] = "0x00".into())),
        (503, record(true)),
    ] {
        api.set_answer(status, &body);
        becomes(rail, false);
        api.set_answer(200, &record(true));
        becomes(rail, true);
    }
}

#[test]
fn a_fence_that_cannot_be_reached_is_not_present() {
    let mut api = Api::start();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    api.url = format!("http://{}", gone.unwrap());
    let (configured, rail, address) = api.rail();
    assert_eq!(ask(address), record(false));
    drop(rail);
    let checked = configured.run("check-config", &[]);
    let said = &checked.ok().stdout;
    assert!(
        said.contains("fence        svc-base-swap-fence.v3 0x609a"),
        "{said}"
    );
}

#[test]
fn without_the_section_the_record_is_empty() {
    let configured = Configured::new("server.listen = '127.0.0.1:0'\nserver.probe_hours = 0\n");
    let rail = configured.serve();
    let address = rail.address();
    let empty = json!({"present": false, "policy_name": "", "per_swap_cap_usd": 0, "project_id": "", "rules_digest": ""});
    assert_eq!(ask(address), empty);
}

#[test]
fn a_section_that_pins_nothing_is_refused_by_its_keys() {
    let configured =
        Configured::new("[delegation]\nstatus_url = 'api.example'\npolicy_digest = '0x00'\n");
    let refused = configured.run("check-config", &[]);
    let keys = [
        "delegation.status_url: expected an http:// or https:// URL",
        "delegation.policy_name: is missing",
        "delegation.project_id: is missing",
        "delegation.policy_digest: expected 0x and 64",
        "delegation.per_swap_cap_usd: expected",
    ];
    refused.error(2, &keys);
}
