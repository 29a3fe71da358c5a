//! Applies the rules of the table to a graph. Each breach becomes a [`Violation`], which a step
//! prints.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{EdgeKind, Graph, PackageIndex};
use super::table::{self, Member};

/// A rule of the table that the graph breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A member has no row in the table.
    #[error("{member} is not in the table of layers")]
    UnknownMember {
        /// The member.
        member: String,
    },
    /// A row of the table has no member.
    #[error("{member} is in the table of layers but not in the workspace")]
    UnknownRow {
        /// The name in the table.
        member: &'static str,
    },
    /// A member uses another member, and the table does not allow it.
    #[error("{from} must not use {to}")]
    Arrow {
        /// The member that uses the other one.
        from: &'static str,
        /// The member that is used.
        to: String,
    },
    /// A member links a forbidden package.
    #[error("{member} must not reach {package} ({path})")]
    Reach {
        /// The member.
        member: &'static str,
        /// The forbidden package.
        package: &'static str,
        /// The path from the member to the package.
        path: String,
    },
    /// A member uses a package that is reserved for other members.
    #[error("{member} must not use {package} directly, only {allowed} may")]
    Reserved {
        /// The member that uses it.
        member: String,
        /// The reserved package.
        package: &'static str,
        /// The members that may use it.
        allowed: String,
    },
    /// A shipped program contains a package that is only for demos and tests.
    #[error("{program} is shipped and must not contain {package}")]
    Shipped {
        /// The program, built without default features.
        program: String,
        /// The package.
        package: &'static str,
    },
    /// The graph contains a forbidden package.
    #[error("{package} must not be in the graph")]
    Refused {
        /// The package with its version.
        package: String,
    },
    /// The graph has several versions of a package that must have one.
    #[error("linked more than once: {}", .copies.join(", "))]
    Copies {
        /// The package with each of its versions.
        copies: Vec<String>,
    },
}

/// Returns every broken rule, in the order of the table. Empty when the graph is correct.
pub fn check(graph: &Graph) -> Vec<Violation> {
    let members: BTreeMap<&str, PackageIndex> = graph
        .members()
        .map(|member| (graph.name(member), member))
        .collect();
    let mut violations = Vec::new();
    for name in members.keys() {
        if !table::MEMBERS.iter().any(|row| row.name == *name) {
            violations.push(Violation::UnknownMember {
                member: (*name).to_owned(),
            });
        }
    }
    let mut linked = BTreeSet::new();
    for row in table::MEMBERS {
        let Some(&member) = members.get(row.name) else {
            violations.push(Violation::UnknownRow { member: row.name });
            continue;
        };
        let reached = graph.reach(member);
        check_arrows(graph, row, member, &mut violations);
        check_reach(graph, row, member, &reached, &mut violations);
        check_homes(graph, member, &mut violations);
        linked.extend(reached.into_keys());
    }
    check_oracles(graph, &linked, &mut violations);
    check_copies(graph, &linked, &mut violations);
    check_shipped(graph, &mut violations);
    violations
}

fn check_arrows(graph: &Graph, row: &Member, member: PackageIndex, found: &mut Vec<Violation>) {
    for (kind, used) in graph.dependencies(member) {
        let name = graph.name(used);
        if kind == EdgeKind::Normal && graph.is_member(used) && !row.may_use.contains(&name) {
            found.push(Violation::Arrow {
                from: row.name,
                to: name.to_owned(),
            });
        }
    }
}

fn check_reach(
    graph: &Graph,
    row: &Member,
    member: PackageIndex,
    reached: &BTreeMap<PackageIndex, PackageIndex>,
    found: &mut Vec<Violation>,
) {
    for &package in row.must_not_reach.iter().copied().flatten() {
        let hit = reached
            .keys()
            .find(|reached| graph.name(**reached) == package);
        if let Some(&hit) = hit {
            let path = path(graph, member, hit, reached);
            found.push(Violation::Reach {
                member: row.name,
                package,
                path,
            });
        }
    }
}

fn check_homes(graph: &Graph, member: PackageIndex, found: &mut Vec<Violation>) {
    let used: Vec<(EdgeKind, &str)> = graph
        .dependencies(member)
        .map(|(kind, package)| (kind, graph.name(package)))
        .collect();
    let name = graph.name(member);
    let outside = |rule: &&table::Reserved, kind: EdgeKind| {
        used.contains(&(kind, rule.package)) && !rule.members.contains(&name)
    };
    let linked = table::RESERVED
        .iter()
        .filter(|rule| outside(rule, EdgeKind::Normal));
    let tested = table::ORACLES
        .iter()
        .filter(|rule| outside(rule, EdgeKind::Test));
    for rule in linked.chain(tested) {
        found.push(Violation::Reserved {
            member: name.to_owned(),
            package: rule.package,
            allowed: rule.members.join(", "),
        });
    }
}

/// Checks the packages that must never be linked: oracles and refused packages.
fn check_oracles(graph: &Graph, linked: &BTreeSet<PackageIndex>, found: &mut Vec<Violation>) {
    let never = table::ORACLES
        .iter()
        .map(|rule| rule.package)
        .chain(table::REFUSED.iter().copied());
    for name in never {
        for &package in linked
            .iter()
            .filter(|package| graph.name(**package) == name)
        {
            found.push(Violation::Refused {
                package: graph.label(package),
            });
        }
    }
}

fn check_copies(graph: &Graph, linked: &BTreeSet<PackageIndex>, found: &mut Vec<Violation>) {
    for &name in table::SINGLE {
        let copies: Vec<String> = linked
            .iter()
            .filter(|package| graph.name(**package) == name)
            .map(|package| graph.label(*package))
            .collect();
        if copies.len() > 1 {
            found.push(Violation::Copies { copies });
        }
    }
}

fn check_shipped(graph: &Graph, found: &mut Vec<Violation>) {
    for (program, names) in graph.shipped() {
        let unshipped = table::NOT_SHIPPED.iter();
        let unshipped = unshipped.filter(|package| names.contains(**package));
        found.extend(unshipped.map(|&package| Violation::Shipped {
            program: program.to_owned(),
            package,
        }));
    }
}

/// Writes the path from `start` to `end`, as in `a → b → c`.
fn path(
    graph: &Graph,
    start: PackageIndex,
    end: PackageIndex,
    reached: &BTreeMap<PackageIndex, PackageIndex>,
) -> String {
    let mut names = vec![graph.name(end)];
    let mut at = end;
    while let Some(&parent) = reached.get(&at) {
        names.push(graph.name(parent));
        if parent == start {
            break;
        }
        at = parent;
    }
    names.reverse();
    names.join(" → ")
}
