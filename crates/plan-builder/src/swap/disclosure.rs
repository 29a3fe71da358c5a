//! `disclosure` of a swap plan: facts that its reader should know although the checks passed. The
//! request, the payload and the configuration determine every member, so that a verifier can
//! compute it again.

use std::borrow::Cow;

use alloy_primitives::U256;
use calldata_checks::{BasisPoints, FeePolicy, swap::SwapFacts};
use serde::{Deserialize, Serialize};

use crate::{
    Judgement, JudgementResult,
    wire::{Digits, Eip55, Text},
};

/// The basis of the minimum: the aggregator's own quote, and not a market price.
const QUOTE_RELATIVE: &str = "quote_relative";
const SIMULATED: &str = "within_minimum_in_simulation";
const NOT_EXAMINED: &str = "not_examined";

/// The member `disclosure`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Disclosure {
    legs: Vec<LegRecord>,
    minimum_output: MinimumOutput,
    /// The same facts in sentences.
    notes: Vec<Text>,
    /// Whether a token takes a fee when it is transferred: `not_examined`, or
    /// `within_minimum_in_simulation` (after whatever the tokens take, the account received at
    /// least the minimum).
    transfer_fees: Text,
}

/// An exchange leg, and how far it is reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LegRecord {
    contract: Eip55,
    /// The exchanges that the configuration names for it, by the aggregator's keys.
    exchanges: Vec<Text>,
    function: Text,
    runs_arbitrary_code: bool,
    spender: Eip55,
}

/// The least output, and what it refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MinimumOutput {
    amount: Digits,
    basis: Text,
    /// How far the minimum is below the output that the quote expects, rounded up.
    below_quote_bps: u16,
    /// `minAmountOut` of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caller_minimum: Option<Digits>,
    /// How far the expected output is below the input, by the quote's own values and with fees.
    /// Absent when the quote gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quote_price_impact_bps: Option<u16>,
}

impl Disclosure {
    /// Makes the disclosure from checked facts, before any simulation.
    pub(super) fn of(facts: &SwapFacts, policy: &FeePolicy) -> Self {
        let minimum = facts.min_amount_out();
        let expected = facts.quoted().to_amount;
        let below = expected.checked_sub(minimum).unwrap_or_default();
        Self {
            legs: facts
                .legs()
                .iter()
                .filter_map(|leg| {
                    let review = leg.review.as_ref()?;
                    Some(LegRecord {
                        contract: Eip55::of(leg.target),
                        exchanges: review.tools.iter().cloned().map(Cow::Owned).collect(),
                        function: Cow::Owned(leg.selector?.to_string()),
                        runs_arbitrary_code: review.runs_arbitrary_code,
                        spender: Eip55::of(leg.spender),
                    })
                })
                .collect(),
            minimum_output: MinimumOutput {
                amount: Digits(minimum),
                basis: Cow::Borrowed(QUOTE_RELATIVE),
                below_quote_bps: BasisPoints::at_least_of(below, expected).get(),
                caller_minimum: facts.asked().min_amount_out.map(Digits),
                quote_price_impact_bps: facts.price_impact().map(BasisPoints::get),
            },
            notes: notes(facts, policy),
            transfer_fees: Cow::Borrowed(NOT_EXAMINED),
        }
        .examined(false)
    }

    /// Returns the disclosure with what a simulation showed about the tokens: the account spent no
    /// more and received no less than the plan says.
    pub(crate) fn examined(mut self, as_planned: bool) -> Self {
        self.notes.retain(|note| note != NOT_EXAMINED_NOTE);
        self.transfer_fees = Cow::Borrowed(if as_planned { SIMULATED } else { NOT_EXAMINED });
        if !as_planned {
            self.notes.push(Cow::Borrowed(NOT_EXAMINED_NOTE));
        }
        self
    }

    /// Returns the disclosure with a note when the service could not judge what the swap is worth.
    pub(crate) fn judged(mut self, judgements: &[Judgement]) -> Self {
        if judgements
            .iter()
            .any(|judged| judged.result() == JudgementResult::Unknown)
        {
            self.notes.push(Cow::Borrowed(WORTH_UNKNOWN_NOTE));
        }
        self
    }
}

const WORTH_UNKNOWN_NOTE: &str = "What the swap is worth could not be judged (worth_unknown; judgements says why): compare the \
    expected output with a source of your own, or set minAmountOut.";
const NOT_EXAMINED_NOTE: &str = "Nobody examined whether one of the tokens takes a fee on its own transfers. Such an input \
    token lets the call revert; such an output token can deliver less than the minimum, because the router compares the \
    minimum before it transfers the output.";

fn notes(facts: &SwapFacts, policy: &FeePolicy) -> Vec<Text> {
    let mut notes: Vec<Text> = vec![Cow::Borrowed(
        "The minimum output is relative to the aggregator's own quote (quote_relative): it bounds what the execution may \
         lose against that quote, and does not say that the quote is a good price.",
    )];
    for (at, leg) in facts.legs().iter().enumerate() {
        if leg
            .review
            .as_ref()
            .is_some_and(|review| review.runs_arbitrary_code)
        {
            notes.push(Cow::Owned(format!(
                "Exchange leg {} runs code of the quote's choosing inside the transaction: the account is protected by the \
                 exact approval and the minimum output only.",
                at.saturating_add(1)
            )));
        }
    }
    let amount = |recipient| {
        let part = facts
            .distributions()
            .iter()
            .find(|part| part.recipient == recipient);
        part.map_or(U256::ZERO, |part| part.amount)
    };
    for recipient in &policy.recipients {
        if amount(recipient.address).is_zero() {
            notes.push(Cow::Owned(format!(
                "The recipient {:?} is paid nothing of this input: its configured share is {} basis points.",
                recipient.role,
                recipient.bps.get()
            )));
        }
    }
    if facts.left_in_router().is_some_and(|left| !left.is_zero()) {
        notes.push(Cow::Borrowed(
            "The parts of the shared fee are floors of one total: what they leave of it stays in the aggregator's router.",
        ));
    }
    notes
}
