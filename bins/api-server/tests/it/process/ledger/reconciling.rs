//! Tests of `api-server ledger reconcile`, which tries to decide payments with an unknown outcome
//! at once.

use std::time::{SystemTime, UNIX_EPOCH};

use dev_chain::Mining;
use test_support::postgres::Schema;

use crate::process::buyer::Buyer;
use crate::process::eventually;
use crate::process::server::start_server;
use crate::process::tripwire::{At, Moment};
use crate::process::world::{PRICED, World};

use super::reading::{desks, objects_in};
use super::*;

/// The end of a window that is over, and the end of a window that is open.
const OVER: u64 = 300;
const OPEN: u64 = 4_000_000_000;

/// Entry, state before, state now, and whether a running server holds it.
type Row = (i64, String, String, bool);

fn rows(objects: &[Value]) -> Vec<Row> {
    let row = |object: &Value| {
        let text = |name: &str| object[name].as_str().unwrap().to_owned();
        (
            object["entry"].as_i64().unwrap(),
            text("state_before"),
            text("state"),
            object["held"].as_bool().unwrap(),
        )
    };
    objects.iter().map(row).collect()
}

fn row(entry: EntryId, before: &str, now: &str, held: bool) -> Row {
    (entry.number(), before.to_owned(), now.to_owned(), held)
}

/// The facilitator of a desk cannot be reached, so it decides no payment. When the window of a
/// payment has ended, the operator must decide it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_and_open_payments_are_reconciled() {
    for (desk, url, _schema) in desks() {
        let ledger = open(&url).await;
        let over = leave_unknown(&ledger, payment_until(1, OVER), NOW).await;
        let usable = leave_unknown(&ledger, payment_until(2, OPEN), NOW).await;
        let settling = leave_settling(&ledger, payment_until(3, OVER), NOW).await;
        let Reservation::Reserved(reserved) = ledger.reserve(claim(4)).await.unwrap() else {
            panic!("known");
        };
        let reconcile = ["reconcile", "--json"];

        // The command leaves out the payments of a running server.
        let (code, stdout, stderr) = desk.run(&reconcile);
        if url.starts_with("sqlite://") {
            assert_eq!((code, &*stdout), (2, ""), "{stderr}");
            assert!(stderr.contains("in use by another server"), "{stderr}");
        } else {
            assert_eq!(code, 0, "{stderr}");
            assert_eq!(
                rows(&objects_in(&stdout)),
                [
                    row(over, "unknown", "unknown", true),
                    row(usable, "unknown", "unknown", true),
                ]
            );
            let (_, table, _) = desk.run(&["reconcile"]);
            assert!(table.contains("  unknown    unknown, held "), "{table}");
        }
        ledger.close().await.unwrap();
        drop(ledger);

        let objects = desk.objects(&reconcile);
        assert_eq!(
            rows(&objects),
            [
                row(over, "unknown", "undecidable", false),
                row(usable, "unknown", "unknown", false),
                row(settling, "settling", "undecidable", false),
                row(reserved, "reserved", "released", false),
            ],
            "{url}"
        );
        let key = payment(1).key();
        for (name, expected) in [
            ("payer", key.payer.to_string()),
            ("nonce", key.nonce.to_string()),
            ("asset", key.asset.to_string()),
            ("amount", "2000".to_owned()),
            ("operation", "GET /price".to_owned()),
        ] {
            assert_eq!(objects[0][name], expected, "{name}");
        }
        assert_eq!(objects[0]["reserved_at"], NOW);
        assert!(objects[0]["transaction"].is_null());

        // The log says why the other payment stays unknown. The next server may look at it.
        let (code, table, stderr) = desk.run(&["reconcile"]);
        assert_eq!(code, 0);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 2, "{table}");
        assert!(
            lines[0].trim_start().starts_with("entry  before"),
            "{table}"
        );
        assert!(lines[1].contains("  unknown    unknown        "), "{table}");
        assert!(stderr.contains("payment still undecided"), "{stderr}");
        let ledger = open(&url).await;
        let page = ledger.undecided(None, 10).await.unwrap();
        assert_eq!(page.len(), 1);
        assert_eq!(page[0].entry, usable);
        ledger.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_ledger_has_nothing_to_look_at() {
    for (desk, url, _schema) in desks() {
        open(&url).await.close().await.unwrap();
        let said = desk.lines(&["reconcile"]);
        assert_eq!(said, ["no payment is unknown or left open"]);
        assert!(desk.lines(&["reconcile", "--json"]).is_empty());
    }
}

