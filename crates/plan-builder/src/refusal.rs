//! The refusal: what a caller gets when it gets no plan.

use std::{borrow::Cow, num::NonZeroU32, time::Duration};

use calldata_checks::Failure;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};

use crate::{
    arguments::Problem,
    ports::{PortError, PortErrorReason},
};

/// The most problems that a message spells out. The member `problems` has all of them.
const SPELLED_OUT: usize = 8;

/// Why no plan is given, or why a plan is not accepted. Its JSON form is `{"refused": {"check",
/// "message", "expected"?, "observed"?, "request_path"?, "retry_after"?, "problems"?}}`.
///
/// # Example
/// ```
/// use plan_builder::Refusal;
///
/// let json = r#"{"refused":{"check":"rate_limited","message":"lifi: rate limited","retry_after":3}}"#;
/// let refusal: Refusal = serde_json::from_str(json)?;
/// assert_eq!(refusal.to_json(), json);
/// match &*refusal.check {
///     Refusal::RATE_LIMITED => println!("again in {:?} seconds", refusal.retry_after),
///     Refusal::INPUT_INVALID => println!("{:?}", refusal.problems),
///     check => println!("no plan: {check}"),
/// }
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{check}: {message}")]
#[non_exhaustive]
pub struct Refusal {
    /// The name of the check that does not hold, or of a refusal by the input or an upstream (the
    /// constants of this type).
    pub check: Cow<'static, str>,
    /// A description of the problem, for people.
    pub message: String,
    /// The required value.
    pub expected: Option<String>,
    /// The observed value.
    pub observed: Option<String>,
    /// The path of the argument that is wrong: `$.accountProfile.address`.
    pub request_path: Option<String>,
    /// Every problem of the arguments, when the arguments are wrong.
    pub problems: Vec<Problem>,
    /// After how many seconds the same request may succeed, if that is known.
    pub retry_after: Option<NonZeroU32>,
}

impl Refusal {
    /// Arguments are missing, mistyped, unknown or given twice.
    pub const INPUT_INVALID: &'static str = "input_invalid";
    /// The rail does not serve the chain.
    pub const CHAIN_UNSUPPORTED: &'static str = "chain_unsupported";
    /// The rail does not serve the token, coin or asset.
    pub const TOKEN_UNSUPPORTED: &'static str = "token_unsupported";
    /// The rail, or the upstream, does not serve the route or pair.
    pub const ROUTE_UNSUPPORTED: &'static str = "route_unsupported";
    /// The rail does not serve this kind of account.
    pub const ACCOUNT_KIND_UNSUPPORTED: &'static str = "account_kind_unsupported";
    /// An upstream gave no answer.
    pub const QUOTE_UNAVAILABLE: &'static str = "quote_unavailable";
    /// An upstream refused the request, and will refuse the same request again.
    pub const QUOTE_REFUSED: &'static str = "quote_refused";
    /// A reading is too old for a plan.
    pub const QUOTE_STALE: &'static str = "quote_stale";
    /// An upstream's answer cannot be read.
    pub const QUOTE_MALFORMED: &'static str = "quote_malformed";
    /// The rate limit of an upstream, or the server's own, is reached.
    pub const RATE_LIMITED: &'static str = "rate_limited";
    /// The system gave no random bytes. Every plan needs some.
    pub const ENTROPY_UNAVAILABLE: &'static str = "entropy_unavailable";
    /// A swap loses more than its limit, by its quote's own statement or by independent prices.
    pub const PRICE_IMPACT: &'static str = "price_impact_too_high";
    /// A token can be bought but not sold.
    pub const HONEYPOT: &'static str = "token_is_honeypot";
    /// A token keeps more of a transfer than is allowed.
    pub const TOKEN_TAX: &'static str = "token_tax_too_high";
    /// The text is not a plan of this rail: it is not JSON, or has a missing, unknown or duplicate
    /// member.
    pub const PLAN_MALFORMED: &'static str = "plan_malformed";
    /// The sealed plan is for another request.
    pub const INTENT_DIGEST: &'static str = "intent_digest_bound";
    /// A member of the plan differs from the one that the plan's own bytes give.
    pub const PLAN_REBUILT: &'static str = "plan_rebuilt_exact";
    /// The result of a simulation differs from the plan.
    pub const SIMULATION: &'static str = "simulation_as_planned";
    /// A required simulation could not be run.
    pub const SIMULATION_UNAVAILABLE: &'static str = "simulation_unavailable";

