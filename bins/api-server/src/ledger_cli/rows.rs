//! Entries as text: a row of a table, all fields of an entry, JSON, CSV.
//!
//! No form holds the signature of a payment, because it may still be usable.

use std::io::{self, Write};

use jiff::Timestamp;
use ledger::EntryRecord;
use serde_json::{Value, json};

/// The fields of CSV, in their order.
const FIELDS: [&str; 14] = [
    "entry",
    "payer",
    "nonce",
    "asset",
    "network",
    "amount",
    "operation",
    "state",
    "transaction",
    "reserved_at",
    "changed_at",
    "valid_before",
    "payment_id",
    "cause",
];

/// The form of the output.
#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    /// A line for each entry, with its most important fields.
    Table,
    /// A line for each field of an entry.
    Full,
    /// An object for each entry, on a line of its own.
    Json,
    /// Comma-separated values (RFC 4180, with line feeds).
    Csv,
}

impl Format {
    /// Writes what comes before the first entry.
    pub(super) fn begin(self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Csv => writeln!(out, "{}", FIELDS.join(",")),
            Self::Table => line(
                out,
                [
                    "entry",
                    "reserved",
                    "state",
                    "amount",
                    "payer",
                    "operation",
                    "transaction",
                ],
            ),
            Self::Full | Self::Json => Ok(()),
        }
    }

    pub(super) fn write(self, record: &EntryRecord, out: &mut dyn Write) -> io::Result<()> {
        let row = object(record);
        let text = |name: &str| match row.get(name) {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        };
        match self {
            Self::Json => writeln!(out, "{row}"),
            Self::Csv => writeln!(out, "{}", FIELDS.map(|name| quoted(text(name))).join(",")),
            Self::Table => line(
                out,
                [
                    &text("entry"),
                    &day_and_time(record.reserved_at),
                    record.state.as_str(),
                    &text("amount"),
                    &text("payer"),
                    &text("operation"),
                    &text("transaction"),
                ],
            ),
            Self::Full => {
                for name in FIELDS.into_iter().chain(["retired"]) {
                    let value = match text(name) {
                        none if none.is_empty() => "none".to_owned(),
                        value => value,
                    };
                    let time = match name {
                        "reserved_at" => time_of(record.reserved_at),
                        "changed_at" => time_of(record.changed_at),
                        "valid_before" => time_of(record.valid_before),
                        _ => String::new(),
                    };
                    writeln!(out, "{name:<12}  {value}{time}")?;
                }
                Ok(())
            }
        }
    }
}

fn line(out: &mut dyn Write, columns: [&str; 7]) -> io::Result<()> {
    let [
        entry,
        reserved,
        state,
        amount,
        payer,
        operation,
        transaction,
    ] = columns;
    let text = format!(
        "{entry:>8}  {reserved:<20}  {state:<11}  {amount:>12}  {payer:<42}  {operation:<28}  {transaction}"
    );
    writeln!(out, "{}", text.trim_end())
}

/// All fields, by name.
pub(super) fn object(record: &EntryRecord) -> Value {
    json!({
        "entry": record.entry.number(),
        "payer": record.payer.to_string(),
        "nonce": record.nonce.map(|nonce| nonce.to_string()),
        "asset": record.asset.map(|asset| asset.to_string()),
        "network": record.network,
        "amount": record.amount.to_string(),
        "operation": operation(record),
        "state": record.state.as_str(),
        "transaction": record.transaction,
        "reserved_at": record.reserved_at,
        "changed_at": record.changed_at,
        "valid_before": record.valid_before,
        "payment_id": record.payment_id,
        "cause": record.cause,
        "retired": record.retired,
    })
}

/// The purchased operation.
pub(super) fn operation(record: &EntryRecord) -> String {
    format!("{} {}", record.method, record.path)
}

fn quoted(field: String) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}

fn time_of(seconds: u64) -> String {
    format!(" ({})", day_and_time(seconds))
}

fn day_and_time(seconds: u64) -> String {
    match i64::try_from(seconds).map(Timestamp::from_second) {
        Ok(Ok(time)) => time.to_string(),
        _ => "no date".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_would_break_a_line_are_quoted() {
        for (field, expected) in [
            ("GET /price", "GET /price"),
            ("a,b", "\"a,b\""),
            ("said \"no\"", "\"said \"\"no\"\"\""),
            ("two\nlines", "\"two\nlines\""),
        ] {
            assert_eq!(quoted(field.to_owned()), expected);
        }
    }

    #[test]
    fn a_time_beyond_dates_is_no_date() {
        assert_eq!(day_and_time(1_790_000_000), "2026-09-21T14:13:20Z");
        assert_eq!(day_and_time(u64::MAX), "no date");
    }
}
