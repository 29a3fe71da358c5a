//! Circles that are there today. A row may become smaller or go; a new one is refused in review.

/// A circle of more than [`MOST_FILES`](super::MOST_FILES) files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// The crate, by its folder from the root of the workspace.
    pub folder: &'static str,
    /// One of the circle's files, from the crate's `src`.
    pub file: &'static str,
    /// How many files it has.
    pub files: usize,
}

/// Every one of them.
pub const LISTED: &[Listed] = &[
    Listed {
        folder: "bins/api-server",
        file: "payment.rs",
        files: 11,
    },
    // An operation and its row are one declaration: the row names the operation, and the operation
    // finds its row.
    Listed {
        folder: "crates/route-catalog",
        file: "operation.rs",
        files: 16,
    },
];
