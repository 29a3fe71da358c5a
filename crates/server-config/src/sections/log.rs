//! The section `[log]`.

use serde::Deserialize;
use tracing_subscriber::EnvFilter;

use crate::Problem;

/// `[log]`: the log on standard error.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSection {
    /// The form of a line: `text` for people, `json` for collectors.
    pub format: LogFormat,
    /// A filter in the syntax of `tracing`: `info`, `api_server=debug,info`.
    pub filter: Option<String>,
}

impl LogSection {
    /// Checks the section.
    pub fn check(&self, problems: &mut Vec<Problem>) {
        let filter = self.filter.as_deref().unwrap_or_default();
        if let Err(error) = EnvFilter::try_new(filter) {
            problems.push(Problem::new("log.filter", error.to_string()));
        }
    }
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One line of text for each event.
    #[default]
    Text,
    /// One JSON object for each event.
    Json,
}
