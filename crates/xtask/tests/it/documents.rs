//! Tests that the links and paths in the documents lead to existing files and headings.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

/// Returns every Markdown file of the repository, written by hand or generated.
fn documents() -> Vec<PathBuf> {
    let mut found = markdown_in(root());
    let mut open = [".github", "bins", "crates", "docs", "fixtures"]
        .map(|folder| root().join(folder))
        .to_vec();
    while let Some(folder) = open.pop() {
        found.extend(markdown_in(&folder));
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
        let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
        let folders = folders.map(|entry| entry.path());
        open.extend(
            folders.filter(|path| !path.ends_with("target") && !path.ends_with("node_modules")),
        );
    }
    assert!(found.len() > 60, "{found:?}");
    found
}

fn markdown_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect()
}

/// Returns the lines of a text outside of examples.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_example = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_example ^= is_fence;
        !in_example && !is_fence
    })
}

/// Returns the text between the parentheses of each `[…](…)`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once(')')?.0))
}

/// Returns the anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let text: String = heading.trim().chars().filter(kept).collect();
    text.to_lowercase().replace(' ', "-")
}

fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

/// Returns why a link of a document leads nowhere. `None` when it leads somewhere.
fn fault(document: &Path, text: &str, link: &str) -> Option<String> {
    let is_elsewhere = ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| link.starts_with(scheme));
    // `rustdoc` checks the names of items.
    let is_item = link.contains("::") || !link.contains(['/', '.', '#']);
    if is_elsewhere || is_item {
        return None;
    }
    let (path, wanted) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (link, None),
    };
    let target = match path {
        "" => document.to_owned(),
        path => document.parent().unwrap().join(path),
    };
    if !target.exists() {
        return Some(format!("{link} does not exist"));
    }
    let wanted = wanted?;
    let found = match path {
        "" => anchors(text),
        _ => anchors(&fs::read_to_string(&target).unwrap_or_default()),
    };
    (!found.iter().any(|anchor| anchor == wanted)).then(|| format!("{link}: no such heading"))
}

#[test]
fn links_lead_to_existing_files_and_headings() {
    let mut faults = Vec::new();
    let mut checked = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in prose(&text).flat_map(links) {
            checked += 1;
            let fault = fault(&document, &text, link);
            faults.extend(fault.map(|fault| format!("{}: {fault}", document.display())));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(checked > 300, "{checked}");
}

/// Whether a path has a word in capitals. Such a path describes several paths.
fn stands_for_several(path: &str) -> bool {
    let is_capital = |part: &str| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase());
    path.split(['/', '.']).any(is_capital) && !path.ends_with(".md")
}

#[test]
fn paths_of_the_architecture_and_of_how_to_add_something_exist() {
    for document in ["docs/ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let words = prose(&text).flat_map(|line| line.split('`').skip(1).step_by(2));
        let is_path = |word: &&str| {
            let mut starts = ["bins/", "crates/", "docs/", "fixtures/"].into_iter();
            starts.any(|start| word.starts_with(start)) && !stands_for_several(word)
        };
        let paths: Vec<&str> = words.filter(is_path).collect();
        assert!(paths.len() > 5, "{document}: {paths:?}");
        for path in paths {
            assert!(root().join(path).exists(), "{document}: {path}");
        }
    }
}

/// Each row of the way to a signature names functions and links files. Every function is in one of
/// the files of its row.
#[test]
fn judges_before_a_signature_are_where_the_architecture_says() {
    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let (_, section) = text
        .split_once("\n## From a request to a signature\n")
        .unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let (mut faults, mut checked) = (Vec::new(), 0);
    for row in section.lines().filter(|line| line.starts_with('|')) {
        let files = links(row).filter(|link| link.ends_with(".rs"));
        let files: String = files
            .map(|link| fs::read_to_string(root().join("docs").join(link)).unwrap())
            .collect();
        let is_function = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        for function in row.split('`').skip(1).step_by(2).filter(is_function) {
            checked += 1;
            let is_there = ["(", "<"].iter().any(|after| {
                let signature = format!("fn {function}{after}");
                files.contains(&signature)
            });
            if !is_there {
                faults.push(format!("{function}: {row}"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(checked > 35, "{checked}");
}

#[test]
fn broken_links_are_found() {
    let document = root().join("docs/ARCHITECTURE.md");
    let text = "# A title: `code` and more\n```\n# no heading\n```\n";
    for (link, expected) in [
        ("../crates/xtask/src/lib.rs", true),
        ("../crates/xtask/src/none.rs", false),
        ("DESIGN.md", true),
        ("DESIGNS.md", false),
        ("#a-title-code-and-more", true),
        ("#no-heading", false),
        ("DESIGN.md#no-such-heading-there", false),
        ("https://example.com/none", true),
        ("crate::Item", true),
    ] {
        assert_eq!(fault(&document, text, link).is_none(), expected, "{link}");
    }
    assert_eq!(
        links("[a](b), [`c`](d.md#e)").collect::<Vec<_>>(),
        ["b", "d.md#e"]
    );
}
