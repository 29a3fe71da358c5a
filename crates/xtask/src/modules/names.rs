//! Resolves a path in a module to the file that defines the named item.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::tree::{ModuleIndex, Tree};

/// For each file of a crate, the files that it names.
pub(super) type Edges = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// The meaning of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Module(ModuleIndex),
    /// An item that this module defines.
    Item(ModuleIndex),
}

/// Returns the edges between the files of a crate.
///
/// A re-exported name leads to the file that defines it. The re-export itself counts as no use, so
/// a file that only gathers its children is in no edge. Names from a file's ancestors make no edge
/// either: `foo.rs` contains what the files of `foo/` share.
pub(super) fn edges(tree: &Tree) -> Edges {
    let mut edges = Edges::new();
    for from in tree.indices() {
        let Some(module) = tree.get(from) else {
            continue;
        };
        let imported = module.used.iter().map(|path| (path, false));
        let globs = module.globs.iter().map(|path| (path, true));
        let named = module.paths.iter().map(|path| (path, false));
        let used = edges.entry(module.file.clone()).or_default();
        for (path, is_glob) in imported.chain(globs).chain(named) {
            let to = match resolve(tree, from, path, MOST_STEPS) {
                Some(Meaning::Item(to)) => to,
                // A path that names only a module uses nothing in it.
                Some(Meaning::Module(to)) if is_glob => to,
                _ => continue,
            };
            if let Some(file) = tree.get(to).map(|module| &module.file)
                && !tree.way_up(from).any(|above| above.file == *file)
            {
                used.insert(file.clone());
            }
        }
    }
    edges
}

/// The most re-exports that are followed. The limit also ends circles of globs.
const MOST_STEPS: u8 = 12;

/// Finds what a path in the module `from` means. `None` for an item of another crate.
fn resolve(tree: &Tree, from: ModuleIndex, path: &[String], steps: u8) -> Option<Meaning> {
    let steps = steps.checked_sub(1)?;
    let (first, mut rest) = path.split_first()?;
    let mut at = match first.as_str() {
        "crate" => Meaning::Module(tree.root()),
        "self" => Meaning::Module(from),
        "super" => Meaning::Module(tree.get(from)?.parent?),
        name => meaning(tree, from, name, steps)?,
    };
    while let (Meaning::Module(module), Some((next, more))) = (at, rest.split_first()) {
        at = match next.as_str() {
            "super" => Meaning::Module(tree.get(module)?.parent?),
            // The item may be defined by a macro, so the text does not show it.
            name => meaning(tree, module, name, steps).unwrap_or(Meaning::Item(module)),
        };
        rest = more;
    }
    Some(at)
}

/// Finds what a name in a module means.
fn meaning(tree: &Tree, module: ModuleIndex, name: &str, steps: u8) -> Option<Meaning> {
    let here = tree.get(module)?;
    if let Some(child) = here.children.get(name) {
        return Some(Meaning::Module(*child));
    }
    if here.items.contains(name) {
        return Some(Meaning::Item(module));
    }
    if let Some(path) = here.imports.get(name) {
        // A `use name;` of another crate would lead to itself.
        return match path.as_slice() {
            [only] if only == name => None,
            path => resolve(tree, module, path, steps),
        };
    }
    here.globs.iter().find_map(|glob| {
        let Meaning::Module(other) = resolve(tree, module, glob, steps)? else {
            return None;
        };
        meaning(tree, other, name, steps.checked_sub(1)?)
    })
}
