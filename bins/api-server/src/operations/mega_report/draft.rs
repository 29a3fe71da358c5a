//! A report in progress: its sections, and the warnings, times and sources of their answers.

use data_sources::Sourced;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::super::token_deep_dive::drop_none;
use super::Section;
use crate::answer::{Answered, Cut, Part, Unavailable, Warning};
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;

/// A report in progress.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) sections: Map<String, Value>,
    pub(super) missing: Vec<&'static str>,
    pub(super) report: SourceReport,
    /// The warnings of the sections' routes, each once.
    pub(super) warnings: Vec<Warning>,
    /// The age and the bound of each section.
    pub(super) ages: Vec<Part>,
    /// The time of the oldest section.
    pub(super) as_of: Option<Timestamp>,
}

impl Draft {
    /// Adds a section, or the reason why it is missing.
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

    /// Takes over everything beside the data of an answer, or of its `list`, and returns the data.
    /// The caller puts the data at `place`.
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
        // Lists that the section's own answer shortened are short here as well.
        for cut in answered.cut {
            if let Some(rest) = cut.field.strip_prefix(&inner) {
                let field = format!("{place}{rest}");
                self.report.cut.push(Cut { field, ..cut });
            }
        }
        drop_none(&mut value, answered.none);
        self.report.accept(Sourced {
            value: (),
            sources: answered.sources,
        });
        let moved = answered.unavailable.into_iter().filter_map(|entry| {
            let rest = entry.field.strip_prefix(&inner)?;
            Some(Unavailable {
                field: format!("{place}{rest}"),
                ..entry
            })
        });
        self.report.unavailable.extend(moved);
        value
    }

    /// Records the reason why a section is missing.
    pub(super) fn missing(&mut self, name: &'static str, error: &ErrorReply) {
        self.sections.insert(name.to_owned(), Value::Null);
        self.missing.push(name);
        self.report
            .missing(&format!("sections.{name}"), error.reason(), "");
    }
}
