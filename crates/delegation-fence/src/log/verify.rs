//! Verifies a log by itself: the hashes, the order and the times of its records. It asks no
//! service, and cannot see records that are missing at the end.

use alloy_primitives::B256;
use serde::Deserialize;
use serde_json::Value;

use super::{LogEvent, LogHead, LogRecord};
use crate::{Refusal, Rule, json, refusal::same, send::Transaction};

/// A log whose records follow each other without a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedLog {
    records: Vec<LogRecord>,
}

impl VerifiedLog {
    /// The records.
    #[must_use]
    pub fn records(&self) -> &[LogRecord] {
        &self.records
    }

    /// Its end.
    #[must_use]
    pub fn head(&self) -> LogHead {
        self.records.last().map_or(LogHead::EMPTY, |last| LogHead {
            next_seq: last.seq().saturating_add(1),
            hash: last.hash(),
        })
    }

    /// Whether the log states that the grant was revoked.
    #[must_use]
    pub fn is_revoked(&self) -> bool {
        self.records
            .iter()
            .any(|record| record.event() == LogEvent::Revoked)
    }

    /// The admitted plans that have not reached their end yet, in order.
    #[must_use]
    pub fn open_plans(&self) -> Vec<B256> {
        let of = |event: LogEvent| {
            self.records
                .iter()
                .filter(move |record| record.event() == event)
                .filter_map(LogRecord::payload_digest)
        };
        of(LogEvent::Admitted)
            .filter(|plan| !of(LogEvent::Finished).any(|finished| finished == *plan))
            .collect()
    }
}

/// Verifies a log: the answers of a server in their order, each `{records, next_cursor}` or the
/// list of records, from the first record on. It opens no socket. It cannot detect records that are
/// missing at the end: compare [`VerifiedLog::head`] with a
/// [`RevocationReceipt`](crate::RevocationReceipt), or with an earlier reading.
///
/// # Errors
/// `log_malformed`; `log_hash` for a record that was changed; `log_chain` and `log_sequence` for
/// records that were left out, added or moved; `log_time` for a clock that ran backwards;
/// `log_use_after_revocation`.
///
/// # Example
/// ```
/// use delegation_fence::{LogEntry, LogHead, LogEvent, Rule, verify_log};
///
/// let mut head = LogHead::EMPTY;
/// let at = "2026-11-21T07:00:00Z".parse().unwrap();
/// let record = head.append(LogEntry::new(at, LogEvent::Granted))?;
/// let forged = record.to_json().replace("granted", "revoked");
/// assert_eq!(verify_log([format!("[{forged}]").as_str()]).unwrap_err().rule, Rule::LogHash);
/// # Ok::<(), delegation_fence::Refusal>(())
/// ```
pub fn verify_log<'a>(answers: impl IntoIterator<Item = &'a str>) -> Result<VerifiedLog, Refusal> {
    let mut log = VerifiedLog {
        records: Vec::new(),
    };
    for answer in answers {
        for record in read(answer)? {
            judge(&record, &log)?;
            log.records.push(record);
        }
    }
    Ok(log)
}

fn read(answer: &str) -> Result<Vec<LogRecord>, Refusal> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Answer {
        records: Value,
        #[serde(default, rename = "next_cursor")]
        _next_cursor: Value,
    }
    let rule = Rule::LogMalformed;
    let value = json::parse(rule, answer)?;
    let records = match value {
        Value::Array(_) => value,
        other => json::read::<Answer>(rule, "records and next_cursor", other)?.records,
    };
    let given: Vec<Value> = json::read(rule, "a list of records", records)?;
    given
        .into_iter()
        .map(|value| {
            let spelling = json::canonical(rule, &value)?;
            let record: LogRecord = json::read(rule, "a record", value)?;
            // A member that reads like another spelling (`null` for a missing member) would not be
            // covered by the hash.
            if json::canonical(rule, &record)? != spelling {
                return Err(malformed("a record in an unknown form", ""));
            }
            record.step().map(Transaction::from_key).transpose()?;
            Ok(record)
        })
        .collect()
}

fn judge(record: &LogRecord, before: &VerifiedLog) -> Result<(), Refusal> {
    let head = before.head();
    same(
        Rule::LogHash,
        "the record does not match its hash",
        record.computed_hash()?,
        record.hash(),
    )?;
    same(
        Rule::LogSequence,
        "the record is not the next one",
        head.next_seq,
        record.seq(),
    )?;
    same(
        Rule::LogChain,
        "the record does not follow the one before it",
        head.hash,
        record.prev_hash(),
    )?;
    if let Some(last) = before.records().last()
        && record.at() < last.at()
    {
        return Err(Refusal::new(
            Rule::LogTime,
            "the record is older than the one before it",
            format_args!("at least {}", last.at()),
            record.at(),
        ));
    }
    if record.event() == LogEvent::Admitted && before.is_revoked() {
        return Err(Refusal::new(
            Rule::LogUseAfterRevocation,
            "a plan was admitted after the revocation",
            "nothing admitted",
            record.payload_digest().unwrap_or_default(),
        ));
    }
    Ok(())
}

fn malformed(message: &'static str, observed: &str) -> Refusal {
    Refusal::new(Rule::LogMalformed, message, "a record of a log", observed)
}
