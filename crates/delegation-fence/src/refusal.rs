//! Refusals: why a message or plan is not accepted. A caller branches on the rule's name; the texts
//! are for people and may change.

use std::borrow::Cow;

use crate::{Class, Rule};

/// Longest text of an input that a refusal repeats.
const LONGEST_SHOWN: usize = 200;

/// The reason why a document, a signature, an order or a plan is not accepted: the rule, and the
/// values that it found.
///
/// Text of an input is repeated in printable ASCII only, and shortened: a refusal can be shown on a
/// terminal and written to a log. Signatures are never repeated.
///
/// # Example
/// ```
/// use delegation_fence::{Class, Name, Rule};
///
/// let refusal = Name::new("shop\u{1b}[2J").unwrap_err();
/// assert_eq!(refusal.code(), "typed_data_malformed");
/// assert_eq!(refusal.rule, Rule::TypedDataMalformed);
/// assert_eq!(refusal.rule.class(), Class::Malformed);
/// assert!(!refusal.to_string().contains('\u{1b}'));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {message}: expected {expected}, observed {observed}")]
pub struct Refusal {
    /// The rule.
    pub rule: Rule,
    /// The defect, in one clause.
    pub message: Cow<'static, str>,
    /// The requirement of the rule.
    pub expected: String,
    /// The observed value.
    pub observed: String,
    /// The failed check of the plan, for [`Rule::EnvelopeUnverified`].
    pub check: Option<Cow<'static, str>>,
}

impl Refusal {
    /// A refusal with the expected and the observed value.
    pub(crate) fn new(
        rule: Rule,
        message: impl Into<Cow<'static, str>>,
        expected: impl ToString,
        observed: impl ToString,
    ) -> Self {
        Self {
            rule,
            message: message.into(),
            expected: shown(&expected.to_string()),
            observed: shown(&observed.to_string()),
            check: None,
        }
    }

    /// The refusal of a plan by its verifier.
    pub(crate) fn unverified(refusal: plan_builder::Refusal) -> Self {
        let observed = refusal.observed.unwrap_or_else(|| "nothing".to_owned());
        Self {
            check: Some(refusal.check),
            ..Self::new(
                Rule::EnvelopeUnverified,
                shown(&refusal.message),
                refusal
                    .expected
                    .unwrap_or_else(|| "a plan that verifies".to_owned()),
                observed,
            )
        }
    }

    /// The name of the rule: stable, for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.rule.as_str()
    }

    /// The meaning of the refusal for the caller.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.rule.class()
    }
}

/// The repeatable form of a text from outside.
pub(crate) fn shown(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == ' ' || c.is_ascii_graphic() {
                c
            } else {
                '?'
            }
        })
        .take(LONGEST_SHOWN)
        .collect()
}

/// `Ok` when both are equal.
pub(crate) fn same<T: PartialEq + ToString>(
    rule: Rule,
    message: &'static str,
    expected: T,
    observed: T,
) -> Result<(), Refusal> {
    if expected == observed {
        return Ok(());
    }
    Err(Refusal::new(rule, message, expected, observed))
}
