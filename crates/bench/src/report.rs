//! The results, compared with their limits.
//!
//! A [`Report`] renders findings as a table or as JSON. An exceeded limit is a result: the program
//! decides about its exit code.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::measure::{Quantity, Ratio};

/// A quantity with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Processor time per request.
    Cpu(Quantity),
    /// Memory.
    Memory(Quantity),
    /// Time on the clock.
    Time(Duration),
    /// Time on the clock for each of many concurrent operations, shown as operations in a second.
    Pace(Duration),
}

impl Amount {
    /// In its base unit: nanoseconds or bytes.
    fn base_units(self) -> u64 {
        match self {
            Self::Cpu(nanos) => nanos,
            Self::Memory(bytes) => bytes,
            Self::Time(time) | Self::Pace(time) => {
                u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
            }
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Cpu(_) | Self::Time(_) | Self::Pace(_) => "ns",
            Self::Memory(_) => "bytes",
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = |value: u64, unit: u64, name: &str| {
            let tenths = value.saturating_mul(10).div_ceil(unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        };
        f.pad(&match *self {
            Self::Cpu(nanos) => tenths(nanos, 1_000, "µs"),
            Self::Memory(bytes) => tenths(bytes, 1 << 20, "MiB"),
            Self::Time(_) => tenths(self.base_units(), 1_000_000, "ms"),
            Self::Pace(_) => {
                let tenths = 10_000_000_000 / self.base_units().max(1);
                format!("{}.{} /s", tenths / 10, tenths % 10)
            }
        })
    }
}

/// The limit of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// At most this multiple of another measurement of the same run.
    Times(Ratio, &'static str, Amount),
    /// Reported beside another measurement of the same run, without a limit.
    Beside(&'static str, Amount),
    /// At most this.
    AtMost(Amount),
}

/// One measurement and its limit.
#[derive(Debug, Clone, Copy)]
pub struct Finding {
    /// The name of the measurement.
    pub name: &'static str,
    /// The result.
    pub ours: Amount,
    /// Its limit.
    pub limit: Limit,
}

impl Finding {
    /// Whether the result is within the limit.
    pub fn is_kept(&self) -> bool {
        match self.limit {
            Limit::Times(most, _, base) => self.ratio(base).is_some_and(|ratio| ratio <= most),
            Limit::Beside(..) => true,
            Limit::AtMost(most) => self.ours.base_units() <= most.base_units(),
        }
    }

    fn ratio(&self, base: Amount) -> Option<Ratio> {
        Ratio::of(self.ours.base_units(), base.base_units())
    }

    fn to_json(self) -> Line {
        let (against, base, ratio, limit) = match self.limit {
            Limit::Times(most, name, base) => (
                Some(name),
                Some(base.base_units()),
                self.ratio(base).map(|ratio| ratio.to_string()),
                most.to_string(),
            ),
            Limit::Beside(name, base) => (
                Some(name),
                Some(base.base_units()),
                self.ratio(base).map(|ratio| ratio.to_string()),
                "none".to_owned(),
            ),
            Limit::AtMost(most) => (None, None, None, most.base_units().to_string()),
        };
        Line {
            name: self.name,
            unit: self.ours.unit(),
            ours: self.ours.base_units(),
            against,
            base,
            ratio,
            limit,
            kept: self.is_kept(),
        }
    }
}

/// A finding as a line of JSON.
#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    unit: &'static str,
    ours: u64,
    against: Option<&'static str>,
    base: Option<u64>,
    ratio: Option<String>,
    limit: String,
    kept: bool,
}

/// A measurement that cannot be made here.
#[derive(Debug, Serialize)]
struct Missing {
    name: &'static str,
    not_measured: &'static str,
}

/// All findings of a run, and the measurements that could not be made.
#[derive(Debug, Default)]
pub struct Report(Vec<Finding>, Vec<Missing>);

impl Report {
    /// Adds a finding.
    pub fn add(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    /// Adds measurements that cannot be made here, with the reason.
    pub fn miss(&mut self, names: &[&'static str], reason: &'static str) {
        self.1.extend(names.iter().map(|name| Missing {
            name,
            not_measured: reason,
        }));
    }

    /// Whether every result is within its limit.
    pub fn is_kept(&self) -> bool {
        self.0.iter().all(Finding::is_kept)
    }

    /// The findings as a JSON array, one object for each; nanoseconds and bytes. Missing
    /// measurements are at the end, with the reason as `not_measured`.
    ///
    /// # Errors
    /// Never, in practice: all members are numbers and text.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let found = self
            .0
            .iter()
            .map(|finding| finding.to_json())
            .map(serde_json::to_value);
        let missing = self.1.iter().map(serde_json::to_value);
        let lines: Vec<serde_json::Value> = found.chain(missing).collect::<Result<_, _>>()?;
        serde_json::to_string_pretty(&lines)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<42} {:>11} {:>11} {:>6} {:>11}",
            "measurement", "ours", "baseline", "ratio", "limit"
        )?;
        for finding in &self.0 {
            let (base, ratio, limit, against) = match finding.limit {
                Limit::Times(most, name, base) => (
                    base.to_string(),
                    finding
                        .ratio(base)
                        .map(|ratio| ratio.to_string())
                        .unwrap_or_default(),
                    format!("{most} x"),
                    name,
                ),
                Limit::Beside(name, base) => (
                    base.to_string(),
                    finding
                        .ratio(base)
                        .map(|ratio| ratio.to_string())
                        .unwrap_or_default(),
                    "none".to_owned(),
                    name,
                ),
                Limit::AtMost(most) => (String::new(), String::new(), most.to_string(), ""),
            };
            let verdict = if finding.is_kept() { "ok" } else { "TOO MUCH" };
            writeln!(
                f,
                "{:<42} {:>11} {base:>11} {ratio:>6} {limit:>11}  {verdict:<8}  {against}",
                finding.name, finding.ours
            )?;
        }
        for Missing { name, not_measured } in &self.1 {
            writeln!(f, "{name:<42} not measured: {not_measured}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(ours: u64, base: u64) -> Finding {
        let limit = Limit::Times(Ratio::thousandths(1_200), "bare hyper", Amount::Cpu(base));
        Finding {
            name: "unpaid call",
            ours: Amount::Cpu(ours),
            limit,
        }
    }

    #[test]
    fn limits_include_their_bound() {
        assert!(finding(12_000, 10_000).is_kept());
        assert!(!finding(12_001, 10_000).is_kept());
        assert!(!finding(12_000, 0).is_kept());
        let at_most = |bytes| Finding {
            name: "idle memory",
            ours: Amount::Memory(bytes),
            limit: Limit::AtMost(Amount::Memory(20 << 20)),
        };
        assert!(at_most(20 << 20).is_kept());
        assert!(!at_most((20 << 20) + 1).is_kept());
    }

    #[test]
    fn a_report_is_a_table() {
        let mut report = Report::default();
        report.add(finding(13_040, 11_600));
        report.add(Finding {
            name: "start to listening",
            ours: Amount::Time(Duration::from_micros(30_100)),
            limit: Limit::AtMost(Amount::Time(Duration::from_millis(30))),
        });
        let text = report.to_string();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let first = "unpaid call 13.1 µs 11.6 µs 1.13 1.20 x ok bare hyper";
        assert_eq!(lines[1].join(" "), first);
        assert_eq!(
            lines[2].join(" "),
            "start to listening 30.1 ms 30.0 ms TOO MUCH"
        );
        assert!(!report.is_kept());
    }

    #[test]
    fn a_pace_is_shown_per_second_and_compared_by_time() {
        let pace = |millis| Amount::Pace(Duration::from_millis(millis));
        assert_eq!(pace(40).to_string(), "25.0 /s");
        assert_eq!(pace(210).to_string(), "4.7 /s");
        let limit = Limit::Times(Ratio::thousandths(200), "one by one", pace(210));
        let finding = |millis| Finding {
            name: "settlements",
            ours: pace(millis),
            limit,
        };
        assert!(finding(42).is_kept());
        assert!(!finding(43).is_kept());
    }

    #[test]
    fn a_missing_measurement_is_shown_with_its_reason_and_breaks_no_limit() {
        let mut report = Report::default();
        report.miss(&["paid call on PostgreSQL"], "there is none");
        let text = report.to_string();
        let line = text.lines().last().unwrap();
        assert!(line.starts_with("paid call on PostgreSQL  "), "{line}");
        assert!(line.ends_with("not measured: there is none"), "{line}");
        let json: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
        assert_eq!(json[0]["not_measured"], "there is none");
        assert!(report.is_kept());
    }

    #[test]
    fn a_report_is_json() {
        let mut report = Report::default();
        report.add(finding(13_040, 11_600));
        let json: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
        assert_eq!(json[0]["ours"], 13_040);
        assert_eq!(json[0]["ratio"], "1.13");
        assert_eq!(json[0]["kept"], true);
    }
}
