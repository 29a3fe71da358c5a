//! Circles of modules within each crate: files that cannot be read without each other.
//!
//! A file names another one by a path, whether in a `use` or in the code. What the files of its own
//! folders define, a file may always use, and code that only tests compile does not count. A circle
//! of up to [`MOST_FILES`] files is one subject in several files; a larger one has to be in the
//! table `modules/table.rs`, which may only shrink.

mod circles;
mod names;
mod table;
mod tree;

use std::fmt;
use std::fs;
use std::path::Path;

pub use self::table::{LISTED, Listed};
use self::tree::Tree;
use crate::XtaskError;

/// The files of the largest circle that is nobody's concern.
pub const MOST_FILES: usize = 3;

/// Files of one crate that name each other in a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circle {
    /// The crate, by its folder from the root of the workspace.
    pub folder: String,
    /// The files, from the crate's `src`, in order.
    pub files: Vec<String>,
}

/// What the table does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CircleFault {
    /// A circle that the table does not name, or one with further files.
    #[error("{circle}; expected at most {most}: move what they share into a file of its own")]
    Grown {
        /// The circle.
        circle: Circle,
        /// The files that it may have.
        most: usize,
    },
    /// A row whose circle has fewer files now.
    #[error(
        "{folder}: the circle of {file} has {observed} files, and its row says {listed}: write the new number, or remove the row up to {MOST_FILES}"
    )]
    Shrunk {
        /// The crate.
        folder: &'static str,
        /// A file of the circle.
        file: &'static str,
        /// The files of the row.
        listed: usize,
        /// The files of today.
        observed: usize,
    },
}

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

/// Every circle of every crate of the workspace.
///
/// # Errors
/// A source that cannot be read.
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

/// Compares the circles of a workspace with a table.
#[must_use]
pub fn check(circles: &[Circle], listed: &[Listed]) -> Vec<CircleFault> {
    let of_row = |row: &Listed, circle: &Circle| {
        circle.folder == row.folder && circle.files.iter().any(|file| file == row.file)
    };
    let grown = circles.iter().filter_map(|circle| {
        let row = listed.iter().find(|row| of_row(row, circle));
        let most = row.map_or(MOST_FILES, |row| row.files);
        (circle.files.len() > most).then(|| CircleFault::Grown {
            circle: circle.clone(),
            most,
        })
    });
    let shrunk = listed.iter().filter_map(|row| {
        let circle = circles.iter().find(|circle| of_row(row, circle));
        let observed = circle.map_or(0, |circle| circle.files.len());
        (observed < row.files).then_some(CircleFault::Shrunk {
            folder: row.folder,
            file: row.file,
            listed: row.files,
            observed,
        })
    });
    grown.chain(shrunk).collect()
}
