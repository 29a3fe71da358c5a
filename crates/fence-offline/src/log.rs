//! `log verify`: judges a log that the service gave, without asking the service.

use std::{fmt::Write as _, path::PathBuf};

use clap::Args;
use delegation_fence::{LogRecord, RevocationReceipt, VerifiedLog, verify_log};
use serde_json::json;

use crate::{CommandOutcome, Exit, Failure, Printable, source};

/// `log verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// The log as the service answered it, page by page in order (`-`: standard input)
    #[arg(long = "in", value_name = "FILE", required = true, num_args = 1..)]
    pub input: Vec<PathBuf>,
    /// The receipt of a revocation, which the log has to contain
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Verifies a log by itself: every record follows the one before it. Only a receipt shows whether
/// records are missing at its end.
///
/// # Errors
/// The refusals of [`verify_log`] and `receipt_not_in_log`; a file that cannot be read.
pub fn verify(arguments: &Verify) -> Result<CommandOutcome, Failure> {
    let stdin = arguments
        .input
        .iter()
        .chain(&arguments.receipt)
        .filter(|path| source::is_stdin(path));
    if stdin.count() > 1 {
        return Err(Failure::usage("only one file can be standard input"));
    }
    let pages = arguments
        .input
        .iter()
        .map(|path| source::read(path))
        .collect::<Result<Vec<_>, _>>()?;
    let log = verify_log(pages.iter().map(String::as_str))?;
    if let Some(path) = &arguments.receipt {
        RevocationReceipt::parse(&source::read(path)?)?.require_in(&log)?;
    }
    let receipt = arguments.receipt.is_some();
    Ok(if arguments.json {
        CommandOutcome::json(&as_json(&log, receipt), Exit::Ok)
    } else {
        CommandOutcome::ok(in_words(&log, receipt))
    })
}

fn as_json(log: &VerifiedLog, receipt: bool) -> serde_json::Value {
    json!({"verified": {
        "records": log.records().len(),
        "head": log.head().hash,
        "revoked": log.is_revoked(),
        "plans_not_at_their_end": log.open_plans(),
        "receipt_in_log": receipt.then_some(true),
    }})
}

fn in_words(log: &VerifiedLog, receipt: bool) -> String {
    let mut said = String::new();
    // Writing to a string cannot fail.
    for record in log.records() {
        let _ = writeln!(said, "{}", line(record));
    }
    for plan in log.open_plans() {
        let _ = writeln!(said, "not at its end: plan {plan}");
    }
    if log.is_revoked() {
        said.push_str("the log says that the grant was revoked\n");
    }
    if receipt {
        said.push_str("the log contains the revocation of the receipt\n");
    }
    let _ = writeln!(
        said,
        "verified: {} records, the last with the hash {}",
        log.records().len(),
        log.head().hash
    );
    said
}

fn line(record: &LogRecord) -> String {
    let event = serde_json::to_value(record.event());
    let event = event
        .ok()
        .and_then(|event| event.as_str().map(str::to_owned));
    let mut line = format!(
        "{:>4}  {}  {}",
        record.seq(),
        record.at(),
        event.unwrap_or_default()
    );
    let parts = [
        record.step().map(|step| format!("step {step}")),
        record.refused_by().map(|rule| format!("by {rule}")),
        record.read_back().map(|read| format!("read back {read}")),
        record.tx_hash().map(|hash| format!("transaction {hash}")),
        record
            .payload_digest()
            .map(|digest| format!("plan {digest}")),
    ];
    for part in parts.into_iter().flatten() {
        let _ = write!(line, "  {}", Printable(&part));
    }
    line
}
