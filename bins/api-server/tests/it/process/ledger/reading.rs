//! Tests of the commands that list, show, export and sum up payments, on a file and on a database,
//! and that decide payments while servers run.

use std::time::Duration;

use alloy_primitives::Address as Account;
use custody::{
    Owner, PostgresWalletRecords, SqliteWalletRecords, WalletRecord, WalletRecords as _,
};
use ledger::{AnyLedger, Filter, Spent, StoredReceipt};
use storage::postgres::{Address, Postgres, PostgresOptions};
use test_support::postgres::Schema;

use super::*;

const LEASE: Duration = Duration::from_secs(600);

/// Makes a desk on each store, with the address of the ledger and its database.
pub(super) fn desks() -> Vec<(Desk, String, Option<Schema>)> {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite://{}", folder.path().join("service.db").display());
    let mut desks = vec![(Desk::on(folder, &file), file, None)];
    if let Some(schema) = Schema::new() {
        let (desk, url) = desk_in(&schema);
        desks.push((desk, url, Some(schema)));
    }
    desks
}

fn desk_in(schema: &Schema) -> (Desk, String) {
    let url = schema.url().to_owned();
    (Desk::on(tempfile::tempdir().unwrap(), &url), url)
}

/// Opens the ledger at an address of either store.
pub(crate) async fn open(url: &str) -> AnyLedger {
    let database = Address::is_postgres(url)
        .then(|| Postgres::new(url.parse().unwrap(), PostgresOptions::default()).unwrap());
    AnyLedger::open(url, database.as_ref(), Options::default(), LEASE)
        .await
        .unwrap()
}

/// Leaves three payments: one undecidable, one settled a day later, one released.
async fn three(ledger: &AnyLedger) -> [i64; 3] {
    let undecidable = leave(ledger, 1).await;
    let mut entries = Vec::new();
    for nonce in [2, 3] {
        let mut claim = claim(nonce);
        claim.now = NOW + 86_400;
        claim.payment_id = Some(format!("order-{nonce}"));
        match ledger.reserve(claim).await.unwrap() {
            Reservation::Reserved(entry) => entries.push(entry),
            other => panic!("{other:?}"),
        }
    }
    let settlement = PendingSettlement {
        payment: payment(2),
        answer: PaidAnswer::new(200, Vec::new(), "{}".into()),
        private: false,
    };
    let now = NOW + 86_401;
    ledger
        .begin_settlement(entries[0], settlement, now)
        .await
        .unwrap();
    let receipt = StoredReceipt {
        header: "e30".to_owned(),
        transaction: B256::repeat_byte(0xd2).to_string(),
    };
    ledger
        .settle(entries[0], claim(2).key, receipt, now)
        .await
        .unwrap();
    let reason = "refused, \"too old\"";
    ledger
        .release(entries[1], reason, Spent::NOTHING, now)
        .await
        .unwrap();
    [undecidable, entries[0].number(), entries[1].number()]
}

/// The JSON objects of an output, one on each line.
pub(super) fn objects_in(text: &str) -> Vec<Value> {
    let object = |line: &str| serde_json::from_str(line).unwrap();
    text.lines().map(object).collect()
}

impl Desk {
    pub(super) fn lines(&self, arguments: &[&str]) -> Vec<String> {
        let (code, stdout, stderr) = self.run(arguments);
        assert_eq!(code, 0, "{arguments:?}: {stderr}");
        stdout.lines().map(str::to_owned).collect()
    }

    pub(super) fn objects(&self, arguments: &[&str]) -> Vec<Value> {
        objects_in(&self.lines(arguments).join("\n"))
    }

