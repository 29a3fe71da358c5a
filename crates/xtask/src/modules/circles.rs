//! Finds files that name each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::names::Edges;

/// Returns the largest sets of files in which each file leads to every other one, in order. A
/// single file is no circle.
pub(super) fn circles(edges: &Edges) -> Vec<Vec<PathBuf>> {
    let reached: BTreeMap<&Path, BTreeSet<&Path>> = edges
        .keys()
        .map(|file| (file.as_path(), reach(edges, file)))
        .collect();
    let leads = |from: &Path, to: &Path| reached.get(from).is_some_and(|all| all.contains(to));
    let mut placed: BTreeSet<&Path> = BTreeSet::new();
    let mut circles = Vec::new();
    for file in reached.keys().copied() {
        if !leads(file, file) || placed.contains(file) {
            continue;
        }
        let mutual = |other: &&Path| leads(file, other) && leads(other, file);
        let circle: Vec<&Path> = reached.keys().copied().filter(mutual).collect();
        placed.extend(&circle);
        circles.push(circle.into_iter().map(Path::to_owned).collect());
    }
    circles
}

/// Returns every file that one file reaches. It contains the file itself when the file is in a
/// circle.
fn reach<'a>(edges: &'a Edges, start: &Path) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Path> = edges
        .get(start)
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    while let Some(file) = open.pop() {
        if reached.insert(file) {
            open.extend(edges.get(file).into_iter().flatten().map(PathBuf::as_path));
        }
    }
    reached
}
