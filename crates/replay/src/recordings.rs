//! A set of recorded answers, and the choice of the answer to a request.

mod request;

use std::{
    collections::BTreeMap,
    path::{Component, Path},
};

use serde::Deserialize;

pub(crate) use self::request::{Asked, Matcher};
use crate::{computed::Computed, embedded};

/// The time of the recordings, in Unix seconds: 2026-11-21T01:02:00Z. At this time their data has
/// the age that it had when it was recorded.
pub const RECORDED_AT: u64 = 1_795_222_920;

/// The recorded answers that the manifests of a folder list.
#[derive(Clone, Debug)]
pub struct Recordings {
    pub(crate) entries: Vec<Entry>,
    scenario: Option<String>,
    pub(crate) starts_at: u64,
}

impl Recordings {
    /// Returns the recordings of this repository, which are compiled into the binary.
    ///
    /// # Errors
    ///
    /// A [`RecordingError`] when the compiled-in files contradict each other. A test excludes that.
    pub fn embedded() -> Result<Self, RecordingError> {
        let upstreams = embedded::FILES
            .iter()
            .filter_map(|(name, _)| name.strip_suffix("/manifest.json"));
        Self::read(upstreams.map(str::to_owned).collect(), |file| {
            let found = embedded::FILES.iter().find(|(name, _)| *name == file);
            found.map(|(_, text)| (*text).to_owned())
        })
    }

    /// Reads the recordings of a folder. It has one folder for each upstream with a `manifest.json`
    /// in it, as `fixtures/upstreams` has.
    ///
    /// # Errors
    ///
    /// A [`RecordingError`] that names the file.
    pub fn load(folder: &Path) -> Result<Self, RecordingError> {
        let missing = |_| RecordingError::Missing {
            file: folder.display().to_string(),
        };
        let mut upstreams = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(missing)? {
            let path = entry.map_err(missing)?.path();
            if path.join("manifest.json").is_file()
                && let Some(name) = path.file_name().and_then(|name| name.to_str())
            {
                upstreams.push(name.to_owned());
            }
        }
        upstreams.sort();
        Self::read(upstreams, |file| {
            let path = Path::new(file);
            let inside = path
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
            inside
                .then(|| std::fs::read_to_string(folder.join(path)).ok())
                .flatten()
        })
    }

    /// Also serves the entries of `scenario`, and prefers them to the others.
    #[must_use]
    pub fn with_scenario(mut self, scenario: &str) -> Self {
        self.scenario = Some(scenario.to_owned());
        self
    }

    /// Computes the times in answers from this Unix time, in seconds, instead of [`RECORDED_AT`].
    #[must_use]
    pub fn at(mut self, now: u64) -> Self {
        self.starts_at = now;
        self
    }

    /// Returns the names of the recorded files, in the order of the manifests.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.file.as_str())
    }

    fn read(
        upstreams: Vec<String>,
        text_of: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, RecordingError> {
        let text_of = |file: String| text_of(&file).ok_or(RecordingError::Missing { file });
        let mut entries = Vec::new();
        for upstream in upstreams {
            let name = format!("{upstream}/manifest.json");
            let manifest: Manifest =
                serde_json::from_str(&text_of(name.clone())?).map_err(|error| {
                    RecordingError::Manifest {
                        file: name,
                        line: error.line(),
                        column: error.column(),
                    }
                })?;
            for listed in manifest.fixtures {
                let file = format!("{upstream}/{}", listed.file);
                let text = text_of(file.clone())?;
                let computed = match listed.computed.as_deref() {
                    None => None,
                    Some(name) => {
                        let computed = Computed::read(name, &text);
                        Some(
                            computed
                                .ok_or_else(|| RecordingError::Computed { file: file.clone() })?,
                        )
                    }
                };
                entries.push(Entry {
                    file,
                    request: listed.request,
                    response: listed.response,
                    scenario: listed.scenario,
                    text,
                    computed,
                });
            }
        }
        Ok(Self {
            entries,
            scenario: None,
            starts_at: RECORDED_AT,
        })
    }

    /// Returns the entry that answers `asked`: the first match of the chosen scenario, otherwise
    /// the first match without a scenario.
    pub(crate) fn find(&self, asked: &Asked) -> Option<&Entry> {
        let of = |scenario: Option<&str>| {
            self.entries
                .iter()
                .find(|entry| entry.scenario.as_deref() == scenario && entry.request.matches(asked))
        };
        self.scenario
            .as_deref()
            .and_then(|scenario| of(Some(scenario)))
            .or_else(|| of(None))
    }
}

