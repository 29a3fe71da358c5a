//! Tests of `api-server ledger`: payments that only the operator can decide.

mod reading;
mod reconciling;
mod secrecy;

pub(crate) use reading::open;

use std::path::{Path, PathBuf};

use alloy_primitives::{B256, U256};
use ledger::{
    Claim, EntryId, Journal, Options, PaidAnswer, PaymentStatus, PendingSettlement, Purchase,
    RequestBinding, Reservation, SqliteLedger,
};
use serde_json::Value;
use tempfile::TempDir;
use test_support::process::Ended;
use x402_wire::{Payment, SettlementResponse};

use crate::process::config::PAYEE;
use crate::process::server::run;

const NOW: u64 = 1_790_000_000;
const SIGNATURE: &str = "0x5ec2e7d00dfeed5ec2e7";

/// A folder with a configuration, and a ledger with undecidable payments.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("service.db").display());
        Self::on(folder, &url)
    }

    fn on(folder: TempDir, url: &str) -> Self {
        let file = format!(
            "{PAYEE}settlement.facilitator_url = 'http://127.0.0.1:9'\nstorage.url = '{url}'\n"
        );
        std::fs::write(folder.path().join("api.toml"), file).unwrap();
        Self { folder }
    }

    fn ledger(&self) -> SqliteLedger {
        let path: PathBuf = self.folder.path().join("service.db");
        SqliteLedger::open(path.to_str().unwrap(), Options::default()).unwrap()
    }

    /// Runs the command. Returns its exit code, standard output and standard error.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let config = self.folder.path().join("api.toml");
        let config = ["--config", config.to_str().unwrap()];
        let arguments = [&["ledger"], arguments, &config].concat();
        let Ended {
            code,
            stdout,
            stderr,
        } = run(&arguments, &[]);
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(
            !format!("{stdout}{stderr}").contains(SIGNATURE),
            "a signature may still be usable: {stdout}{stderr}"
        );
        (code, stdout, stderr)
    }

    fn listed(&self) -> Vec<Value> {
        self.objects(&["list", "--json"])
    }
}

fn payment(nonce: u64) -> Payment {
    payment_until(nonce, NOW + 300)
}

fn payment_until(nonce: u64, valid_before: u64) -> Payment {
    let requirements = r#"{"scheme":"exact","network":"eip155:196","amount":"2000","asset":"0x779Ded0c9e1022225f8E0630b35a9b54bE713736","payTo":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed","maxTimeoutSeconds":300,"extra":{"name":"USD₮0","version":"1"}}"#;
    let nonce = B256::from(U256::from(nonce));
    let payload = format!(
        r#"{{"x402Version":2,"accepted":{requirements},"payload":{{"signature":"{SIGNATURE}","authorization":{{"from":"0x00000000000000000000000000000000000000bb","to":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed","value":"2000","validAfter":"0","validBefore":"{valid_before}","nonce":"{nonce}"}}}}}}"#
    );
    Payment::restore(payload.as_bytes(), requirements.as_bytes()).unwrap()
}

fn claim(nonce: u64) -> Claim {
    Claim {
        key: payment(nonce).key(),
        request: RequestBinding::new("GET", "/price", Some("token=x"), b""),
        payment_id: None,
        amount: U256::from(2_000),
        valid_before: NOW + 300,
        purchase: Purchase::Unproven,
        now: NOW,
    }
}

/// Leaves a payment in the ledger that has been settling since `now`.
async fn leave_settling(ledger: &impl Journal, payment: Payment, now: u64) -> EntryId {
    let claim = Claim {
        key: payment.key(),
        now,
        ..claim(0)
    };
    let Reservation::Reserved(entry) = ledger.reserve(claim).await.unwrap() else {
        panic!("known");
    };
    let settlement = PendingSettlement {
        payment,
        answer: PaidAnswer::new(200, Vec::new(), "{}".into()),
        private: false,
    };
    ledger
        .begin_settlement(entry, settlement, now)
        .await
        .unwrap();
    entry
}

/// Leaves a payment in the ledger whose outcome has been unknown since `now`.
async fn leave_unknown(ledger: &impl Journal, payment: Payment, now: u64) -> EntryId {
    let entry = leave_settling(ledger, payment, now).await;
    let cause = "settle: no connection";
    ledger.mark_unknown(entry, None, cause, now).await.unwrap();
    entry
}

