//! Finds the source files of the repository, including those of crates outside the workspace.

use std::fs;
use std::path::{Path, PathBuf};

use crate::XtaskError;

/// Folders below the root that contain sources.
const FOLDERS: [&str; 2] = ["bins", "crates"];

/// Folders of built or downloaded files. They are skipped at any depth.
const SKIPPED: [&str; 2] = ["node_modules", "target"];

/// Returns every file with an ending, for example `rs`, in order.
///
/// # Errors
/// A folder cannot be read.
pub fn files(root: &Path, ending: &str) -> Result<Vec<PathBuf>, XtaskError> {
    let mut found = Vec::new();
    for folder in FOLDERS.map(|folder| root.join(folder)) {
        found.extend(files_below(&folder, ending)?);
    }
    Ok(found)
}

/// Returns every file with an ending below a folder, in order. Returns none when the folder does
/// not exist.
///
/// # Errors
/// A folder cannot be read.
fn files_below(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, XtaskError> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&folder).map_err(XtaskError::io(&folder))? {
            let path = entry.map_err(XtaskError::io(&folder))?.path();
            let is_skipped = path
                .file_name()
                .is_some_and(|name| SKIPPED.iter().any(|skipped| name == *skipped));
            if path.is_dir() && !is_skipped {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
