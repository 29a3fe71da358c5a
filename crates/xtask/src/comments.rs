//! Checks the width of comments in Rust and SQL. `rustfmt` does not change it.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use crate::{XtaskError, sources};

/// The most characters of a line with a comment. Code has the same width.
pub const WIDTH: usize = 100;

/// A line of a comment that is too wide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wide {
    /// Its file.
    pub file: PathBuf,
    /// The number of the line, from 1.
    pub line: usize,
    /// How many characters the line has.
    pub width: usize,
}

impl fmt::Display for Wide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, width } = self;
        write!(
            f,
            "{}:{line}: a comment of {width} characters, expected at most {WIDTH}",
            file.display()
        )
    }
}

/// Finds every line of the sources that begins with a comment and is wider than [`WIDTH`]. Examples
/// between ``` lines may be wider, because their lines cannot always be broken.
///
/// # Errors
/// A file or folder cannot be read.
pub fn check(root: &std::path::Path) -> Result<Vec<Wide>, XtaskError> {
    let mut wide = Vec::new();
    for (ending, mark) in [("rs", "//"), ("sql", "--")] {
        for file in sources::files(root, ending)? {
            let text = fs::read_to_string(&file).map_err(XtaskError::io(&file))?;
            let lines = too_wide(&text, mark).into_iter();
            wide.extend(lines.map(|(line, width)| Wide {
                file: file.clone(),
                line,
                width,
            }));
        }
    }
    Ok(wide)
}

/// Finds the comments of a text that are too wide. They begin with `mark`. Returns the numbers of
/// their lines and how many characters these have.
fn too_wide(text: &str, mark: &str) -> Vec<(usize, usize)> {
    let mut in_example = false;
    let mut wide = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let Some(comment) = line.trim_start().strip_prefix(mark) else {
            in_example = false;
            continue;
        };
        let is_fence = comment
            .trim_start_matches(['/', '!', ' '])
            .starts_with("```");
        in_example ^= is_fence;
        let width = line.chars().count();
        if width > WIDTH && !in_example {
            wide.push((number, width));
        }
    }
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(usize, usize)]) {
        assert_eq!(too_wide(text, "//"), expected, "{text}");
    }

    #[test]
    fn a_comment_is_at_most_as_wide_as_code() {
        let of = |width: usize| format!("    /// {}\n", "a".repeat(width - 8));
        check(&of(100), &[]);
        check(&of(101), &[(1, 101)]);
        check(&format!("fn f() {{}}\n{}{}", of(100), of(120)), &[(3, 120)]);
        // Characters are counted, not bytes.
        check(&of(100).replace('a', "₮"), &[]);
        let code = format!("    let a = \"{}\";\n", "a".repeat(120));
        check(&code, &[]);
        let sql = format!("SELECT 1;\n  -- {}\n", "a".repeat(100));
        assert_eq!(too_wide(&sql, "--"), [(2, 105)]);
    }

    #[test]
    fn examples_may_be_wider() {
        let wide = format!("//! {}\n", "a".repeat(120));
        check(&format!("//! ```text\n{wide}//! ```\n"), &[]);
        check(&format!("//! ```text\n//! ```\n{wide}"), &[(3, 124)]);
        // An example that is never closed ends with its comment.
        check(&format!("//! ```\nmod a;\n{wide}"), &[(3, 124)]);
    }
}
