//! The stored form of an admitted submission. A send that has begun is brought to its end whatever
//! changes meanwhile, so nothing of it is derived again.

use calldata_checks::Step;
use plan_builder::wire::{Digits, Eip55, StepRecord, Time, Word};
use serde::{Deserialize, Serialize};

use super::{Admitted, Landing};
use crate::{Refusal, Rule, json};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    account: Eip55,
    amount: Digits,
    #[serde(default)]
    as_one: bool,
    chain_id: u64,
    deadline: Time,
    grant_id: Word,
    landing: StoredLanding,
    order_digest: Word,
    payload_digest: Word,
    spender: Eip55,
    steps: [StepRecord; 3],
    token: Eip55,
    valid_until: Time,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredLanding {
    account: Eip55,
    at_least: Digits,
    token: Eip55,
}

impl Admitted {
    /// As JSON, to be stored before the first step.
    #[must_use]
    pub fn to_json(&self) -> String {
        let [reset, approve, call] = &self.steps;
        let stored = Stored {
            account: Eip55::of(self.account),
            amount: Digits(self.amount),
            as_one: self.as_one,
            chain_id: self.chain_id,
            deadline: Time(self.deadline),
            grant_id: Word(self.grant_id),
            landing: StoredLanding {
                account: Eip55::of(self.landing.account),
                at_least: Digits(self.landing.at_least),
                token: Eip55::of(self.landing.token),
            },
            order_digest: Word(self.order_digest),
            payload_digest: Word(self.payload_digest),
            spender: Eip55::of(self.spender),
            steps: [reset.into(), approve.into(), call.into()],
            token: Eip55::of(self.token),
            valid_until: Time(self.valid_until),
        };
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// Reads the stored form. It confirms nothing: the confirmations are made before it is stored,
    /// and again before each step.
    ///
    /// # Errors
    /// `log_malformed`
    pub fn restore(text: &str) -> Result<Self, Refusal> {
        let rule = Rule::LogMalformed;
        let stored: Stored = json::read(rule, "an admitted plan", json::parse(rule, text)?)?;
        Ok(Self {
            account: stored.account.address(),
            grant_id: stored.grant_id.0,
            order_digest: stored.order_digest.0,
            payload_digest: stored.payload_digest.0,
            chain_id: stored.chain_id,
            steps: stored.steps.each_ref().map(Step::from),
            as_one: stored.as_one,
            token: stored.token.address(),
            spender: stored.spender.address(),
            amount: stored.amount.0,
            valid_until: stored.valid_until.0,
            deadline: stored.deadline.0,
            landing: Landing {
                token: stored.landing.token.address(),
                account: stored.landing.account.address(),
                at_least: stored.landing.at_least.0,
            },
        })
    }
}
