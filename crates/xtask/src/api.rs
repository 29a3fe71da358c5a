//! The public interface of the crates that other projects depend on, as a text file in each crate.
//!
//! [`text`] reads the sources, not the compiler's output, so the text does not depend on the
//! toolchain. It relies on the lint `unreachable_pub`: every item with `pub` can be reached.
//!
//! The text shows signatures, public fields, variants, derived and written trait implementations,
//! constants with their values, and the input of macros. It does not show documentation, bodies, or
//! traits that the compiler implements by itself (`Send`).

mod render;
mod walk;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::XtaskError;

/// The crates with such a file.
pub const CRATES: [&str; 4] = ["exact", "plan-builder", "calldata-checks", "x402-wire"];

/// The name of the file that keeps a crate's interface.
pub const FILE: &str = "public-api.txt";

/// Writes the interface of every crate of [`CRATES`] into its file.
///
/// # Errors
/// A source cannot be read or parsed, or the file cannot be written.
pub fn write(root: &Path) -> Result<(), XtaskError> {
    for name in CRATES {
        let path = file(root, name);
        fs::write(&path, text(&root.join("crates").join(name))?).map_err(XtaskError::io(&path))?;
    }
    Ok(())
}

/// Compares the interface of every crate of [`CRATES`] with its file.
///
/// # Errors
/// [`XtaskError::Api`] with the removed and the added lines.
pub fn check(root: &Path) -> Result<(), XtaskError> {
    for name in CRATES {
        let path = file(root, name);
        let kept = fs::read_to_string(&path).map_err(XtaskError::io(&path))?;
        let now = text(&root.join("crates").join(name))?;
        if kept != now {
            let changes = changes(&kept, &now);
            return Err(XtaskError::Api { name, changes });
        }
    }
    Ok(())
}

/// Returns the public interface of the library in a crate's folder, as text.
///
/// # Errors
/// A source cannot be read or parsed.
pub fn text(folder: &Path) -> Result<String, XtaskError> {
    let modules = walk::modules(&folder.join("src/lib.rs"))?;
    Ok(render::text(&modules))
}

fn file(root: &Path, name: &str) -> PathBuf {
    root.join("crates").join(name).join(FILE)
}

fn changes(kept: &str, now: &str) -> Vec<String> {
    let (old, new): (BTreeSet<_>, BTreeSet<_>) = (kept.lines().collect(), now.lines().collect());
    let gone = kept.lines().filter(|line| !new.contains(line));
    let came = now.lines().filter(|line| !old.contains(line));
    let gone = gone.map(|line| format!("- {line}"));
    gone.chain(came.map(|line| format!("+ {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = r##"
        //! Documentation.
        mod inner;
        pub mod outer { pub fn there() -> u8 { 1 } }
        pub use inner::Shown;
        /// Documentation.
        #[derive(Debug, Clone)]
        #[must_use]
        pub struct Half { pub seen: u8, hidden: u8 }
        pub struct Pair(pub u8, u8);
        struct Secret;
        impl Secret { pub fn no(&self) {} }
        impl Half {
            pub const LIMIT: u8 = 7;
            /// Documentation.
            pub fn get(&self) -> u8 { self.seen + self.hidden }
            fn secret(&self) {}
        }
        impl std::fmt::Display for Half {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) }
        }
        #[non_exhaustive]
        pub enum Kind { One, Two { pub_by_nature: u8 } }
        pub trait Port { type Out; fn ask(&self) -> Self::Out; fn more(&self) -> u8 { 0 } }
        #[cfg(feature = "extra")]
        pub fn extra() {}
        pub(crate) fn within() {}
        #[cfg(test)]
        mod tests { pub fn not_there() {} }
    "##;

    fn rendered(library: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/lib.rs"), library).unwrap();
        let inner = "pub enum Shown { A }\nimpl Shown { pub fn a() {} }\n";
        fs::write(folder.path().join("src/inner.rs"), inner).unwrap();
        text(folder.path()).unwrap()
    }

    #[test]
    fn only_reachable_items_are_shown() {
        let text = rendered(LIBRARY);
        for shown in [
            "#[derive(Debug, Clone)]",
            "pub seen: u8,",
            "pub struct Pair(pub u8, Private);",
            "private: Private,",
            "pub const LIMIT: u8 = 7;",
            "pub fn get(&self) -> u8;",
            "impl std::fmt::Display for Half",
            "#[non_exhaustive]",
            "Two { pub_by_nature: u8 },",
            "type Out;",
            "fn ask(&self) -> Self::Out;",
            "fn more(&self) -> u8 { .. }",
            "#[cfg(feature = \"extra\")]",
            "pub enum Shown",
            "pub fn a();",
            "pub use inner::Shown;",
            "pub fn there() -> u8;",
        ] {
            assert!(text.contains(shown), "{shown}\n{text}");
        }
        for hidden in [
            "Documentation",
            "hidden",
            "secret",
            "Secret",
            "not_there",
            "within",
            "must_use",
        ] {
            assert!(!text.contains(hidden), "{hidden}\n{text}");
        }
    }

    #[test]
    fn order_bodies_and_documentation_do_not_change_the_text() {
        let one = rendered("pub fn a() {}\n/// One.\npub fn b() { 1; }\nmod inner;");
        let other = rendered("mod inner;\npub fn b() { 2; }\npub fn a() {}");
        assert_eq!(one, other);
    }

    #[test]
    fn a_change_is_reported_with_its_lines() {
        let before = rendered("pub fn a(x: u8) {}");
        let after = rendered("pub fn a(x: u16) {}");
        let changed = changes(&before, &after);
        assert_eq!(changed, ["- pub fn a(x: u8);", "+ pub fn a(x: u16);"]);
    }
}