/// The stores to test: a file, and a database if one is available.
fn stores() -> impl Iterator<Item = Option<Schema>> {
    std::iter::once(None).chain(Schema::new().map(Some))
}

/// Kills a server at this moment of this request. Asserts that the command then decides the payment
/// as settled, and that the payer gets the bought answer.
async fn decide(world: &World, request: &'static str, moment: Moment) {
    let config = world.config("storage.lease_seconds = 3\n");
    let server = start_server(&config, &[]).await;
    let payment = world.buyer.sign(&server, PRICED[0], 0).await;
    let at = At::Name(request);
    world.wire.arm(at, moment, server.killer());
    let url = server.url(&payment.target);
    let answer = world.buyer.try_get(&url, Some(&payment.header)).await;
    assert!(answer.is_none(), "{answer:?}");

    let arguments = ["ledger", "reconcile", "--json", "--config"];
    let config_path = config.to_str().unwrap();
    let decided = eventually("the lease of the dead server is over", async || {
        let output = run(&[&arguments[..], &[config_path]].concat(), &[]);
        let (stdout, stderr) = (output.stdout, output.stderr);
        assert_eq!(output.code, 0, "{stderr}");
        assert!(!format!("{stdout}{stderr}").contains(&payment.signature));
        objects_in(&stdout).into_iter().next()
    })
    .await;
    assert_eq!(decided["state_before"], "settling", "{decided}");
    assert_eq!(decided["state"], "settled", "{decided}");
    assert_eq!(decided["nonce"], payment.nonce.to_string());
    let transaction = world.settled_by(payment.nonce);
    assert_eq!(decided["transaction"].as_str(), transaction.as_deref());

    // The payer gets the bought answer.
    let server = start_server(&config, &[]).await;
    let answer = world.buyer.present(&server, &payment).await;
    world.assert_paid(&payment, &answer);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_chain_decides_a_dead_servers_payment() {
    for schema in stores() {
        let mut world = World::behind_a_facilitator().await;
        world.database = schema.as_ref().map(|schema| schema.url().to_owned());
        // The facilitator has settled the payment, or has not been asked yet.
        for moment in [Moment::After, Moment::Before] {
            decide(&world, "facilitator/settle", moment).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_chain_decides_an_own_transaction() {
    for schema in stores() {
        let mut world = World::new(Mining::Auto).await;
        world.database = schema.as_ref().map(|schema| schema.url().to_owned());
        decide(&world, "eth_sendRawTransaction", Moment::After).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_age_of_the_oldest_unknown_payment_is_a_metric() {
    let now = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        since.as_secs()
    };
    for (desk, url, _schema) in desks() {
        let ledger = open(&url).await;
        let (since, later) = (now() - 500, now() - 100);
        leave_unknown(&ledger, payment_until(1, OPEN), later).await;
        leave_unknown(&ledger, payment_until(2, OPEN), since).await;
        ledger.close().await.unwrap();
        drop(ledger);
        let environment = [
            ("SVC__SERVER__LISTEN", "127.0.0.1:0"),
            ("SVC__DATASETS__NEWS", "false"),
            ("SVC__DATASETS__YIELDS", "false"),
        ];
        let server = start_server(&desk.folder.path().join("api.toml"), &environment).await;
        let metrics = Buyer::new().get(&server, "/metrics").await.text;
        let value = |series: &str| {
            let mut lines = metrics.lines();
            let value = lines.find_map(|line| line.strip_prefix(series));
            value.unwrap().parse::<u64>().unwrap()
        };
        assert_eq!(value("svc_payments_open{state=\"unknown\"} "), 2, "{url}");
        let age = value("svc_payments_oldest_unknown_seconds ");
        assert!((500..=now() - since).contains(&age), "{age}");
        server.stop().await;
    }
}
