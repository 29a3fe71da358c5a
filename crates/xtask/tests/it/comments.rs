//! Tests that no comment is wider than the code.

use std::path::Path;

#[test]
fn no_comment_of_this_workspace_is_wider_than_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let wide = xtask::comments::check(root.unwrap()).unwrap();
    let wide: Vec<String> = wide.iter().map(ToString::to_string).collect();
    assert!(wide.is_empty(), "\n{}", wide.join("\n"));
}
