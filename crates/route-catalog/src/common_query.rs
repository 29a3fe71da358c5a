//! The query parameters that every route takes, and the header `X-Max-Age`, which means the same as
//! `max_age`.

use crate::{
    Parameter, Parameters, Problem, Rule,
    problem::{ParameterFault, shown},
    rule,
};

/// The query parameters that every route takes in addition to its own.
pub static COMMON_QUERY: [Parameter; 2] = [
    Parameter::optional(
        MAX_AGE,
        MAX_AGE_RULE,
        "60",
        "Refuse the call uncharged unless the data is at most this many seconds old.",
    ),
    Parameter::optional(
        PROVENANCE,
        Rule::Flag,
        "1",
        "Add `meta.provenance`: the source, time and method of the main members.",
    ),
];

const MAX_AGE: &str = "max_age";
const PROVENANCE: &str = "provenance";

/// One year. On no route is an older answer useful.
const MAX_AGE_SECONDS: u64 = 31_536_000;
const MAX_AGE_RULE: Rule = Rule::Integer {
    min: 0,
    max: MAX_AGE_SECONDS,
};

impl Parameters {
    /// Returns the common parameter `max_age`: the age of the oldest data that the caller accepts,
    /// in seconds.
    pub fn max_age_seconds(&self) -> Option<u64> {
        self.integer(MAX_AGE)
    }

    /// Returns the common parameter `provenance`. It is `false` when the caller leaves it out.
    pub fn provenance(&self) -> bool {
        self.boolean(PROVENANCE).unwrap_or(false)
    }
}

/// Reads the header `X-Max-Age`, which means the same as the query parameter `max_age`.
///
/// # Errors
///
/// A [`Problem`] with the path `header.x-max-age`.
pub fn read_max_age(header: &str) -> Result<u64, Problem> {
    rule::integer(header.trim(), 0, MAX_AGE_SECONDS).ok_or_else(|| {
        let fault = ParameterFault::Invalid {
            expected: MAX_AGE_RULE.expected(),
            observed: shown(header),
        };
        Problem::new("header.x-max-age", fault)
    })
}
