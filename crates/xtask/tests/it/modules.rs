//! Tests that no crate has a circle of more than three files, and that the checker finds every kind
//! of circle.

use std::fs;
use std::path::Path;

use xtask::modules::{Circle, LargeCircle, check, circles};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

#[test]
fn this_workspace_has_no_large_circle() {
    let faults = check(&circles(root()).unwrap());
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Finds the circles of a crate with these files below `src`.
fn circles_of(files: &[(&str, &str)]) -> Vec<Circle> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bins")).unwrap();
    let source = folder.path().join("crates/made/src");
    for (name, text) in files {
        let file = source.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    circles(folder.path()).unwrap()
}

#[track_caller]
fn check_circle(files: &[(&str, &str)], expected: &[&str]) {
    let circles = circles_of(files);
    let found: Vec<Vec<String>> = circles.into_iter().map(|circle| circle.files).collect();
    let expected: Vec<Vec<String>> = match expected {
        [] => Vec::new(),
        files => vec![files.iter().map(|&file| file.to_owned()).collect()],
    };
    assert_eq!(found, expected, "{files:?}");
}

#[test]
fn a_circle_is_found_however_a_file_is_named() {
    let roots = "mod a; mod b;";
    for uses_b in [
        "use crate::b::B;",
        "use super::b::B;",
        "use crate::b::{B as Other, self};",
        "use crate::b::*;",
        "use crate::{b::B};",
        "fn f() -> crate::b::B { todo!() }",
        "fn f() { use crate::b::B; }",
        "fn f() { assert!(crate::b::B::is()); }",
        "struct S(super::b::B);",
        "mod inner { use super::super::b::B; }",
        "use crate::b; fn f() { b::B::new(); }",
    ] {
        let a = format!("{uses_b} pub struct A;");
        let files = [
            ("lib.rs", roots),
            ("a.rs", &*a),
            ("b.rs", "use crate::a::A; pub struct B;"),
        ];
        check_circle(&files, &["a.rs", "b.rs"]);
    }
}

#[test]
fn a_name_that_is_exported_again_leads_to_the_file_that_defines_it() {
    let a = ("a.rs", "use crate::B; pub struct A;");
    let b = ("b.rs", "use super::A; pub struct B;");
    let lib = "mod a; mod b; pub use a::A; pub use b::*;";
    check_circle(&[("lib.rs", lib), a, b], &["a.rs", "b.rs"]);
    // A file that only gathers the others is in no circle.
    let deep = [
        ("lib.rs", "mod m;"),
        ("m.rs", "mod a; mod b; pub use self::{a::A, b::B};"),
        ("m/a.rs", "use crate::m::B; pub struct A;"),
        ("m/b.rs", "use super::A; pub struct B;"),
    ];
    check_circle(&deep, &["m/a.rs", "m/b.rs"]);
}

#[test]
fn permitted_uses_are_no_circle() {
    let lib = ("lib.rs", "mod a; mod b; pub struct Shared;");
    let a = ("a.rs", "use crate::b::B;");
    for b in [
        "pub struct B;",
        // A file may use the items of its ancestors, here `lib.rs`.
        "use crate::Shared; pub struct B;",
        "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }",
        "pub struct B; #[cfg(test)] use crate::a::A;",
        "pub struct B; /* crate::a::A */ const T: &str = \"crate::a::A\";",
        "use other::a::A; pub struct B;",
    ] {
        check_circle(&[lib, a, ("b.rs", b)], &[]);
    }
    let parent = [
        ("lib.rs", "mod m;"),
        ("m.rs", "mod part; use part::P; pub struct M(P);"),
        ("m/part.rs", "use super::M; pub struct P;"),
    ];
    check_circle(&parent, &[]);
}

#[test]
fn a_circle_of_more_than_three_files_is_refused() {
    let circle = |files: &[&str]| Circle {
        folder: "crates/made".to_owned(),
        files: files.iter().map(|&file| file.to_owned()).collect(),
    };
    let three = circle(&["a.rs", "b.rs", "c.rs"]);
    let four = circle(&["d.rs", "e.rs", "f.rs", "g.rs"]);
    assert_eq!(check(&[three, four.clone()]), [LargeCircle(four.clone())]);
    assert_eq!(
        LargeCircle(four).to_string(),
        "crates/made: 4 files in a circle: d.rs, e.rs, f.rs, g.rs; expected at most 3: move the shared parts into a separate file"
    );
}
