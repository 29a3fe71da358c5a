//! Start and end.
