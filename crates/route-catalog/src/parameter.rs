//! The declaration of a route's parameter.

use crate::{Rule, schema};

/// The declaration of a query parameter or of a member of a JSON body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The exact name.
    pub name: &'static str,
    /// The rule its value obeys.
    pub rule: Rule,
    /// Whether it must be given.
    pub presence: Presence,
    /// An allowed value in its text form; objects and lists of objects are built from their
    /// members' examples instead.
    pub example: &'static str,
    /// Its meaning, with its unit.
    pub description: &'static str,
}

/// Whether a parameter must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is required.
    Required,
    /// It may be left out, and then has no value.
    Optional,
    /// It may be left out, and then has this value (text form).
    Default(&'static str),
}

impl Parameter {
    pub(crate) const fn required(
        name: &'static str,
        rule: Rule,
        example: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            rule,
            presence: Presence::Required,
            example,
            description,
        }
    }

    pub(crate) const fn optional(
        name: &'static str,
        rule: Rule,
        example: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            rule,
            presence: Presence::Optional,
            example,
            description,
        }
    }

    /// A parameter with a default, which is also its example.
    pub(crate) const fn defaulted(
        name: &'static str,
        rule: Rule,
        default: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            rule,
            presence: Presence::Default(default),
            example: default,
            description,
        }
    }

    /// Whether a call without it is refused.
    pub const fn is_required(&self) -> bool {
        matches!(self.presence, Presence::Required)
    }

    /// The value used when it is left out, in its text form.
    pub const fn default(&self) -> Option<&'static str> {
        match self.presence {
            Presence::Default(text) => Some(text),
            Presence::Required | Presence::Optional => None,
        }
    }

    /// The example as it stands in a JSON body.
    pub fn example_json(&self) -> serde_json::Value {
        schema::example(&self.rule, self.example)
    }
}

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

pub(crate) const MAX_AGE: &str = "max_age";
pub(crate) const PROVENANCE: &str = "provenance";

/// One year: an older answer is useless on any route.
pub(crate) const MAX_AGE_SECONDS: u64 = 31_536_000;
pub(crate) const MAX_AGE_RULE: Rule = Rule::Integer {
    min: 0,
    max: MAX_AGE_SECONDS,
};
