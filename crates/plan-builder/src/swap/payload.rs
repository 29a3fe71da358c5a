//! `payload` of a swap plan: the steps, and what the quote says about itself.

use std::borrow::Cow;

use calldata_checks::{Step, StepKind, fees::ReviewedChain, step, swap::SwapQuoted};
use serde::{Deserialize, Serialize};

use super::SwapRequest;
use crate::{
    ports::SwapQuote,
    wire::{Digits, Eip55, Exact, Label, StepRecord, Text, Time},
};

/// The member `payload`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SwapPayload {
    pub(super) chain_id: u64,
    pub(super) quote: QuoteRecord,
    pub(super) steps: Vec<StepRecord>,
}

/// The quote's statements about itself. The checks compare each member with the request and with
/// the calldata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuoteRecord {
    pub(super) approval_address: Eip55,
    call_chain_id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call_from: Option<Eip55>,
    call_to: Eip55,
    call_value: Digits,
    from_amount: Digits,
    from_chain_id: u64,
    from_token: Eip55,
    /// The quote's value of the input in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from_usd: Option<Exact>,
    integrator: Text,
    pub(super) read_at: Time,
    receiver: Eip55,
    sender: Eip55,
    /// The name of the aggregator, as a label.
    source: Label,
    to_amount: Digits,
    pub(super) to_amount_min: Digits,
    to_chain_id: u64,
    to_token: Eip55,
    /// The quote's value of the expected output in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_usd: Option<Exact>,
    /// The exchange in the aggregator's words, as a label.
    tool: Label,
}

impl SwapPayload {
    /// Puts the reset of the allowance and the approval for the reviewed router before the quote's
    /// unchanged transaction.
    pub(super) fn compose(request: &SwapRequest, chain: &ReviewedChain, quote: &SwapQuote) -> Self {
        let approval =
            |kind, amount| step::approval(kind, request.from_token, chain.router, amount);
        let steps = [
            approval(StepKind::ApproveReset, alloy_primitives::U256::ZERO),
            approval(StepKind::Approve, request.from_amount.0),
            Step {
                kind: StepKind::Call,
                to: quote.call_to,
                value: quote.call_value,
                data: quote.call_data.clone(),
            },
        ];
        Self {
            chain_id: request.chain_id,
            quote: quote.into(),
            steps: steps.iter().map(StepRecord::from).collect(),
        }
    }
}

impl SwapPayload {
    /// The calldata of the call, if the plan has one.
    pub(super) fn call_data(&self) -> Option<&[u8]> {
        self.steps.last().map(|step| step.data.0.as_ref())
    }
}

impl QuoteRecord {
    /// The quote in the form of the checks.
    pub(super) fn as_read(&self) -> SwapQuoted {
        SwapQuoted {
            integrator: self.integrator.clone().into_owned(),
            from_chain_id: self.from_chain_id,
            to_chain_id: self.to_chain_id,
            from_token: self.from_token.address(),
            to_token: self.to_token.address(),
            from_amount: self.from_amount.0,
            sender: self.sender.address(),
            receiver: self.receiver.address(),
            to_amount: self.to_amount.0,
            to_amount_min: self.to_amount_min.0,
            approval_address: self.approval_address.address(),
            call_to: self.call_to.address(),
            call_from: self.call_from.map(Eip55::address),
            call_chain_id: self.call_chain_id,
            call_value: self.call_value.0,
            from_usd: self.from_usd.map(|worth| worth.0),
            to_usd: self.to_usd.map(|worth| worth.0),
            read_at: self.read_at.0,
        }
    }
}

impl From<&SwapQuote> for QuoteRecord {
    fn from(quote: &SwapQuote) -> Self {
        Self {
            approval_address: Eip55::of(quote.approval_address),
            call_chain_id: quote.call_chain_id,
            call_from: quote.call_from.map(Eip55::of),
            call_to: Eip55::of(quote.call_to),
            call_value: Digits(quote.call_value),
            from_amount: Digits(quote.from_amount),
            from_chain_id: quote.from_chain_id,
            from_token: Eip55::of(quote.from_token),
            from_usd: quote.from_usd.map(Exact),
            integrator: Cow::Owned(quote.integrator.clone()),
            read_at: Time(quote.read_at),
            receiver: Eip55::of(quote.receiver),
            sender: Eip55::of(quote.sender),
            source: Label::of(&quote.source),
            to_amount: Digits(quote.to_amount),
            to_amount_min: Digits(quote.to_amount_min),
            to_chain_id: quote.to_chain_id,
            to_token: Eip55::of(quote.to_token),
            to_usd: quote.to_usd.map(Exact),
            tool: Label::of(&quote.tool),
        }
    }
}
