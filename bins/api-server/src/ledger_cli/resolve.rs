//! Records the operator's decision about a payment that only the operator can decide. The command
//! reads no chain: it takes the operator's word.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::B256;
use ledger::{AnyLedger, EntryId, Journal, LedgerError, Resolution, StoredReceipt, Undecided};
use settlement::Receipt;
use x402_wire::Payment;

use super::{Found, LedgerCliError, PAGE};

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

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