/// Why recordings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// The manifest is not valid.
    #[error("{file} is not valid at line {line}, column {column}")]
    Manifest {
        /// The manifest.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// A listed file cannot be read.
    #[error("{file} cannot be read")]
    Missing {
        /// The file.
        file: String,
    },
    /// A computed answer names an unknown responder, or its recording does not fit the responder.
    #[error("{file} does not fit its responder")]
    Computed {
        /// The file.
        file: String,
    },
}

impl RecordingError {
    /// Returns the stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Manifest { .. } => "manifest_invalid",
            Self::Missing { .. } => "recording_missing",
            Self::Computed { .. } => "recording_unusable",
        }
    }
}

/// One recorded answer, with the requests that it answers.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) file: String,
    pub(crate) request: Matcher,
    pub(crate) response: Response,
    scenario: Option<String>,
    pub(crate) text: String,
    pub(crate) computed: Option<Computed>,
}

#[derive(Deserialize)]
struct Manifest {
    fixtures: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    file: String,
    request: Matcher,
    response: Response,
    #[serde(default)]
    scenario: Option<String>,
    #[serde(default)]
    computed: Option<String>,
}

/// The status and the headers of an entry's answer.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    fn folder() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/upstreams")
    }

    #[test]
    fn every_file_in_the_folders_is_listed_and_compiled_in() {
        let embedded = Recordings::embedded().unwrap();
        let loaded = Recordings::load(&folder()).unwrap();
        assert_eq!(
            embedded.files().collect::<Vec<_>>(),
            loaded.files().collect::<Vec<_>>()
        );
        // Several entries may use the same file.
        let listed: BTreeSet<_> = embedded.files().collect();
        let lying: BTreeSet<_> = embedded::FILES
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| !name.ends_with("/manifest.json"))
            .collect();
        assert_eq!(listed, lying);
    }

    #[test]
    fn every_entry_states_its_origin() {
        let manifests = embedded::FILES
            .iter()
            .filter(|(name, _)| name.ends_with("/manifest.json"));
        for (name, text) in manifests {
            let manifest: Value = serde_json::from_str(text).unwrap();
            for entry in manifest["fixtures"].as_array().unwrap() {
                for member in ["origin", "source", "date", "confidence"] {
                    assert!(
                        entry[member].as_str().is_some_and(|text| !text.is_empty()),
                        "{name}: {entry}"
                    );
                }
            }
        }
    }

    #[test]
    fn unusable_recordings_are_named() {
        let read = |manifest: &str| {
            Recordings::read(vec!["u".to_owned()], |file| {
                let text = if file == "u/manifest.json" {
                    manifest
                } else {
                    "{}"
                };
                Some(text.to_owned())
            })
            .unwrap_err()
            .code()
        };
        assert_eq!(read("{"), "manifest_invalid");
        let entry = |computed: &str| {
            format!(
                r#"{{"fixtures":[{{"file":"a","computed":"{computed}","request":{{"method":"GET","host":"h","path":"/"}},
                "response":{{"status":200,"content_type":"application/json"}}}}]}}"#
            )
        };
        assert_eq!(read(&entry("swap")), "recording_unusable");
        assert_eq!(read(&entry("unheard")), "recording_unusable");
        let missing = Recordings::read(vec!["u".to_owned()], |file| {
            (file == "u/manifest.json").then(|| entry("swap"))
        })
        .unwrap_err();
        assert_eq!(
            missing,
            RecordingError::Missing {
                file: "u/a".to_owned()
            }
        );
        assert!(Recordings::load(Path::new("/nowhere")).is_err());
    }
}
