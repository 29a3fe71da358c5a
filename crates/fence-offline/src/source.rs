//! Reads files and standard input as text, up to a size. The errors name the file and the line.

use std::{
    fmt,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// An upper bound of the size of a plan, request or configuration.
const MOST_MIB: u64 = 4;
const MOST_BYTES: u64 = MOST_MIB * 1024 * 1024;

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The system cannot read it.
    #[error("{}: {error}", Name(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// It is too long.
    #[error("{}: longer than {MOST_MIB} MiB", Name(path))]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// It is not text.
    #[error("{}: not UTF-8", Name(path))]
    NotUtf8 {
        /// The file.
        path: PathBuf,
    },
    /// Its text has another form.
    #[error("{}: not a {what}: {}{why}", Name(path), Line(*line))]
    NotThat {
        /// The file.
        path: PathBuf,
        /// The line of the problem, where it is known.
        line: Option<usize>,
        /// The expected form.
        what: &'static str,
        /// The reason.
        why: String,
    },
}

/// Whether a path stands for standard input.
#[must_use]
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The text of a file; `-` is standard input.
///
/// # Errors
/// [`SourceError`]
pub fn read(path: &Path) -> Result<String, SourceError> {
    let unreadable = |error| SourceError::Unreadable {
        path: path.to_owned(),
        error,
    };
    let mut bytes = Vec::new();
    let limit = MOST_BYTES + 1;
    if is_stdin(path) {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path)
            .map_err(unreadable)?
            .take(limit)
            .read_to_end(&mut bytes)
    }
    .map_err(unreadable)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST_BYTES {
        return Err(SourceError::TooLong {
            path: path.to_owned(),
        });
    }
    String::from_utf8(bytes).map_err(|_| SourceError::NotUtf8 {
        path: path.to_owned(),
    })
}

/// A path in a message.
pub(crate) struct Name<'a>(pub(crate) &'a Path);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_stdin(self.0) {
            f.write_str("standard input")
        } else {
            self.0.display().fmt(f)
        }
    }
}

/// The line of a problem, where it is known.
struct Line(Option<usize>);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, "line {line}: "))
    }
}
