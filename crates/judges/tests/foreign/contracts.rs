//! Compiles the test contracts again: their sources give the committed artifacts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use judges::{Toolchain, contracts, judge};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Compiled {
    compiler: String,
    errors: Vec<String>,
    contracts: BTreeMap<String, Value>,
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[tokio::test]
async fn sources_compile_to_the_committed_artifacts() {
    let toolchain = Toolchain::from_env().unwrap();
    let folder = contracts();
    let sources: BTreeMap<String, String> = fs::read_dir(folder.join("src"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (
                path.file_name().unwrap().to_str().unwrap().to_owned(),
                read(&path),
            )
        })
        .collect();
    let settings: Value = serde_json::from_str(&read(&folder.join("solc.json"))).unwrap();
    let input = json!({"settings": settings, "sources": sources});
    let compiled: Compiled = judge(toolchain.node("recompile.mjs"), &input)
        .await
        .unwrap();
    assert_eq!(compiled.errors, Vec::<String>::new());

    let artifacts: Vec<_> = fs::read_dir(folder.join("artifacts"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(artifacts.len() >= 2, "{artifacts:?}");
    for path in artifacts {
        let artifact: Value = serde_json::from_str(&read(&path)).unwrap();
        let name = artifact["contractName"].as_str().unwrap();
        assert_eq!(artifact["compiler"], json!(compiled.compiler), "{name}");
        for part in ["abi", "bytecode", "deployedBytecode"] {
            assert!(
                compiled.contracts[name][part] == artifact[part],
                "{name}: {part} differs"
            );
        }
    }
}
