//! The table of codes in `docs/FENCE.md`.

use std::path::Path;

use delegation_fence::{Class, Rule};

const BEGIN: &str = "<!-- begin: codes -->\n";
const END: &str = "<!-- end: codes -->\n";

#[test]
fn the_documented_codes_are_those_of_the_rules() {
    let classes = [
        (
            Class::Malformed,
            "422",
            "cannot be read; the same bytes are refused everywhere",
        ),
        (
            Class::Refused,
            "403",
            "a grant, a limit, an order or the fence refuses",
        ),
        (
            Class::NotFound,
            "404",
            "never seen; `submission_not_found` for a plan",
        ),
        (
            Class::Conflict,
            "409",
            "in the way of something that was accepted before",
        ),
        (
            Class::Unavailable,
            "503",
            "cannot be judged now; `fence_store_unavailable`, `custody_unavailable`, `prices_unavailable` and `chain_unavailable` too",
        ),
    ];
    let mut table = "| status | meaning | codes |\n|---|---|---|\n".to_owned();
    for (class, status, meaning) in classes {
        let rules = Rule::ALL.iter().filter(|rule| rule.class() == class);
        let names: Vec<String> = rules.map(|rule| format!("`{rule}`")).collect();
        table += &format!("| {status} | {meaning} | {} |\n", names.join(", "));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/FENCE.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(
            written, table,
            "docs/FENCE.md is out of date: run `cargo xtask docs`"
        );
    }
}
