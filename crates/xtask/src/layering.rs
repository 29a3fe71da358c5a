//! Compares the dependency graph with the rules of the layers.
//!
//! Two kinds of edges matter: the dependencies of a crate's build (normal and build dependencies),
//! and the dependencies of its tests. The rules of [`table`] are about the first kind. The second
//! kind is free, unless a rule restricts it.

mod features;
mod graph;
mod rules;
pub mod table;

pub use graph::{EdgeKind, Graph, PackageIndex};
pub use rules::{Violation, check};
