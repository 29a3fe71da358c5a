//! Whole bodies of a known form.

use serde::de::DeserializeOwned;

use super::Json;
use crate::{error::SourceErrorKind, text::clean, transport::QUOTED_CHARS};

impl Json<'_> {
    /// Reads the value into the form `T`. An error names the place in the whole document.
    pub(crate) fn typed<T: DeserializeOwned>(&self) -> Result<T, SourceErrorKind> {
        read_json(self.raw().as_bytes()).map_err(|kind| self.placed(kind))
    }

    /// An error of this value with its place in the whole document.
    fn placed(&self, kind: SourceErrorKind) -> SourceErrorKind {
        match kind {
            SourceErrorKind::Malformed {
                path,
                expected,
                observed,
            } => SourceErrorKind::Malformed {
                path: format!("{}{}", self.path(), path.trim_start_matches('$')),
                expected,
                observed,
            },
            other => other,
        }
    }
}

/// Reads a JSON body of the form `T`. An error names the place.
pub(crate) fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, SourceErrorKind> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(other_form)?;
    reader.end().map_err(trailing)?;
    Ok(value)
}

fn other_form(error: serde_path_to_error::Error<serde_json::Error>) -> SourceErrorKind {
    SourceErrorKind::Malformed {
        path: match error.path().to_string().as_str() {
            "." => "$".to_owned(),
            path if path.starts_with('[') => format!("${path}"),
            path => format!("$.{path}"),
        },
        expected: "the documented form",
        observed: clean(&error.inner().to_string(), QUOTED_CHARS),
    }
}

fn trailing(error: serde_json::Error) -> SourceErrorKind {
    SourceErrorKind::Malformed {
        path: "$".to_owned(),
        expected: "one document",
        observed: clean(&error.to_string(), QUOTED_CHARS),
    }
}
