//! Tests of the crates that are separate workspaces and have their own lock files. Only their own
//! commands would compare these with the manifests of the crates that they share with this
//! workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use cargo_metadata::MetadataCommand;
use toml::{Table, Value};

/// The lock files beside that of the workspace.
const LOCKS: [&str; 2] = ["crates/fuzz/Cargo.lock", "crates/kms-signers/Cargo.lock"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

fn read(path: &Path) -> Table {
    fs::read_to_string(path).unwrap().parse().unwrap()
}

/// Returns the dependencies of a manifest except those of its tests: each package's name, and
/// whether it is optional.
fn declared(manifest: &Table, workspace: &Table) -> BTreeMap<String, bool> {
    let sections = |table: &Table| {
        ["dependencies", "build-dependencies"]
            .iter()
            .filter_map(|section| Some(table.get(*section)?.as_table()?.clone()))
            .collect::<Vec<_>>()
    };
    let targets = manifest.get("target").and_then(Value::as_table);
    let of_targets = targets.into_iter().flat_map(Table::values);
    let of_targets = of_targets.flat_map(|target| sections(target.as_table().unwrap()));
    let all = sections(manifest).into_iter().chain(of_targets).flatten();
    all.map(|(key, value)| {
        let of_workspace = workspace["workspace"]["dependencies"].get(&key);
        let package = [Some(&value), of_workspace]
            .into_iter()
            .flatten()
            .find_map(|value| value.get("package")?.as_str());
        let optional = value.get("optional").and_then(Value::as_bool);
        let package = package.map_or(key.clone(), str::to_owned);
        (package, optional.unwrap_or(false))
    })
    .collect()
}

#[test]
fn separate_lock_files_match_the_dependencies_of_this_workspace() {
    let workspace = read(&root().join("Cargo.toml"));
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec()
        .unwrap();
    let members: BTreeMap<String, Table> = metadata
        .packages
        .iter()
        .map(|package| {
            let manifest = read(package.manifest_path.as_std_path());
            (package.name.to_string(), manifest)
        })
        .collect();
    for lock in LOCKS {
        let locked = read(&root().join(lock));
        let packages = locked["package"].as_array().unwrap();
        let mut shared = 0;
        for package in packages {
            let name = package["name"].as_str().unwrap();
            let Some(manifest) = members
                .get(name)
                .filter(|_| package.get("source").is_none())
            else {
                continue;
            };
            shared += 1;
            let of_lock = package.get("dependencies").and_then(Value::as_array);
            // When several packages have one name, a version follows the name.
            let of_lock: BTreeSet<&str> = of_lock
                .into_iter()
                .flatten()
                .map(|text| text.as_str().unwrap().split(' ').next().unwrap())
                .collect();
            let declared = declared(manifest, &workspace);
            for (dependency, optional) in &declared {
                assert!(
                    *optional || of_lock.contains(dependency.as_str()),
                    "{lock}: {name} lacks {dependency}; run `cargo metadata` in the lock's folder"
                );
            }
            for dependency in of_lock {
                assert!(
                    declared.contains_key(dependency),
                    "{lock}: {name} has {dependency}; run `cargo metadata` in the lock's folder"
                );
            }
        }
        assert!(shared > 1, "{lock}");
    }
}
