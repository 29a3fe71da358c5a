//! The paid HTTP API.
fn main() {}
