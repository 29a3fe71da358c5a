//! Payments that only the operator can decide: their list, and the record of a decision. The
//! command asks nobody, and takes the operator's word.

use std::fmt::Write as _;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::B256;
use ledger::{AnyLedger, EntryId, Journal, LedgerError, Resolution, StoredReceipt, Undecided};
use serde_json::{Value, json};
use settlement::Receipt;
use x402_wire::Payment;

use super::{Found, LedgerCliError, PAGE};

/// Prints every undecidable payment.
pub(super) async fn list(
    ledger: &AnyLedger,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), LedgerCliError> {
    let undecidable = undecidable(ledger).await?;
    let text = match json {
        true => Value::from_iter(undecidable.iter().map(as_json)).to_string(),
        false => as_text(&undecidable),
    };
    Ok(writeln!(out, "{}", text.trim_end())?)
}

async fn undecidable(ledger: &AnyLedger) -> Result<Vec<Undecided>, LedgerError> {
    let mut all: Vec<Undecided> = Vec::new();
    loop {
        let after = all.last().map(|last| last.entry);
        let page = ledger.undecidable(after, PAGE).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

/// Records the operator's decision about one payment.
pub(super) async fn resolve(
    ledger: &AnyLedger,
    entry: EntryId,
    found: Found,
    out: &mut dyn Write,
) -> Result<(), LedgerCliError> {
    let listed = undecidable(ledger).await?;
    let undecided = listed
        .iter()
        .find(|undecided| undecided.entry == entry)
        .ok_or(LedgerCliError::NotUndecidable(entry))?;
    let (resolution, said) = match found {
        Found {
            settled: Some(transaction),
            ..
        } => (
            Resolution::Settled(receipt(undecided, transaction)?),
            format!("settled by {transaction}"),
        ),
        Found { released, .. } => {
            let reason = released.unwrap_or_default();
            let said = format!("released: {reason}");
            (Resolution::Released { reason }, said)
        }
    };
    match ledger.resolve(entry, resolution, now()).await {
        // Another decision was recorded in the meantime.
        Err(LedgerError::WrongState { .. } | LedgerError::NoSuchEntry { .. }) => {
            Err(LedgerCliError::NotUndecidable(entry))
        }
        done => {
            done?;
            Ok(writeln!(out, "entry {entry} is {said}")?)
        }
    }
}

/// The receipt for the payer, as the server would have made it.
fn receipt(undecided: &Undecided, transaction: B256) -> Result<StoredReceipt, LedgerCliError> {
    let payment = Payment::restore(
        undecided.payload_json.as_bytes(),
        undecided.requirements_json.as_bytes(),
    );
    let payment = payment.map_err(|error| LedgerCliError::Damaged {
        entry: undecided.entry,
        error,
    })?;
    let response = Receipt::of(&payment, transaction.to_string()).into_response();
    Ok(StoredReceipt {
        header: response.to_header(),
        transaction: response.transaction,
    })
}

/// The fields with which an operator can look a payment up. The signature is left out because it
/// may still be usable.
fn as_json(undecided: &Undecided) -> Value {
    let payment = Payment::restore(
        undecided.payload_json.as_bytes(),
        undecided.requirements_json.as_bytes(),
    );
    let key = payment.ok().map(|payment| payment.key());
    json!({
        "entry": undecided.entry.number(),
        "since": undecided.since,
        "amount": undecided.amount.to_string(),
        "payer": undecided.payer.to_string(),
        "asset": key.map(|key| key.asset.to_string()),
        "nonce": key.map(|key| key.nonce.to_string()),
        "method": undecided.method,
        "path": undecided.path,
        "transaction": undecided.transaction,
        "cause": undecided.cause,
    })
}

fn as_text(undecidable: &[Undecided]) -> String {
    if undecidable.is_empty() {
        return "no payment is undecidable".to_owned();
    }
    let mut text = String::new();
    for undecided in undecidable {
        let row = as_json(undecided);
        let word = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or("none");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "entry {}: {} {}\n  since        {} (Unix seconds)\n  amount       {}\n  asset        {}\n  \
             payer        {}\n  nonce        {}\n  transaction  {}\n  cause        {}",
            undecided.entry,
            undecided.method,
            undecided.path,
            undecided.since,
            undecided.amount,
            word("asset"),
            undecided.payer,
            word("nonce"),
            word("transaction"),
            word("cause"),
        );
    }
    text
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
