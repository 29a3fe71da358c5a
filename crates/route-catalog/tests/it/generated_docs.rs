//! Tests that the tables of `docs/` are those of this crate. `cargo xtask docs` writes them again.

use std::path::{Path, PathBuf};

use route_catalog::{Counts, ErrorCode, Operation, docs_table};

#[test]
fn generated_docs_are_those_of_the_table() {
    let Counts {
        operations,
        paths,
        resources,
    } = Counts::of_table();
    let routes = format!(
        "# Routes\n\n{operations} operations on {paths} paths; counting the yield-watch family as one, {resources} \
         resources. Every route takes\n`max_age` (seconds) and `provenance` (0 or 1) as well. Written by `cargo xtask \
         docs` from the catalog.\n\n{}",
        docs_table(page)
    );
    compare("ROUTES.md", &routes);
    let errors = format!(
        "# Error codes\n\nThe form of an error is in [PROTOCOL.md](PROTOCOL.md). A call that ends with one of these codes \
         charges nothing, with\ntwo exceptions: after `settlement_pending`, and after a 402 whose `next` is `wait`, the \
         payment may still be charged. The\npayment of a 409 may be charged by another call. Written by `cargo xtask docs` \
         from the catalog. The endpoints below\n`/delegation/` have further codes, the names of the fence's rules: \
         [FENCE](FENCE.md#what-refuses).\n\n{}",
        ErrorCode::docs_table()
    );
    compare("ERRORS.md", &errors);
}

/// Returns the page of an operation. Routes that act have no page yet.
fn page(operation: Operation) -> Option<String> {
    let link = format!("routes/{}.md", operation.name());
    docs().join(&link).exists().then_some(link)
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn compare(name: &str, expected: &str) {
    let path = docs().join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let observed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        observed == expected,
        "docs/{name} is out of date: run `cargo xtask docs`"
    );
}
