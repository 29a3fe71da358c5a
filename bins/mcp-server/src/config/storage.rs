//! `[storage]`.

use serde::Deserialize;
use serde::de::IgnoredAny;
use server_config::Problem;

/// The end of the names of this server's files.
const NAME: &str = "rail.db";

/// `[storage]`: the file for the state that outlives a restart.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageSection {
    /// `sqlite://` and a path. Without it all state stays in memory.
    pub url: Option<String>,
    /// Keys of the paid API, so that both servers can share one file; not read here.
    url_file: Option<IgnoredAny>,
    lease_seconds: Option<IgnoredAny>,
    connections: Option<IgnoredAny>,
    answer_retention_seconds: Option<IgnoredAny>,
    private_answer_seconds: Option<IgnoredAny>,
    payment_retention_days: Option<IgnoredAny>,
    max_bytes: Option<IgnoredAny>,
    artifact_max_bytes: Option<IgnoredAny>,
}

impl StorageSection {
    /// The path of the file. A `url` that ends in `rail.db` is its address; otherwise the file has
    /// that name and is in the same folder as the file of `url`. In a configuration that both
    /// servers share, `url` is the ledger of the paid API, which this server must not touch.
    #[must_use]
    pub fn file(&self) -> Option<String> {
        let path = self.url.as_deref()?.strip_prefix(SCHEME)?;
        let (folder, name) = match path.rfind('/') {
            Some(end) => path.split_at(end.saturating_add(1)),
            None => ("", path),
        };
        if name == NAME || name.ends_with(&format!(".{NAME}")) {
            return Some(path.to_owned());
        }
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        Some(format!("{folder}{stem}.{NAME}"))
    }

    pub(super) fn check(&self, problems: &mut Vec<Problem>) {
        let names_no_file = self.url.as_deref().is_some_and(|url| {
            let path = url.strip_prefix(SCHEME);
            path.is_none_or(|path| path.is_empty() || path.ends_with('/'))
        });
        if names_no_file {
            let message = "expected sqlite:// and the path of a file";
            problems.push(Problem::new("storage.url", message));
        }
    }
}

const SCHEME: &str = "sqlite://";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_of_the_paid_api_is_never_its_file() {
        let check = |url: &str, file: &str| {
            let section = StorageSection {
                url: Some(url.to_owned()),
                ..StorageSection::default()
            };
            assert_eq!(section.file().as_deref(), Some(file));
            let mut problems = Vec::new();
            section.check(&mut problems);
            assert!(problems.is_empty());
        };
        check("sqlite://data/rail.db", "data/rail.db");
        check("sqlite:///var/lib/a.rail.db", "/var/lib/a.rail.db");
        check("sqlite://data/service.db", "data/service.rail.db");
        check("sqlite://data.d/service", "data.d/service.rail.db");
        check("sqlite://guardrail.db", "guardrail.rail.db");
        check("sqlite://x", "x.rail.db");
    }

    #[test]
    fn other_addresses_are_problems() {
        for url in [
            "",
            "data/rail.db",
            "sqlite://",
            "sqlite://data/",
            "postgres://a/b",
        ] {
            let section = StorageSection {
                url: Some(url.to_owned()),
                ..StorageSection::default()
            };
            let mut problems = Vec::new();
            section.check(&mut problems);
            assert_eq!(problems.len(), 1, "{url}");
        }
    }
}
