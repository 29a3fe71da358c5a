//! The paid HTTP API.