/// Leaves an undecidable payment in the ledger. Returns its number.
async fn leave(ledger: &impl Journal, nonce: u64) -> i64 {
    let entry = leave_unknown(ledger, payment(nonce), NOW).await;
    ledger
        .mark_undecidable(entry, "its window is over", NOW + 400)
        .await
        .unwrap();
    entry.number()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn undecidable_payments_are_listed_and_decided() {
    let desk = Desk::new();
    let ledger = desk.ledger();
    let (first, second) = (leave(&ledger, 1).await, leave(&ledger, 2).await);

    // While another process has the ledger, the command decides nothing.
    for arguments in [
        &["list"][..],
        &["resolve", "--entry", "1", "--released", "why"],
    ] {
        let (code, stdout, stderr) = desk.run(arguments);
        assert_eq!((code, &*stdout), (2, ""), "{stderr}");
        assert!(stderr.contains("in use by another server"), "{stderr}");
    }
    drop(ledger);

    let (code, stdout, _) = desk.run(&["list"]);
    assert_eq!(code, 0);
    let rows: Vec<_> = stdout.lines().skip(1).collect();
    for (row, entry) in rows.iter().zip([first, second]) {
        let said = format!("{entry:>8}  2026-09-21T14:13:20Z  undecidable          2000  ");
        assert!(row.starts_with(&said), "{row}");
        assert!(row.ends_with("GET /price"), "{row}");
    }
    assert_eq!(rows.len(), 2);
    let listed = desk.listed();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0]["entry"], first);
    assert_eq!(listed[0]["changed_at"], NOW + 400);
    assert_eq!(listed[0]["nonce"], payment(1).key().nonce.to_string());
    assert_eq!(listed[0]["cause"], "its window is over");
    assert_eq!(listed[0]["transaction"], Value::Null);
    assert_eq!(listed[0]["amount"], "2000");

    // One payment was charged: its payer gets the stored answer with a receipt.
    let transaction = B256::repeat_byte(0xd1).to_string();
    let number = first.to_string();
    let (code, stdout, stderr) =
        desk.run(&["resolve", "--entry", &number, "--settled", &transaction]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains(&transaction), "{stdout}");
    let number = second.to_string();
    let released = ["resolve", "--entry", &number, "--released", "never used"];
    assert_eq!(desk.run(&released).0, 0);
    assert!(desk.listed().is_empty());
    let (_, stdout, _) = desk.run(&["list"]);
    assert!(stdout.ends_with("\nno payment\n"), "{stdout}");

    // A second decision is too late.
    let (code, _, stderr) = desk.run(&released);
    assert_eq!(code, 1);
    assert!(
        stderr.contains(&format!("entry {second} is not undecidable")),
        "{stderr}"
    );

    let ledger = desk.ledger();
    match ledger.reserve(claim(1)).await.unwrap() {
        Reservation::Known(PaymentStatus::Answered(stored)) => {
            let receipt =
                SettlementResponse::from_header(stored.receipt.header.as_bytes()).unwrap();
            assert!(receipt.success);
            assert_eq!(receipt.transaction, transaction);
        }
        other => panic!("{other:?}"),
    }
    let retired = PaymentStatus::Retired {
        reason: "never used".to_owned(),
    };
    let again = ledger.reserve(claim(2)).await;
    assert_eq!(again, Ok(Reservation::Known(retired)));
}

#[test]
fn impossible_commands_name_the_reason() {
    let desk = Desk::new();
    let (code, _, stderr) = desk.run(&["list"]);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("storage.url: there is no ledger at"),
        "{stderr}"
    );
    assert!(!Path::new(&desk.folder.path().join("service.db")).exists());
    for arguments in [
        &["resolve", "--entry", "1"][..],
        &["resolve", "--released", "why"],
        &["resolve", "--entry", "1", "--settled", "0x12"],
        &[
            "resolve",
            "--entry",
            "1",
            "--released",
            "why",
            "--settled",
            "0xd1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1",
        ],
    ] {
        let (code, _, stderr) = desk.run(arguments);
        assert_eq!(code, 2, "{arguments:?}: {stderr}");
    }
}
