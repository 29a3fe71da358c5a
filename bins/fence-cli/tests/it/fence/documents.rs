//! Checks that every test that `docs/FENCE.md` and `docs/THREATS.md` cite exists.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::fence::desk::root_file;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Collects every Rust file of the workspace, without build output.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !matches!(name.as_str(), "target" | "node_modules") {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// Whether a text has this function as a test.
fn has_test(text: &str, name: &str) -> bool {
    let signature = format!("fn {name}(");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.iter().enumerate().any(|(at, line)| {
        line.strip_prefix("async ")
            .unwrap_or(line)
            .starts_with(&signature)
            && lines[..at]
                .iter()
                .rev()
                .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
                .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    })
}

/// The names of Rust files between backticks.
fn citations(page: &str) -> Vec<&str> {
    let spans = page
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    spans.filter(|span| span.contains(".rs")).collect()
}

#[test]
fn every_test_that_is_cited_is_there() {
    let mut files = Vec::new();
    for folder in ["bins", "crates"] {
        sources(&root().join(folder), &mut files);
    }
    let (mut cited, mut wrong) = (0, Vec::new());
    for page in ["docs/FENCE.md", "docs/THREATS.md"] {
        let text = root_file(page);
        for citation in citations(&text) {
            let Some((file, test)) = citation.split_once("::") else {
                if !root().join(citation).is_file() {
                    wrong.push(format!("{page}: {citation}: neither a file nor file::test"));
                }
                continue;
            };
            cited += 1;
            let ending = format!("/{file}");
            let holders = files
                .iter()
                .filter(|path| path.to_string_lossy().ends_with(&ending))
                .filter(|path| has_test(&fs::read_to_string(path).unwrap(), test))
                .count();
            if holders != 1 {
                wrong.push(format!("{page}: {citation}: {holders} such tests"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(cited > 100, "{cited}");
}

#[test]
fn the_attacks_are_numbered_through_and_each_has_a_test() {
    let page = root_file("docs/THREATS.md");
    let (_, rest) = page.split_once("### The attacks one by one").unwrap();
    let (rows, _) = rest.split_once("\n\nA server adds").unwrap();
    let rows: Vec<Vec<&str>> = rows
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| no."))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 46);
    for (number, row) in (1..).zip(&rows) {
        assert_eq!(row[0], number.to_string());
        assert_eq!(row.len(), 4, "{row:?}");
        assert!(row[3].contains("::"), "{row:?}");
    }
}

#[test]
fn a_function_that_is_no_test_is_not_one() {
    let text = "#[test]\nfn one() {}\nfn helper() {}\n#[tokio::test(flavor = \"multi_thread\")]\n// why\nasync fn two() {}";
    assert!(has_test(text, "one") && has_test(text, "two"));
    assert!(!has_test(text, "helper") && !has_test(text, "on") && !has_test(text, "three"));
}
