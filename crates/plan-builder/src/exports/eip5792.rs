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
            id: call_id(artifact_id),
            version: Cow::Borrowed("2.0.0"),
        }
    }
}

/// Returns the id of the calls: the random digits of the artifact's id behind `0x`, because wallets
/// refuse an id that is not hexadecimal.
fn call_id(artifact_id: &str) -> String {
    let (_, digits) = artifact_id.rsplit_once('-').unwrap_or(("", artifact_id));
    format!("0x{digits}")
}

fn call(step: &StepRecord) -> Call {
    Call {
        data: step.data.clone(),
        to: step.to,
        value: format!("{:#x}", step.value.0),
    }
}
