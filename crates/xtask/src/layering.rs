//! The dependency graph against the rules of the layers.
//!
//! Two kinds of edge matter: what a crate uses when it is built or linked (normal and build
//! dependencies), and what only its tests use. The rules of [`table`] are about the first; the
//! second is free unless a rule says otherwise.

mod features;
mod graph;
mod rules;
pub mod table;

pub use graph::{EdgeKind, Graph, PackageIndex};
pub use rules::{Violation, check};
