//! Routes of this group.
