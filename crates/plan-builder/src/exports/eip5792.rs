//! `wallet_sendCalls` (EIP-5792), version 2.0.0.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    signing::Evm,
    wire::{Eip55, Hex, StepRecord},
};

/// The parameter of `wallet_sendCalls`. The wallet must execute all calls or none, so that no
/// approval remains without its call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SendCalls {
    atomic_required: bool,
    calls: Vec<Call>,
    chain_id: String,
    from: Eip55,
    id: String,
    version: Cow<'static, str>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    data: Hex,
    to: Eip55,
    value: String,
}

impl SendCalls {
    pub(super) fn of(evm: Evm<'_>, artifact_id: &str) -> Self {
        Self {
            atomic_required: true,
            calls: evm.steps.iter().map(call).collect(),
            chain_id: format!("{:#x}", evm.chain_id),
            from: Eip55::of(evm.account),
            id: artifact_id.to_owned(),
            version: Cow::Borrowed("2.0.0"),
        }
    }
}

fn call(step: &StepRecord) -> Call {
    Call {
        data: step.data.clone(),
        to: step.to,
        value: format!("{:#x}", step.value.0),
    }
}
