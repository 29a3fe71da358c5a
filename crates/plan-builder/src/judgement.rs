//! What a service judged beyond the checks of a plan, by quotes and prices of that moment.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::wire::Text;

/// The longest `observed`, in characters.
const LONGEST: usize = 600;
const OUTPUT_PRICE: &str = "agg_output_price_bound";
const OUTPUT_PRICE_ESTABLISHES: &str = "at the prices of independent sources, the quoted output is worth no less than the limits demand; the quote's own statements do not contradict it";

/// One element of `judgements`: what the service that made the plan judged by the world outside of
/// it. A judgement that breaks a limit refuses the plan, so that none states it.
///
/// No verifier can repeat a judgement. The digest covers it, and its name and meaning are fixed;
/// its result is the plan's own statement.
///
/// # Example
/// ```
/// use plan_builder::{Judgement, JudgementResult};
///
/// let judged = Judgement::output_price(false, "no source has a price that counts");
/// assert_eq!((judged.name(), judged.result()), ("agg_output_price_bound", JudgementResult::Unknown));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    establishes: Text,
    name: Text,
    observed: Text,
    result: JudgementResult,
}

/// The result of a [`Judgement`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgementResult {
    /// The limits hold.
    Holds,
    /// There was nothing to judge by. `observed` says why.
    Unknown,
}

impl Judgement {
    /// Makes the judgement of what a swap's output is worth, from its result (`false` is unknown)
    /// and the reason for it. Of the reason, the first 600 printable characters are kept.
    #[must_use]
    pub fn output_price(holds: bool, observed: &str) -> Self {
        Self {
            establishes: Cow::Borrowed(OUTPUT_PRICE_ESTABLISHES),
            name: Cow::Borrowed(OUTPUT_PRICE),
            observed: Cow::Owned(printable(observed)),
            result: match holds {
                true => JudgementResult::Holds,
                false => JudgementResult::Unknown,
            },
        }
    }

    /// The judgement's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it establishes when it holds, for whoever believes the service.
    #[must_use]
    pub fn establishes(&self) -> &str {
        &self.establishes
    }

    /// The values that it compared, or the reason why it had none.
    #[must_use]
    pub fn observed(&self) -> &str {
        &self.observed
    }

    /// The result.
    #[must_use]
    pub const fn result(&self) -> JudgementResult {
        self.result
    }

    /// Returns the same statement as this crate writes it.
    pub(crate) fn rewritten(&self) -> Self {
        Self::output_price(self.result == JudgementResult::Holds, &self.observed)
    }
}

fn printable(text: &str) -> String {
    let plain = text.chars().filter(|c| exact::is_plain(*c));
    plain.take(LONGEST).collect()
}
