//! The perp_order rail.
