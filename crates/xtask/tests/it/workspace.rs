//! The members of the workspace: what plain `cargo build` compiles, and which targets have tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cargo_metadata::{Metadata, MetadataCommand};

/// The tools of the house: their commands compile them, and plain `cargo build` does not.
const TOOLS: [&str; 5] = ["bench", "judges", "recorder", "siege", "xtask"];

fn metadata() -> Metadata {
    let mut metadata = MetadataCommand::new();
    metadata.no_deps();
    // In the folder of a package, that package alone is the default.
    metadata.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    metadata.exec().unwrap()
}

#[test]
fn every_crate_but_the_tools_is_a_default_member() {
    let metadata = metadata();
    let default: BTreeSet<&str> = metadata
        .workspace_default_packages()
        .into_iter()
        .map(|package| package.name.as_str())
        .collect();
    let all = metadata.workspace_packages();
    let expected: BTreeSet<&str> = all
        .iter()
        .map(|package| package.name.as_str())
        .filter(|name| !TOOLS.contains(name))
        .collect();
    assert_eq!(default, expected);
}

/// A test in a target that is not tested would never run.
#[test]
fn targets_without_unit_tests_have_none() {
    let mut checked = 0;
    for package in metadata().workspace_packages() {
        let untested = package.targets.iter().filter(|target| !target.test);
        for target in untested.filter(|target| target.is_bin() || target.is_lib()) {
            let source = target.src_path.as_std_path();
            let found = match target.is_lib() {
                true => has_tests(source.parent().unwrap()),
                false => has_tests(source),
            };
            assert!(!found, "{}: {} has tests", package.name, target.name);
            checked += 1;
        }
    }
    assert!(checked > 0);
}

fn has_tests(path: &Path) -> bool {
    if path.is_dir() {
        let mut entries = fs::read_dir(path).unwrap().flatten();
        return entries.any(|entry| has_tests(&entry.path()));
    }
    let text = fs::read_to_string(path).unwrap_or_default();
    text.contains("#[test]") || text.contains("#[tokio::test")
}
