//! `fee_attribution` of a swap plan: who is paid what, as the fee leg of the calldata says, and under which configuration.

use std::borrow::Cow;

use alloy_primitives::U256;
use plan_checks::{
    Failure, FeePolicy, Violation,
    swap::{SwapFacts, checks},
};
use serde::{Deserialize, Serialize};

use crate::{
    envelope::Text,
    wire::{Digits, Eip55},
};

/// The fee leg is the first leg of the call: the aggregator's forwarder pays each recipient in the same transaction.
const MECHANISM: &str = "aggregator_fee_forwarder";

/// The member `fee_attribution`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeeAttribution {
    aggregate_cap_bps: u16,
    fee_model: Text,
    integrator: Text,
    mechanism: Text,
    recipients: Vec<RecipientRecord>,
    rounding: Text,
    /// In the input token's smallest unit, as the amounts of the recipients.
    total_amount: Digits,
    version: Text,
}

/// One recipient: its configured share, and its amount in the calldata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecipientRecord {
    address: Eip55,
    amount: Digits,
    bps: u16,
    role: Text,
}

impl FeeAttribution {
    /// Reads the amounts from the decoded fee leg. The checks have passed on it: what is refused here cannot be seen.
    pub(super) fn read(facts: &SwapFacts, policy: &FeePolicy) -> Result<Self, Failure> {
        let distributions = &facts.fee_leg.distributions;
        let mut total = U256::ZERO;
        let mut recipients = Vec::with_capacity(policy.recipients.len());
        for recipient in &policy.recipients {
            let amount = distributions
                .iter()
                .find(|part| part.recipient == recipient.address)
                .map(|part| part.amount)
                .ok_or_else(|| unread("a recipient is missing"))?;
            total = total
                .checked_add(amount)
                .ok_or_else(|| unread("the fees overflow"))?;
            recipients.push(RecipientRecord {
                address: Eip55::of(recipient.address),
                amount: Digits(amount),
                bps: recipient.bps.get(),
                role: Cow::Owned(recipient.role.clone()),
            });
        }
        Ok(Self {
            aggregate_cap_bps: policy.aggregate_cap.get(),
            fee_model: Cow::Borrowed(policy.fee_model.as_str()),
            integrator: Cow::Owned(policy.integrator.clone()),
            mechanism: Cow::Borrowed(MECHANISM),
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
