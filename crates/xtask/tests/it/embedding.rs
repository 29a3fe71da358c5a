//! Tests of the crates that other projects embed: public interfaces equal their files, and pure
//! crates have no C code.

use std::path::Path;
use std::process::Command;

use xtask::{api, wasm};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

/// When it fails, `cargo xtask api` writes the files again.
#[test]
fn public_interfaces_equal_their_files() {
    if let Err(error) = api::check(root()) {
        panic!("{error}");
    }
}

fn dependencies(package: &str, features: &[&str]) -> String {
    let mut tree = Command::new(env!("CARGO"));
    tree.current_dir(root());
    tree.args(["tree", "--locked", "--offline", "--prefix", "none"]);
    tree.args(["--edges", "normal,build", "--package", package]);
    tree.args(features);
    let output = tree.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Packages that compile or link C.
const NATIVE: [&str; 4] = ["cc", "secp256k1", "secp256k1-sys", "ring"];

#[test]
fn pure_crates_have_no_c_code() {
    for package in wasm::CRATES {
        let tree = dependencies(package, &[]);
        let names: Vec<&str> = tree
            .lines()
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert!(names.contains(&package), "{tree}");
        for native in NATIVE {
            assert!(
                !names.contains(&native),
                "{package} reaches {native}\n{tree}"
            );
        }
    }
}

#[test]
fn the_curve_in_c_comes_with_the_feature_recover() {
    let tree = dependencies("x402-wire", &["--features", "recover"]);
    assert!(tree.contains("secp256k1-sys"), "{tree}");
}