    /// Every name that is not a check of a rail's table, with its meaning. The documentation lists
    /// them.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        (
            Self::INPUT_INVALID,
            "arguments are missing, mistyped, unknown or twice; `problems` names each with its path",
        ),
        (
            Self::CHAIN_UNSUPPORTED,
            "the rail does not serve this chain",
        ),
        (
            Self::TOKEN_UNSUPPORTED,
            "the rail does not serve this token or coin",
        ),
        (
            Self::ROUTE_UNSUPPORTED,
            "there is no route for this pair, here or upstream",
        ),
        (
            Self::ACCOUNT_KIND_UNSUPPORTED,
            "the rail does not serve this kind of account",
        ),
        (
            Self::QUOTE_UNAVAILABLE,
            "an upstream did not answer; try again later",
        ),
        (
            Self::QUOTE_REFUSED,
            "an upstream refused the request; the same request will be refused again",
        ),
        (Self::QUOTE_STALE, "a reading is too old to build a plan on"),
        (Self::QUOTE_MALFORMED, "an upstream's answer cannot be read"),
        (
            Self::RATE_LIMITED,
            "a rate limit was reached; try again later",
        ),
        (
            Self::ENTROPY_UNAVAILABLE,
            "the system gave no random bytes; try again later",
        ),
        (
            Self::PRICE_IMPACT,
            "the swap loses more than its limit (`[worth]`, or `maxPriceImpactBps`), by its quote's own statement or at independent prices",
        ),
        (
            Self::HONEYPOT,
            "according to the quote, a token can be bought but not sold",
        ),
        (
            Self::TOKEN_TAX,
            "according to the quote, a token keeps more of a transfer than `[worth]` allows",
        ),
        (
            Self::PLAN_MALFORMED,
            "the verified text is not a plan of this rail",
        ),
        (
            Self::INTENT_DIGEST,
            "the plan was sealed for another request",
        ),
        (
            Self::PLAN_REBUILT,
            "a member of the plan differs from its own bytes",
        ),
        (
            Self::SIMULATION,
            "the simulated plan fails, or moves something else than it says",
        ),
        (
            Self::SIMULATION_UNAVAILABLE,
            "the operator requires a simulation, and the node could not run one; try again later",
        ),
    ];

    /// Creates a refusal with a name and a message only.
    ///
    /// # Example
    /// ```
    /// use plan_builder::Refusal;
    ///
    /// let refusal = Refusal::new(Refusal::QUOTE_STALE, "the quote is too old").comparing(60, 75);
    /// assert_eq!(refusal.to_string(), "quote_stale: the quote is too old");
    /// assert_eq!(refusal.observed.as_deref(), Some("75"));
    ///
    /// let refusal = Refusal::new(Refusal::RATE_LIMITED, "the limit is reached").after(7);
    /// assert_eq!(refusal.retry_after.map(|seconds| seconds.get()), Some(7));
    /// ```
    #[must_use]
    pub fn new(check: &'static str, message: impl Into<String>) -> Self {
        Self {
            check: Cow::Borrowed(check),
            message: message.into(),
            expected: None,
            observed: None,
            request_path: None,
            problems: Vec::new(),
            retry_after: None,
        }
    }

    /// Returns the refusal with the expected and the observed value.
    #[must_use]
    pub fn comparing(mut self, expected: impl ToString, observed: impl ToString) -> Self {
        self.expected = Some(expected.to_string());
        self.observed = Some(observed.to_string());
        self
    }

    /// Returns the refusal with the path of the argument that is wrong.
    #[must_use]
    pub fn at(mut self, request_path: impl Into<String>) -> Self {
        self.request_path = Some(request_path.into());
        self
    }

    /// Creates the refusal of arguments, with every problem.
    ///
    /// # Example
    /// ```
    /// use plan_builder::{Problem, Refusal};
    ///
    /// let (path, expected, observed) = ("$.amount".into(), "digits".into(), "1e3".into());
    /// let refusal = Refusal::of_input(vec![Problem { path, expected, observed }]);
    /// assert_eq!(refusal.message, "$.amount: expected digits, got 1e3");
    /// assert_eq!(refusal.request_path.as_deref(), Some("$.amount"));
    /// ```
    #[must_use]
    pub fn of_input(problems: Vec<Problem>) -> Self {
        let message = problems
            .iter()
            .take(SPELLED_OUT)
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ");
        let message = match problems.len().saturating_sub(SPELLED_OUT) {
            0 => message,
            more => format!("{message}; and {more} more"),
        };
        let first = problems.first();
        Self {
            check: Cow::Borrowed(Self::INPUT_INVALID),
            message,
            expected: first.map(|problem| problem.expected.clone()),
            observed: first.map(|problem| problem.observed.clone()),
            request_path: first.map(|problem| problem.path.clone()),
            problems,
            retry_after: None,
        }
    }

    /// Returns the refusal with the number of seconds after which the same request may succeed, at
    /// least one.
    #[must_use]
    pub fn after(mut self, seconds: u64) -> Self {
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        self.retry_after = NonZeroU32::new(seconds).or(Some(NonZeroU32::MIN));
        self
    }

    /// Returns the JSON of the refusal.
    #[must_use]
    pub fn to_json(&self) -> String {
        // The members are texts and lists of texts, so serialisation cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::new(failure.check, failure.violation.message)
            .comparing(failure.violation.expected, failure.violation.observed)
    }
}

