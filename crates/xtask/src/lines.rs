//! Counts the lines of each crate: its sources and its tests.

use std::fmt;
use std::fs;
use std::path::{Component, Path};

use crate::{XtaskError, sources};

/// The lines of one crate. Blank lines and comments count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// Its folder, from the root of the workspace.
    pub folder: String,
    /// The lines that are compiled without tests.
    pub source: usize,
    /// The lines of the modules of tests, and of the folders `tests`, `benches` and `examples`.
    pub tests: usize,
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            folder,
            source,
            tests,
        } = self;
        write!(f, "{folder:28} {source:>7} {tests:>7}")
    }
}

/// The heading of the table.
pub const HEADING: &str = "crate                         source   tests";

/// Counts the lines of every folder below `bins` and `crates`. The last row is the sum.
///
/// # Errors
/// A file or folder cannot be read.
pub fn count(root: &Path) -> Result<Vec<Lines>, XtaskError> {
    let mut rows: Vec<Lines> = Vec::new();
    let mut sum = Lines {
        folder: "all".to_owned(),
        source: 0,
        tests: 0,
    };
    for file in sources::files(root, "rs")? {
        let below = file.strip_prefix(root).unwrap_or(&file);
        let mut parts = below.components();
        let (Some(kind), Some(name)) = (parts.next(), parts.next()) else {
            continue;
        };
        let folder = Path::new(&kind).join(name).display().to_string();
        let text = fs::read_to_string(&file).map_err(XtaskError::io(&file))?;
        let all = text.lines().count();
        let source = match is_test_file(parts.as_path()) {
            true => 0,
            false => source_lines(&text),
        };
        let tests = all.saturating_sub(source);
        sum.source = sum.source.saturating_add(source);
        sum.tests = sum.tests.saturating_add(tests);
        match rows.last_mut().filter(|row| row.folder == folder) {
            Some(row) => {
                row.source = row.source.saturating_add(source);
                row.tests = row.tests.saturating_add(tests);
            }
            None => rows.push(Lines {
                folder,
                source,
                tests,
            }),
        }
    }
    rows.push(sum);
    Ok(rows)
}

/// Whether a file is compiled with tests or examples only. `file` is its path from the folder of
/// its crate.
fn is_test_file(file: &Path) -> bool {
    if file == Path::new("build.rs") {
        return false;
    }
    let mut parts = file.components();
    let outside = parts.next() != Some(Component::Normal("src".as_ref()));
    let is_tests = |part: Component<'_>| {
        ["tests", "tests.rs"]
            .map(Path::new)
            .contains(&part.as_ref())
    };
    outside || parts.any(is_tests)
}

/// Counts the lines of a file before its module of tests, which comes last. A declaration of a
/// module of tests in another file counts as source.
fn source_lines(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.windows(2).position(|pair| match pair {
        [attribute, module] => {
            *attribute == "#[cfg(test)]" && module.starts_with("mod ") && module.ends_with('{')
        }
        _ => false,
    });
    at.unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_sources_differ_by_folder_and_by_file() {
        for (file, expected) in [
            ("src/lib.rs", false),
            ("build.rs", false),
            ("src/seal/tests_of_law.rs", false),
            ("src/seal/tests.rs", true),
            ("src/seal/tests/vectors.rs", true),
            ("tests/edge.rs", true),
            ("examples/pay.rs", true),
        ] {
            assert_eq!(is_test_file(Path::new(file)), expected, "{file}");
        }
    }

    #[test]
    fn a_module_of_tests_ends_the_source_of_a_file() {
        assert_eq!(source_lines("a\nb\n"), 2);
        assert_eq!(
            source_lines("a\n\n#[cfg(test)]\nmod tests {\n    x\n}\n"),
            2
        );
        assert_eq!(source_lines("a\n#[cfg(test)]\nmod tests;\n"), 3);
    }

    #[test]
    fn every_line_of_a_crate_is_in_one_column() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write(
            "crates/a/src/lib.rs",
            "1\n2\n#[cfg(test)]\nmod tests {\n}\n",
        );
        write("crates/a/tests/t.rs", "1\n");
        write("crates/a/target/built.rs", "1\n");
        write("bins/b/src/main.rs", "1\n2\n3\n");
        let rows = count(folder.path()).unwrap();
        let shown: Vec<(&str, usize, usize)> = rows
            .iter()
            .map(|row| (row.folder.as_str(), row.source, row.tests))
            .collect();
        let expected = [("bins/b", 3, 0), ("crates/a", 2, 4), ("all", 5, 4)];
        assert_eq!(shown, expected);
    }
}
