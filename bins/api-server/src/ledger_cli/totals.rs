//! Counts of payments, and sums of the settled amounts.

use std::collections::BTreeMap;
use std::io::{self, Write};

use alloy_primitives::U256;
use clap::ValueEnum;
use jiff::{Timestamp, tz::TimeZone};
use ledger::{EntryRecord, State};
use serde_json::json;

use super::rows::operation;

/// The attribute by which payments are counted.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Group {
    Day,
    Operation,
    Asset,
    State,
}

#[derive(Debug, Default)]
struct Total {
    payments: u64,
    settled: u64,
    /// The sum of the settled payments, in the assets' smallest unit.
    amount: U256,
}

/// The totals of each group.
#[derive(Debug)]
pub(super) struct Totals {
    by: Option<Group>,
    groups: BTreeMap<String, Total>,
}

impl Totals {
    pub(super) fn by(by: Option<Group>) -> Self {
        let mut groups = BTreeMap::new();
        if by.is_none() {
            groups.insert("all".to_owned(), Total::default());
        }
        Self { by, groups }
    }

    pub(super) fn add(&mut self, record: &EntryRecord) {
        let group = match self.by {
            None => "all".to_owned(),
            Some(Group::Day) => day(record.changed_at),
            Some(Group::Operation) => operation(record),
            Some(Group::Asset) => record
                .asset
                .map_or_else(|| "not recorded".to_owned(), |asset| asset.to_string()),
            Some(Group::State) => record.state.to_string(),
        };
        let total = self.groups.entry(group).or_default();
        total.payments = total.payments.saturating_add(1);
        if record.state == State::Settled {
            total.settled = total.settled.saturating_add(1);
            total.amount = total.amount.saturating_add(record.amount);
        }
    }

    pub(super) fn write(&self, json: bool, out: &mut dyn Write) -> io::Result<()> {
        if json {
            for (group, total) in &self.groups {
                let row = json!({
                    "group": group,
                    "payments": total.payments,
                    "settled": total.settled,
                    "settled_amount": total.amount.to_string(),
                });
                writeln!(out, "{row}")?;
            }
            return Ok(());
        }
        let widths = self.groups.keys().map(|group| group.chars().count());
        let width = widths.max().unwrap_or(0).max("group".len());
        writeln!(
            out,
            "{:<width$}  {:>10}  {:>10}  {:>16}",
            "group", "payments", "settled", "settled amount"
        )?;
        for (group, total) in &self.groups {
            writeln!(
                out,
                "{group:<width$}  {:>10}  {:>10}  {:>16}",
                total.payments,
                total.settled,
                total.amount.to_string()
            )?;
        }
        Ok(())
    }
}

/// The day of a time, in UTC.
fn day(seconds: u64) -> String {
    match i64::try_from(seconds).map(Timestamp::from_second) {
        Ok(Ok(time)) => time.to_zoned(TimeZone::UTC).date().to_string(),
        _ => "no date".to_owned(),
    }
}
