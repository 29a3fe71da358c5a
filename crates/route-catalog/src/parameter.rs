//! The declaration of a route's parameter.

use crate::Rule;

/// The declaration of a query parameter or of a member of a JSON body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The exact name.
    pub name: &'static str,
    /// The rule that its value obeys.
    pub rule: Rule,
    /// Whether it must be given.
    pub presence: Presence,
    /// An allowed value, in its text form. The example of an object, or of a list of objects, is
    /// built from the examples of its members.
    pub example: &'static str,
    /// The meaning, with the unit.
    pub description: &'static str,
}

/// Whether a parameter must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The caller must give it.
    Required,
    /// The caller may leave it out. It then has no value.
    Optional,
    /// The caller may leave it out. It then has this value, which is in its text form.
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

    /// Declares a parameter with a default. The default is also the example.
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

    /// Whether a call without the parameter is refused.
    pub const fn is_required(&self) -> bool {
        matches!(self.presence, Presence::Required)
    }

    /// Returns the value that is used when the caller leaves the parameter out, in its text form.
    pub const fn default(&self) -> Option<&'static str> {
        match self.presence {
            Presence::Default(text) => Some(text),
            Presence::Required | Presence::Optional => None,
        }
    }
}
