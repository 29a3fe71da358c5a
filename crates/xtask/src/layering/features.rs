//! Decides which optional dependencies are really used.
//!
//! The resolved graph of `cargo metadata` lists an optional dependency when any feature names it
//! weakly (`name?/feature`). A weak name does not enable the dependency. Therefore this module
//! reads the enabled features.

use cargo_metadata::{Dependency, DependencyKind, Node, NodeDep, Package};

/// Whether `package`, resolved as `node`, really uses `edge` in one of its tables of this kind.
pub(super) fn activate(
    package: &Package,
    node: &Node,
    edge: &NodeDep,
    used: &str,
    kind: DependencyKind,
) -> bool {
    let mut declared = package.dependencies.iter().filter(|dependency| {
        let renamed = dependency
            .rename
            .as_ref()
            .map(|name| name.replace('-', "_"));
        dependency.kind == kind
            && dependency.name == used
            && renamed.is_none_or(|name| name == edge.name)
    });
    declared.any(|dependency| !dependency.optional || switched_on(package, node, dependency))
}

fn switched_on(package: &Package, node: &Node, dependency: &Dependency) -> bool {
    let name = dependency.rename.as_deref().unwrap_or(&dependency.name);
    node.features.iter().any(|feature| {
        let entries = package
            .features
            .get(&***feature)
            .map(Vec::as_slice)
            .unwrap_or_default();
        entries.iter().any(|entry| names(entry, name))
    })
}

/// Whether one entry of a feature enables a dependency. The entries `dep:name` and `name/feature`
/// do, and `name?/feature` does not. A feature with the name of an optional dependency has the
/// entry `dep:name`.
fn names(entry: &str, dependency: &str) -> bool {
    let strong = entry
        .strip_prefix("dep:")
        .or_else(|| Some(entry.split_once('/')?.0));
    strong == Some(dependency)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_names_enable_nothing() {
        assert!(names("dep:serde", "serde"));
        assert!(names("serde/std", "serde"));
        assert!(!names("serde?/std", "serde"));
        assert!(!names("serde", "serde"));
        assert!(!names("dep:serde_json", "serde"));
    }
}
