//! Tests that the files at the root of the workspace and the manifests of its members agree.

use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;
use toml::{Table, Value};
use xtask::layering::table;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

fn read(path: &Path) -> Table {
    fs::read_to_string(path).unwrap().parse().unwrap()
}

fn manifests() -> Vec<PathBuf> {
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec()
        .unwrap();
    let found: Vec<PathBuf> = metadata
        .packages
        .iter()
        .map(|package| package.manifest_path.clone().into())
        .collect();
    assert!(found.len() > 5, "{found:?}");
    found
}

#[test]
fn members_inherit_the_workspaces_settings() {
    for path in manifests() {
        let manifest = read(&path);
        let name = path.display();
        for key in ["version", "edition", "rust-version", "license", "publish"] {
            assert_eq!(
                manifest["package"][key]["workspace"].as_bool(),
                Some(true),
                "{name}: {key}"
            );
        }
        assert!(
            manifest["package"].get("description").is_some(),
            "{name}: description"
        );
        assert_eq!(
            manifest["lints"]["workspace"].as_bool(),
            Some(true),
            "{name}: lints"
        );
    }
}

#[test]
fn members_take_every_version_from_the_workspace() {
    for path in manifests() {
        let manifest = read(&path);
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let table = manifest.get(kind).and_then(Value::as_table);
            for (dependency, value) in table.into_iter().flatten() {
                let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
                assert!(inherited, "{}: {kind}: {dependency}", path.display());
            }
        }
    }
}

#[test]
fn pure_crates_ask_for_calendars_without_a_clock() {
    let mut users = 0;
    for path in manifests() {
        let manifest = read(&path);
        let name = manifest["package"]["name"].as_str().unwrap();
        let is_pure = table::MEMBERS
            .iter()
            .any(|row| row.name == name && row.is_pure());
        let Some(jiff) = manifest["dependencies"].get("jiff").filter(|_| is_pure) else {
            continue;
        };
        users += 1;
        let features = jiff.get("features").and_then(Value::as_array);
        let allowed = |feature: &Value| matches!(feature.as_str(), Some("alloc" | "serde"));
        assert!(features.into_iter().flatten().all(allowed), "{name}");
    }
    assert!(users > 1);
    let workspace = read(&root().join("Cargo.toml"));
    let jiff = &workspace["workspace"]["dependencies"]["jiff"];
    assert_eq!(jiff["default-features"].as_bool(), Some(false));
    assert_eq!(jiff["features"].as_array().unwrap().len(), 1);
}

#[test]
fn every_member_has_a_readme_that_is_its_documentation() {
    for path in manifests() {
        let folder = path.parent().unwrap();
        let library = folder.join("src/lib.rs");
        assert!(folder.join("README.md").exists(), "{}", folder.display());
        let text = fs::read_to_string(&library).unwrap();
        let line = r#"#![doc = include_str!("../README.md")]"#;
        assert!(text.contains(line), "{} lacks {line}", library.display());
    }
}

/// Returns who may use a package directly, as `deny.toml` says. `None` when `deny.toml` does not
/// name it, and `Some(None)` when nobody may use it.
fn denied(deny: &Table, package: &str) -> Option<Option<Vec<String>>> {
    let entries = deny["bans"]["deny"].as_array().unwrap();
    let entry = entries
        .iter()
        .find(|entry| entry["crate"].as_str() == Some(package))?;
    let strings = |list: &Vec<Value>| {
        list.iter()
            .map(|v| v.as_str().unwrap().to_owned())
            .collect()
    };
    Some(entry.get("wrappers").and_then(Value::as_array).map(strings))
}

#[test]
fn deny_toml_and_the_layering_table_name_the_same_homes() {
    let deny = read(&root().join("deny.toml"));
    for rule in table::RESERVED {
        let wrappers = denied(&deny, rule.package).flatten();
        let wrappers = wrappers.unwrap_or_else(|| panic!("{} has no wrappers", rule.package));
        let ours: Vec<&str> = wrappers
            .iter()
            .map(String::as_str)
            .filter(|name| table::MEMBERS.iter().any(|member| member.name == *name))
            .collect();
        assert_eq!(ours, rule.members, "{}", rule.package);
    }
    let oracles = table::ORACLES.iter().map(|rule| rule.package);
    for package in oracles.chain(table::REFUSED.iter().copied()) {
        assert_eq!(denied(&deny, package), Some(None), "{package}");
    }
}