    fn entries(&self, arguments: &[&str]) -> Vec<i64> {
        let all = [&["list", "--json"], arguments].concat();
        let objects = self.objects(&all);
        objects
            .iter()
            .map(|object| object["entry"].as_i64().unwrap())
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_are_selected_and_listed() {
    for (desk, url, _schema) in desks() {
        let ledger = open(&url).await;
        let [undecidable, settled, released] = three(&ledger).await;
        ledger.close().await.unwrap();
        drop(ledger);

        let all = desk.objects(&["list", "--state", "all", "--json"]);
        assert_eq!(all.len(), 3);
        assert_eq!(
            all[1],
            serde_json::json!({
                "entry": settled,
                "payer": payment(2).key().payer.to_string(),
                "nonce": payment(2).key().nonce.to_string(),
                "asset": payment(2).key().asset.to_string(),
                "network": "eip155:196",
                "amount": "2000",
                "operation": "GET /price",
                "state": "settled",
                "transaction": B256::repeat_byte(0xd2).to_string(),
                "reserved_at": NOW + 86_400,
                "changed_at": NOW + 86_401,
                "valid_before": NOW + 300,
                "payment_id": "order-2",
                "cause": null,
                "retired": false,
            })
        );
        let later = (NOW + 86_400).to_string();
        let payer = payment(1).key().payer.to_string();
        let stranger = B256::repeat_byte(1).to_string()[..42].to_owned();
        for (arguments, expected) in [
            (&["--state", "settled"][..], &[settled][..]),
            (
                &["--state", "settled", "--state", "released"],
                &[settled, released],
            ),
            (&["--state", "all", "--since", &later], &[settled, released]),
            (
                &["--state", "all", "--until", "2026-09-22T00:00:00Z"],
                &[undecidable],
            ),
            (&["--state", "all", "--limit", "2"], &[undecidable, settled]),
            (&["--state", "all", "--payer", &stranger], &[]),
            // Without `--state`, the list has the payments that the operator must decide.
            (&["--payer", &payer], &[undecidable]),
            (&["--limit", "5"], &[undecidable]),
        ] {
            assert_eq!(desk.entries(arguments), expected, "{url} {arguments:?}");
        }
        let table = desk.lines(&["list", "--state", "settled"]);
        assert_eq!(table.len(), 2, "{table:#?}");
        assert!(table[0].trim_start().starts_with("entry  reserved"));
        assert!(table[1].contains("2026-09-22T14:13:20Z  settled "));
        assert!(table[1].ends_with(&B256::repeat_byte(0xd2).to_string()));
        assert_eq!(desk.entries(&[]), [undecidable]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_are_shown_exported_and_summed_up() {
    for (desk, url, _schema) in desks() {
        let ledger = open(&url).await;
        let [undecidable, settled, released] = three(&ledger).await;
        ledger.close().await.unwrap();
        drop(ledger);

        let number = settled.to_string();
        let shown = desk.lines(&["show", "--entry", &number]);
        assert!(shown.contains(&format!("entry         {settled}")));
        let time = format!("reserved_at   {} (2026-09-22T14:13:20Z)", NOW + 86_400);
        assert!(shown.contains(&time), "{shown:#?}");
        let shown = desk.objects(&["show", "--payment-id", "order-2", "--json"]);
        assert_eq!((shown.len(), &shown[0]["entry"]), (1, &settled.into()));

        let csv = desk.lines(&["export", "--format", "csv"]);
        let fields: Vec<&str> = csv[0].split(',').collect();
        assert_eq!((csv.len(), fields.len()), (4, 14));
        assert!(csv[1].starts_with(&format!("{undecidable},0x")));
        let released_line = format!("{released},0x");
        assert!(csv[3].starts_with(&released_line), "{csv:#?}");
        assert!(
            csv[3].ends_with(",\"refused, \"\"too old\"\"\""),
            "{csv:#?}"
        );
        let lines = desk.objects(&["export", "--format", "jsonl"]);
        let all = desk.objects(&["list", "--state", "all", "--json"]);
        assert_eq!(lines, all);

        let row = |group: &str, payments: u64, settled: u64, amount: &str| {
            serde_json::json!({
                "group": group, "payments": payments, "settled": settled, "settled_amount": amount,
            })
        };
        assert_eq!(
            desk.objects(&["stats", "--json"]),
            [row("all", 3, 1, "2000")]
        );
        let asset = payment(1).key().asset.to_string();
        for (by, expected) in [
            (
                "day",
                vec![
                    row("2026-09-21", 1, 0, "0"),
                    row("2026-09-22", 2, 1, "2000"),
                ],
            ),
            ("operation", vec![row("GET /price", 3, 1, "2000")]),
            ("asset", vec![row(&asset, 3, 1, "2000")]),
            (
                "state",
                vec![
                    row("released", 1, 0, "0"),
                    row("settled", 1, 1, "2000"),
                    row("undecidable", 1, 0, "0"),
                ],
            ),
        ] {
            assert_eq!(desk.objects(&["stats", "--by", by, "--json"]), expected);
        }
        let table = desk.lines(&["stats", "--by", "state"]);
        assert_eq!(table.len(), 4);
        let words: Vec<&str> = table[2].split_whitespace().collect();
        assert_eq!(words, ["settled", "1", "1", "2000"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_entries_are_named() {
    for (desk, url, _schema) in desks() {
        for arguments in [&["stats"][..], &["list", "--state", "all"]] {
            let (code, stdout, stderr) = desk.run(arguments);
            assert_eq!((code, &*stdout), (2, ""));
            let said = match url.starts_with("postgres://") {
                true => "storage.url: the database has no ledger",
                false => "storage.url: there is no ledger at",
            };
            assert!(stderr.contains(said), "{stderr}");
        }
        open(&url).await.close().await.unwrap();
        for (arguments, code, said) in [
            (
                &["show", "--entry", "7"][..],
                1,
                "the ledger has no entry 7",
            ),
            (
                &["show", "--payment-id", "x"],
                1,
                "the ledger has no payment with the identifier \"x\"",
            ),
            (
                &["resolve", "--entry", "7", "--released", "why"],
                1,
                "entry 7 is not undecidable",
            ),
            (&["list", "--since", "yesterday"], 2, "neither Unix seconds"),
            (&["list", "--state", "lost"], 2, "possible values: all,"),
            (&["show"], 2, "required arguments were not provided"),
            (&["export"], 2, "required arguments were not provided"),
        ] {
            let (observed, stdout, stderr) = desk.run(arguments);
            assert_eq!((observed, &*stdout), (code, ""), "{arguments:?}");
            assert!(stderr.contains(said), "{arguments:?}: {stderr}");
        }
        assert_eq!(desk.objects(&["stats", "--json"])[0]["payments"], 0);
    }
}

/// The command leaves the tables of an earlier program to the servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_another_version_are_left_alone() {
    let Some(schema) = Schema::new() else { return };
    let (desk, url) = desk_in(&schema);
    open(&url).await.close().await.unwrap();
    let postgres = schema.connect();
    let newer = "UPDATE schema_version SET version = 99 WHERE component = 'ledger'";
    postgres.query("change", newer, &[]).await.unwrap();
    let (code, _, stderr) = desk.run(&["stats"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("has schema 99"), "{stderr}");
    // The command also uses the tables of instances when it opens a ledger. It does not migrate
    // either.
    for component in ["ledger", "instance"] {
        let older = format!(
            "UPDATE schema_version SET version = CASE component WHEN '{component}' THEN 1 ELSE 2 END
             WHERE component IN ('ledger', 'instance')"
        );
        postgres.query("change", &older, &[]).await.unwrap();
        let (code, _, stderr) = desk.run(&["stats"]);
        assert_eq!(code, 2);
        let said = format!("the tables of `{component}` have version 1, this program needs 2");
        assert!(stderr.contains(&said), "{stderr}");
    }
}

/// A database that cannot be reached is no fault of the configuration.
#[test]
fn a_database_that_cannot_be_reached_has_the_exit_code_of_other_remote_systems() {
    let desk = Desk::on(
        tempfile::tempdir().unwrap(),
        "postgres://svc@127.0.0.1:1/none",
    );
    for arguments in [&["list"][..], &["reconcile"]] {
        let (code, stdout, stderr) = desk.run(arguments);
        assert_eq!((code, &*stdout), (1, ""), "{stderr}");
        assert!(stderr.contains("is not available"), "{stderr}");
    }
}

/// The command shows that an authorization can never be used again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retired_payment_is_shown_as_such() {
    for (desk, url, _schema) in desks() {
        let ledger = open(&url).await;
        let [.., released] = three(&ledger).await;
        assert_eq!(ledger.retire(EntryId::new(released), false).await, Ok(true));
        ledger.close().await.unwrap();
        drop(ledger);

        let number = released.to_string();
        let show = ["show", "--entry", &number];
        let shown = desk.lines(&show);
        assert!(
            shown.contains(&"retired       true".to_owned()),
            "{shown:#?}"
        );
        let shown = desk.objects(&[&show[..], &["--json"]].concat());
        assert_eq!(shown[0]["retired"], true);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgresql_a_payment_is_decided_while_its_server_runs() {
    let Some(schema) = Schema::new() else { return };
    let (desk, url) = desk_in(&schema);
    let server = open(&url).await;
    let (first, second) = (leave(&server, 1).await, leave(&server, 2).await);
    assert_eq!(desk.listed().len(), 2);
    let transaction = B256::repeat_byte(0xd1).to_string();
    let settled = ["--settled", &transaction];
    let number = first.to_string();
    let arguments = [&["resolve", "--entry", &number][..], &settled].concat();
    let said = desk.lines(&arguments);
    assert_eq!(said, [format!("entry {first} is settled by {transaction}")]);
    let number = second.to_string();
    desk.lines(&["resolve", "--entry", &number, "--released", "never used"]);
    assert!(desk.listed().is_empty());
    let (code, _, stderr) = desk.run(&arguments);
    assert_eq!(code, 1);
    assert!(stderr.contains("is not undecidable"), "{stderr}");
    // The running server gives the answer, and takes the other authorization never again.
    match server.reserve(claim(1)).await.unwrap() {
        Reservation::Known(PaymentStatus::Answered(stored)) => {
            assert_eq!(stored.receipt.transaction, transaction);
        }
        other => panic!("{other:?}"),
    }
    let retired = PaymentStatus::Retired {
        reason: "never used".to_owned(),
    };
    let again = server.reserve(claim(2)).await;
    assert_eq!(again, Ok(Reservation::Known(retired)));
    server.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_moves_from_a_file_into_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite://{}", folder.path().join("old.db").display());
    let import = ["import", "--from", &file];
    let (code, _, stderr) = Desk::new().run(&import);
    assert_eq!(code, 2);
    assert!(stderr.contains("not into a file"), "{stderr}");
    let Some(schema) = Schema::new() else { return };
    let (desk, url) = desk_in(&schema);
    let (code, _, stderr) = desk.run(&import);
    assert_eq!(code, 2);
    assert!(stderr.contains("--from: there is no ledger at"), "{stderr}");
    assert!(!folder.path().join("old.db").exists());

    let old = open(&file).await;
    three(&old).await;
    let (code, _, stderr) = desk.run(&import);
    assert_eq!(code, 2);
    assert!(stderr.contains("--from: the ledger "), "{stderr}");
    assert!(stderr.contains("in use by another server"), "{stderr}");
    let expected = old.entries(&Filter::default(), None, 10).await.unwrap();
    drop(old);
    // Beside it are the records of two wallets; one of them was being made.
    let of_wallets = SqliteWalletRecords::open(folder.path().join("old.custody.db")).unwrap();
    let owners = [1, 2].map(|byte| Owner::new(196, Account::repeat_byte(byte)));
    let wallet = Account::repeat_byte(9);
    of_wallets.finish(owners[0], wallet, 1).await.unwrap();
    of_wallets.begin(owners[1], 1).await.unwrap();
    drop(of_wallets);

    let said = desk.lines(&import);
    assert_eq!(said[1], "copied and compared: 2 owners of sub-wallets");
    let copied = PostgresWalletRecords::open(schema.connect()).await.unwrap();
    let made = Some(WalletRecord::Made(wallet));
    assert_eq!(copied.find(owners[0]).await.unwrap(), made);
    let making = Some(WalletRecord::Making);
    assert_eq!(copied.find(owners[1]).await.unwrap(), making);
    let start = "copied and compared: 3 entries (1 settled, 1 released, 1 undecidable), 2 answers, \
                 1 payers, digest 0x";
    assert!(said[0].starts_with(start), "{said:?}");
    let ledger = open(&url).await;
    let observed = ledger.entries(&Filter::default(), None, 10).await.unwrap();
    assert_eq!(observed, expected);
    let (code, stdout, stderr) = desk.run(&import);
    assert_eq!((code, &*stdout), (2, ""));
    assert!(stderr.contains("the ledger is not empty"), "{stderr}");
    ledger.close().await.unwrap();

    // A database that knows another wallet of an owner is not contradicted.
    let Some(schema) = Schema::new() else { return };
    let (desk, _) = desk_in(&schema);
    let contrary = PostgresWalletRecords::open(schema.connect()).await.unwrap();
    let other = Account::repeat_byte(7);
    contrary.finish(owners[0], other, 1).await.unwrap();
    let (code, stdout, stderr) = desk.run(&import);
    assert_eq!(code, 2, "{stderr}");
    assert!(stdout.starts_with(start), "{stdout}");
    assert!(stderr.contains("(wallet_address_differs)"), "{stderr}");
    assert!(stderr.contains("`wallets adopt`"), "{stderr}");
    let kept = contrary.find(owners[0]).await.unwrap();
    assert_eq!(kept, Some(WalletRecord::Made(other)));
}
