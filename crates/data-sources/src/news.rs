//! The news snapshot, gathered from every source.
