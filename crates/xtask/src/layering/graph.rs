//! Packages and their dependencies, read from `cargo metadata` or built by a test.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use super::{features, table};
use crate::{XtaskError, command};

/// The index of a package in one [`Graph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackageIndex(usize);

/// Why one package depends on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// The package links the dependency, or uses it in its build script.
    Normal,
    /// Only the package's tests, examples and benchmarks use the dependency.
    Test,
}

impl EdgeKind {
    fn of(kind: DependencyKind) -> Self {
        match kind {
            DependencyKind::Development => Self::Test,
            _ => Self::Normal,
        }
    }
}

/// The resolved packages of a workspace, their edges, and the contents of the shipped programs.
#[derive(Debug, Default)]
pub struct Graph {
    packages: Vec<Package>,
    edges: BTreeMap<PackageIndex, BTreeSet<(EdgeKind, PackageIndex)>>,
    /// For each shipped program, the names of all packages in it.
    shipped: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug)]
struct Package {
    name: String,
    version: String,
    member: bool,
}

impl Graph {
    /// Reads the graph of the workspace around `manifest_dir` and its shipped programs, for all
    /// platforms together.
    ///
    /// # Errors
    /// Cargo cannot resolve the workspace.
    pub fn read(manifest_dir: &str) -> Result<Self, XtaskError> {
        let metadata = MetadataCommand::new()
            .current_dir(manifest_dir)
            .other_options(vec!["--locked".to_owned()])
            .exec()?;
        let mut graph = Self::from_metadata(&metadata);
        for program in table::SHIPPED {
            graph.ship(program, &tree_of(manifest_dir, program)?);
        }
        Ok(graph)
    }

    fn from_metadata(metadata: &Metadata) -> Self {
        let mut graph = Self::default();
        let mut by_id = BTreeMap::new();
        for package in &metadata.packages {
            let member = metadata.workspace_members.contains(&package.id);
            let index = graph.add(package.name.as_str(), &package.version.to_string(), member);
            by_id.insert(&package.id, (index, package));
        }
        for node in metadata.resolve.iter().flat_map(|resolve| &resolve.nodes) {
            let Some(&(from, package)) = by_id.get(&node.id) else {
                continue;
            };
            for dependency in &node.deps {
                let Some(&(to, used)) = by_id.get(&dependency.pkg) else {
                    continue;
                };
                for kind in dependency.dep_kinds.iter().map(|info| info.kind) {
                    if features::activate(package, node, dependency, used.name.as_str(), kind) {
                        graph.depend(from, to, EdgeKind::of(kind));
                    }
                }
            }
        }
        graph
    }

    /// Adds a package of this workspace.
    pub fn member(&mut self, name: &str, version: &str) -> PackageIndex {
        self.add(name, version, true)
    }

    /// Adds a package from elsewhere.
    pub fn external(&mut self, name: &str, version: &str) -> PackageIndex {
        self.add(name, version, false)
    }

    fn add(&mut self, name: &str, version: &str, member: bool) -> PackageIndex {
        self.packages.push(Package {
            name: name.to_owned(),
            version: version.to_owned(),
            member,
        });
        PackageIndex(self.packages.len().saturating_sub(1))
    }

    /// Adds an edge.
    pub fn depend(&mut self, from: PackageIndex, to: PackageIndex, kind: EdgeKind) {
        self.edges.entry(from).or_default().insert((kind, to));
    }

    /// Adds a shipped program. Each line of `tree` begins with the name of a package in it.
    pub fn ship(&mut self, program: &str, tree: &str) {
        let names = tree.lines().filter_map(|line| line.split(' ').next());
        let names = names.map(str::to_owned).collect();
        self.shipped.insert(program.to_owned(), names);
    }

    /// Iterates over the shipped programs, each with the names of all packages in it.
    pub fn shipped(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        let shipped = self.shipped.iter();
        shipped.map(|(program, names)| (program.as_str(), names))
    }

    /// Iterates over the packages of this workspace.
    pub fn members(&self) -> impl Iterator<Item = PackageIndex> {
        self.packages
            .iter()
            .enumerate()
            .filter(|(_, package)| package.member)
            .map(|(index, _)| PackageIndex(index))
    }

    /// Whether a package is one of this workspace.
    pub fn is_member(&self, package: PackageIndex) -> bool {
        self.packages
            .get(package.0)
            .is_some_and(|package| package.member)
    }

    /// Returns the name of a package. Empty when the index belongs to another graph.
    pub fn name(&self, package: PackageIndex) -> &str {
        self.packages
            .get(package.0)
            .map_or("", |package| &package.name)
    }

    /// Returns the name and the version of a package.
    pub fn label(&self, package: PackageIndex) -> String {
        self.packages
            .get(package.0)
            .map_or_else(String::new, |package| {
                format!("{} {}", package.name, package.version)
            })
    }

    /// Iterates over the direct dependencies of a package.
    pub fn dependencies(
        &self,
        package: PackageIndex,
    ) -> impl Iterator<Item = (EdgeKind, PackageIndex)> {
        self.edges.get(&package).into_iter().flatten().copied()
    }

    /// Returns every package that a package links or builds with. Each comes with the package that
    /// first led to it.
    pub fn reach(&self, start: PackageIndex) -> BTreeMap<PackageIndex, PackageIndex> {
        let mut reached = BTreeMap::new();
        let mut open = vec![start];
        while let Some(package) = open.pop() {
            for (kind, dependency) in self.dependencies(package) {
                let new = dependency != start && !reached.contains_key(&dependency);
                if kind == EdgeKind::Normal && new {
                    reached.insert(dependency, package);
                    open.push(dependency);
                }
            }
        }
        reached
    }
}

/// Lists the packages of a program as it is shipped: without default features.
///
/// `cargo metadata` cannot tell them. It resolves features for all members together, and tools of
/// the workspace enable the default features of the servers.
fn tree_of(manifest_dir: &str, program: &str) -> Result<String, XtaskError> {
    let mut tree = command::cargo();
    tree.current_dir(manifest_dir);
    tree.args(["tree", "--locked", "--target", "all", "--package", program]);
    tree.args(["--no-default-features", "--edges", "normal,build"]);
    tree.args(["--prefix", "none", "--format", "{p}"]);
    command::output(&mut tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_edges_are_not_followed_and_cycles_end() {
        let mut graph = Graph::default();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| graph.member(name, "1.0.0"));
        graph.depend(a, b, EdgeKind::Normal);
        graph.depend(b, c, EdgeKind::Normal);
        graph.depend(c, a, EdgeKind::Normal);
        graph.depend(b, d, EdgeKind::Test);
        let reached = graph.reach(a);
        assert_eq!(reached.keys().copied().collect::<Vec<_>>(), [b, c]);
        assert_eq!(reached[&c], b);
    }

    #[test]
    fn a_tree_is_read_as_the_names_of_its_packages() {
        let mut graph = Graph::default();
        let tree = "api-server v0.1.0 (/a/bins/api-server)\nsyn v3.0.2\nrevm-state v43.0.1\n\
                    derive v1.0.0 (proc-macro)\nsyn v2.0.1\nsyn v3.0.2 (*)\n";
        graph.ship("api-server", tree);
        let (program, names) = graph.shipped().next().unwrap();
        assert_eq!(program, "api-server");
        let expected = ["api-server", "derive", "revm-state", "syn"];
        assert!(names.iter().eq(expected), "{names:?}");
    }
}
