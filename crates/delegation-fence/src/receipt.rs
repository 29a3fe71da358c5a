//! The receipt for the signer of a revocation. It proves what the service has said, not what the
//! chain says.

use alloy_primitives::B256;
use calldata_checks::UtcSeconds;
use plan_builder::wire::{Time, Word};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    LogEvent, LogRecord, ReceivedRevocation, Refusal, Revocation, Rule, Signed, VerifiedLog, json,
    refusal::same,
};

/// States that a revocation was received, is durable and was read back, and its place in the
/// grant's log. Its holder can prove that a log without this record is not the log that the service
/// had then.
///
/// # Example
/// ```
/// use delegation_fence::{Rule, RevocationReceipt};
///
/// assert_eq!(RevocationReceipt::parse("{}").unwrap_err().rule, Rule::TypedDataMalformed);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevocationReceipt {
    revocation: Signed<Revocation>,
    revoked_at: UtcSeconds,
    seq: u64,
    hash: B256,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    log_hash: Word,
    log_seq: u64,
    /// The service's statement about the chain at that moment. The log cannot prove it.
    #[serde(default, skip_serializing)]
    #[allow(dead_code, reason = "a receipt is read from the whole answer")]
    on_chain: Option<Value>,
    read_back: bool,
    revocation: Value,
    revoked_at: Time,
    state: String,
}

const REVOKED: &str = "revoked";

impl RevocationReceipt {
    /// The receipt of a revocation that was read back, with its record in the log. `revoked_at` is
    /// when the grant ended, possibly by an earlier revocation.
    #[must_use]
    pub fn new(received: &ReceivedRevocation, revoked_at: UtcSeconds, record: &LogRecord) -> Self {
        Self {
            revocation: received.signed().clone(),
            revoked_at,
            seq: record.seq(),
            hash: record.hash(),
        }
    }

    /// Reads a receipt.
    ///
    /// # Errors
    /// `typed_data_malformed` and the other names of [`Signed::parse`].
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let rule = Rule::TypedDataMalformed;
        let written: Written = json::read(rule, "a revocation receipt", json::parse(rule, text)?)?;
        same(
            rule,
            "a receipt of another state",
            REVOKED,
            written.state.as_str(),
        )?;
        same(
            rule,
            "a receipt of a revocation that was not read back",
            true,
            written.read_back,
        )?;
        Ok(Self {
            revocation: Signed::parse(&written.revocation.to_string())?,
            revoked_at: written.revoked_at.0,
            seq: written.log_seq,
            hash: written.log_hash.0,
        })
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let revocation = serde_json::from_str(&self.revocation.to_json()).unwrap_or_default();
        let written = Written {
            log_hash: Word(self.hash),
            log_seq: self.seq,
            on_chain: None,
            read_back: true,
            revocation,
            revoked_at: Time(self.revoked_at),
            state: REVOKED.to_owned(),
        };
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// The signed revocation.
    #[must_use]
    pub const fn revocation(&self) -> &Signed<Revocation> {
        &self.revocation
    }

    /// When the grant ended.
    #[must_use]
    pub const fn revoked_at(&self) -> UtcSeconds {
        self.revoked_at
    }

    /// Checks that the log contains the record of this receipt.
    ///
    /// # Errors
    /// `receipt_not_in_log`
    pub fn require_in(&self, log: &VerifiedLog) -> Result<(), Refusal> {
        let found = log.records().iter().any(|record| {
            record.seq() == self.seq
                && record.hash() == self.hash
                && record.event() == LogEvent::Revoked
        });
        if found {
            return Ok(());
        }
        Err(Refusal::new(
            Rule::ReceiptNotInLog,
            "the log does not contain the revocation that the receipt was given for",
            format_args!("record {} with the hash {}", self.seq, self.hash),
            format_args!("{} records", log.records().len()),
        ))
    }
}
