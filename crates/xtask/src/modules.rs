//! Finds circles of modules within each crate: files that name each other, so that none can be read
//! without the others.
//!
//! A file names another one by a path in a `use` or in the code. A file may always use the items of
//! its ancestors (`foo.rs` for the files of `foo/`). Code that only tests compile does not count. A
//! circle of up to [`MOST_FILES`] files is one subject in several files. A larger circle is
//! refused.

mod circles;
mod names;
mod tree;

use std::fmt;
use std::fs;
use std::path::Path;

use self::tree::Tree;
use crate::XtaskError;

/// The most files that a circle may have.
pub const MOST_FILES: usize = 3;

/// Files of one crate that name each other in a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circle {
    /// The folder of the crate, from the root of the workspace.
    pub folder: String,
    /// The paths of the files, from the crate's `src`, in order.
    pub files: Vec<String>,
}

/// A circle of more than [`MOST_FILES`] files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}; expected at most {MOST_FILES}: move the shared parts into a separate file")]
pub struct LargeCircle(pub Circle);

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { folder, files } = self;
        write!(
            f,
            "{folder}: {} files in a circle: {}",
            files.len(),
            files.join(", ")
        )
    }
}

/// Finds every circle of every crate of the workspace.
///
/// # Errors
/// A source cannot be read.
pub fn circles(root: &Path) -> Result<Vec<Circle>, XtaskError> {
    let mut found = Vec::new();
    for kind in ["bins", "crates"] {
        let folder = root.join(kind);
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).map_err(XtaskError::io(&folder))? {
            names.push(entry.map_err(XtaskError::io(&folder))?.file_name());
        }
        names.sort();
        for name in names {
            let source = folder.join(&name).join("src");
            let library = source.join("lib.rs");
            if library.is_file() {
                let folder = format!("{kind}/{}", name.display());
                found.extend(circles_of(&folder, &source, &library)?);
            }
        }
    }
    Ok(found)
}

fn circles_of(folder: &str, source: &Path, library: &Path) -> Result<Vec<Circle>, XtaskError> {
    let edges = names::edges(&Tree::read(library)?);
    let name = |file: &std::path::PathBuf| {
        let below = file.strip_prefix(source).unwrap_or(file);
        below.display().to_string()
    };
    let circles = circles::circles(&edges).into_iter().map(|files| Circle {
        folder: folder.to_owned(),
        files: files.iter().map(name).collect(),
    });
    Ok(circles.collect())
}

/// Returns every circle of more than [`MOST_FILES`] files.
#[must_use]
pub fn check(circles: &[Circle]) -> Vec<LargeCircle> {
    let large = circles
        .iter()
        .filter(|circle| circle.files.len() > MOST_FILES);
    large.cloned().map(LargeCircle).collect()
}
