#![doc = include_str!("../README.md")]

mod time;

pub use self::time::{Rfc3339Error, TimeError, UtcSeconds, parse_rfc3339};
