//! The declaration of a route's parameter.

use crate::Rule;

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
}
