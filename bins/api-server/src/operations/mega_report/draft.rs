//! A report in the making: its sections, and what their answers say beside their data.

use data_sources::Sourced;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::super::token_deep_dive::drop_none;
use super::Section;
use crate::answer::{Answered, Cut, Part, Unavailable, Warning};
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;

/// A report in the making.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) sections: Map<String, Value>,
    pub(super) missing: Vec<&'static str>,
    pub(super) report: SourceReport,
    /// What the sections' routes say about their data, each once.
    pub(super) warnings: Vec<Warning>,
    /// How old each section is, and up to which age it is fresh.
    pub(super) ages: Vec<Part>,
    /// The time of the oldest section.
    pub(super) as_of: Option<Timestamp>,
}

impl Draft {
    /// Puts a section into its place, or says why it is missing.
    pub(super) fn add(
        &mut self,
        section: &Section,
        answered: Result<Answered, ErrorReply>,
        now: Timestamp,
    ) {
        let place = format!("data.sections.{}", section.name);
        match answered {
            Ok(answered) => {
                let value = self.take(section.name, &place, section.list, answered, now);
                self.sections.insert(section.name.to_owned(), value);
            }
            Err(error) => self.missing(section.name, &error),
        }
    }

    /// Takes over what an answer, or the one `list` of it, says beside its data, and gives the
    /// data; it will stand at `place`.
    pub(super) fn take(
        &mut self,
        name: &str,
        place: &str,
        list: Option<&str>,
        answered: Answered,
        now: Timestamp,
    ) -> Value {
        self.ages.extend(answered.as_parts(name, now));
        self.as_of = self.as_of.into_iter().chain([answered.as_of(now)]).min();
        for warning in answered.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        let (mut value, inner) = match list {
            Some(list) => (
                answered.data.get(list).cloned().unwrap_or_default(),
                format!("data.{list}"),
            ),
            None => (answered.data.into_value(), "data".to_owned()),
        };
        // What the section's own answer had cut is cut here, too.
        for cut in answered.cut {
            if let Some(rest) = cut.field.strip_prefix(&inner) {
                let field = format!("{place}{rest}");
                self.report.cut.push(Cut { field, ..cut });
            }
        }
        drop_none(&mut value, answered.none);
        self.report.got(Sourced {
            value: (),
            sources: answered.sources,
        });
        let moved = answered.unavailable.into_iter().filter_map(|gap| {
            let rest = gap.field.strip_prefix(&inner)?;
            Some(Unavailable {
                field: format!("{place}{rest}"),
                ..gap
            })
        });
        self.report.unavailable.extend(moved);
        value
    }

    /// Says why a section is missing.
    pub(super) fn missing(&mut self, name: &'static str, error: &ErrorReply) {
        self.sections.insert(name.to_owned(), Value::Null);
        self.missing.push(name);
        self.report
            .missing(&format!("sections.{name}"), error.reason(), "");
    }
}
