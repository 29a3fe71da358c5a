//! Compares the dependency graph with the rules of the layers.
//!
//! Two kinds of edge matter: the dependencies of a crate's build (normal and build dependencies),
//! and those of its tests only. The rules of [`table`] concern the first kind; the second is free
//! unless a rule says otherwise.

mod features;
mod graph;
mod rules;
pub mod table;

pub use graph::{EdgeKind, Graph, PackageIndex};
pub use rules::{Violation, check};
