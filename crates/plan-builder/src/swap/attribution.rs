//! `fee_attribution` of a swap plan: the recipients and the amounts in the call's fee leg, and the
//! configuration that determines them.

use std::borrow::Cow;

use alloy_primitives::U256;
use calldata_checks::{
    BasisPoints, Failure, FeePolicy, Violation,
    swap::{SwapFacts, checks},
};
use serde::{Deserialize, Serialize};

use crate::wire::{Digits, Eip55, Text};

/// How the fee is paid: the aggregator's forwarder, which is the first leg of the call, pays each
/// recipient in the same transaction.
const MECHANISM: &str = "aggregator_fee_forwarder";
/// States that no recipient gets a fee of this input, so the call has no fee leg.
const NO_FEE_DUE: &str = "no_fee_due";

/// The member `fee_attribution`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeeAttribution {
    aggregate_cap_bps: u16,
    fee_model: Text,
    integrator: Text,
    /// The part of the fee that is taken from the input and paid to no recipient.
    left_in_router: Digits,
    mechanism: Text,
    recipients: Vec<RecipientRecord>,
    rounding: Text,
    /// In the input token's smallest unit, like the amounts of the recipients.
    total_amount: Digits,
    version: Text,
}

/// One recipient: its amount in the calldata, the same amount in basis points of the input (rounded
/// up), and its configured share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecipientRecord {
    address: Eip55,
    amount: Digits,
    bps: u16,
    configured_bps: u16,
    role: Text,
}

impl FeeAttribution {
    /// Reads the amounts from the decoded fee leg. The checks must have passed on it.
    pub(super) fn read(facts: &SwapFacts, policy: &FeePolicy) -> Result<Self, Failure> {
        let distributions = facts.distributions();
        let gross = facts.asked().from_amount;
        let mut total = U256::ZERO;
        let mut recipients = Vec::with_capacity(policy.recipients.len());
        for recipient in &policy.recipients {
            let amount = distributions
                .iter()
                .find(|part| part.recipient == recipient.address)
                // A recipient that gets no fee of this input may be left out.
                .map_or(U256::ZERO, |part| part.amount);
            total = total
                .checked_add(amount)
                .ok_or_else(|| unread("the fees overflow"))?;
            recipients.push(RecipientRecord {
                address: Eip55::of(recipient.address),
                amount: Digits(amount),
                bps: BasisPoints::at_least_of(amount, gross).get(),
                configured_bps: recipient.bps.get(),
                role: Cow::Owned(recipient.role.clone()),
            });
        }
        Ok(Self {
            aggregate_cap_bps: policy.aggregate_cap.get(),
            fee_model: Cow::Borrowed(policy.fee_model.as_str()),
            integrator: Cow::Owned(policy.integrator.clone()),
            left_in_router: Digits(
                facts
                    .left_in_router()
                    .ok_or_else(|| unread("more leaves the input than it has"))?,
            ),
            mechanism: Cow::Borrowed(if facts.fee_leg().is_some() {
                MECHANISM
            } else {
                NO_FEE_DUE
            }),
            recipients,
            rounding: Cow::Borrowed(policy.rounding.as_str()),
            total_amount: Digits(total),
            version: Cow::Owned(policy.version.clone()),
        })
    }
}

fn unread(observed: &'static str) -> Failure {
    Failure::new(
        checks::FEE_SET,
        Violation::new("the fee leg cannot be read", "a fee leg", observed),
    )
}
