//! `docs/watch_audit.py` verifies the audit of a yield mandate, with only Python's standard
//! library.

use std::path::Path;

use judges::{JudgeError, Toolchain, run};
use serde_json::{Value, json};

async fn verify(toolchain: &Toolchain, answers: &str) -> Result<String, JudgeError> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/watch_audit.py");
    let mut command = toolchain.python_agent_interpreter();
    command.arg(script);
    run(command, answers.as_bytes()).await
}

/// The catalog's example answer. The server's own tests compare it with the server's output.
fn answer() -> Value {
    let example = "../route-catalog/src/examples/audit_yield_watch.json";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(example));
    serde_json::from_str(&text.unwrap()).unwrap()
}

#[tokio::test]
async fn an_audit_ends_at_the_hash_of_its_last_record() {
    let toolchain = Toolchain::from_env().unwrap();
    let answer = answer();
    let records = answer["records"].as_array().unwrap();
    let expected = format!("2 {}", records[2]["hash"].as_str().unwrap());
    let whole = verify(&toolchain, &json!({"data": answer}).to_string()).await;
    assert_eq!(whole.unwrap().trim_end(), expected);
    // The audit may come in pages.
    let pages = records
        .iter()
        .map(|record| json!({"records": [record]}).to_string());
    let pages: Vec<String> = pages.collect();
    let paged = verify(&toolchain, &pages.join("\n")).await.unwrap();
    assert_eq!(paged.trim_end(), expected);
}

#[tokio::test]
async fn changed_audits_are_refused() {
    let toolchain = Toolchain::from_env().unwrap();
    for (pointer, value) in [
        ("/records/0/at", json!("2026-11-20T09:00:00Z")),
        ("/records/1/decision", json!("opportunity")),
        ("/records/1/action/inputs/best/apy_pct", json!("9")),
        (
            "/records/1/prev_hash",
            json!(format!("0x{}", "0".repeat(64))),
        ),
        ("/records/2/seq", json!(3)),
        ("/records/2/tx_hash", json!(format!("0x{}", "1".repeat(64)))),
    ] {
        let mut changed = answer();
        *changed.pointer_mut(pointer).expect(pointer) = value;
        match verify(&toolchain, &changed.to_string()).await {
            Err(JudgeError::Ended { status, log, .. }) => {
                assert_eq!(status, "exit status: 1", "{log}");
                assert!(log.starts_with("record "), "{log}");
            }
            other => panic!("{pointer}: {other:?}"),
        }
    }
}