impl From<PortError> for Refusal {
    fn from(error: PortError) -> Self {
        let name = match &error.reason {
            PortErrorReason::NotConfigured { .. } | PortErrorReason::Unavailable { .. } => {
                Self::QUOTE_UNAVAILABLE
            }
            PortErrorReason::Refused { .. } => Self::QUOTE_REFUSED,
            PortErrorReason::RateLimited { .. } => Self::RATE_LIMITED,
            PortErrorReason::Malformed { .. } => Self::QUOTE_MALFORMED,
            PortErrorReason::NoRoute { .. } => Self::ROUTE_UNSUPPORTED,
            PortErrorReason::Unknown { .. } => Self::TOKEN_UNSUPPORTED,
        };
        let retry_after = match &error.reason {
            PortErrorReason::RateLimited { retry_after } => *retry_after,
            _ => None,
        };
        let refusal = Self::new(name, error.to_string()).comparing(
            format_args!("an answer of {}", error.source_name),
            error.reason,
        );
        match retry_after {
            Some(time) => refusal.after(whole_seconds(time)),
            None => refusal,
        }
    }
}

/// Rounds a time up to whole seconds.
fn whole_seconds(time: Duration) -> u64 {
    let begun = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(begun)
}

impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Members<'a> {
            check: &'a str,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            expected: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            observed: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            request_path: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            retry_after: Option<NonZeroU32>,
            #[serde(skip_serializing_if = "<[Problem]>::is_empty")]
            problems: &'a [Problem],
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(
            "refused",
            &Members {
                check: &self.check,
                message: &self.message,
                expected: self.expected.as_deref(),
                observed: self.observed.as_deref(),
                request_path: self.request_path.as_deref(),
                retry_after: self.retry_after,
                problems: &self.problems,
            },
        )?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Refusal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Document {
            refused: Members,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Members {
            check: String,
            message: String,
            #[serde(default)]
            expected: Option<String>,
            #[serde(default)]
            observed: Option<String>,
            #[serde(default)]
            request_path: Option<String>,
            #[serde(default)]
            retry_after: Option<NonZeroU32>,
            #[serde(default)]
            problems: Vec<Problem>,
        }
        let Document { refused } = Document::deserialize(deserializer)?;
        Ok(Self {
            check: Cow::Owned(refused.check),
            message: refused.message,
            expected: refused.expected,
            observed: refused.observed,
            request_path: refused.request_path,
            problems: refused.problems,
            retry_after: refused.retry_after,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_read_as_it_was_written() {
        let problem = Problem {
            path: "$.amount".to_owned(),
            expected: "digits".to_owned(),
            observed: "\"1e3\"".to_owned(),
        };
        for refusal in [
            Refusal::new(Refusal::QUOTE_STALE, "old"),
            Refusal::of_input(vec![problem]),
            Refusal::new(Refusal::RATE_LIMITED, "later")
                .comparing(1, 2)
                .after(7),
        ] {
            let text = refusal.to_json();
            assert_eq!(serde_json::from_str::<Refusal>(&text).unwrap(), refusal);
        }
        for text in [
            r#"{"refused": {"check": "c"}}"#,
            r#"{"refused": {"check": "c", "message": "m", "plan": {}}}"#,
            r#"{"check": "c", "message": "m"}"#,
        ] {
            assert!(serde_json::from_str::<Refusal>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_rate_limit_says_when_to_come_back() {
        for (retry_after, said) in [
            (None, None),
            (Some(Duration::ZERO), Some(1)),
            (Some(Duration::from_secs(300)), Some(300)),
            (Some(Duration::from_millis(1_001)), Some(2)),
        ] {
            let reason = PortErrorReason::RateLimited { retry_after };
            let source_name = "circle";
            let refusal = Refusal::from(PortError {
                source_name: source_name.into(),
                reason,
            });
            assert_eq!(refusal.retry_after.map(NonZeroU32::get), said);
            let shown = format!("\"retry_after\":{}", said.unwrap_or_default());
            assert_eq!(refusal.to_json().contains(&shown), said.is_some());
        }
    }
}
