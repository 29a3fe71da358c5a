//! Recorded upstream answers served over HTTP, for the demo and for tests.
