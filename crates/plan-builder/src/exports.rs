//! The steps of a plan in further forms, which wallets can import.

mod eip5792;
mod safe;
mod set;

use serde::{Deserialize, Serialize};

pub use self::set::ExportSet;
use self::{eip5792::SendCalls, safe::Batch};
use crate::signing::Evm;

/// The member `exports`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exports {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    eip5792: Option<SendCalls>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    safe_tx_builder: Option<Batch>,
}

impl Exports {
    /// Makes the chosen exports. `None` when none was chosen. `created_millis` is the time that the
    /// Safe batch states.
    pub(crate) fn of(evm: Evm<'_>, artifact_id: &str, created_millis: u64) -> Option<Self> {
        let ExportSet {
            eip5792,
            safe_tx_builder,
        } = evm.exports;
        (eip5792 || safe_tx_builder).then(|| Self {
            eip5792: eip5792.then(|| SendCalls::of(evm, artifact_id)),
            safe_tx_builder: safe_tx_builder.then(|| Batch::of(evm, created_millis)),
        })
    }

    /// The time that the Safe batch states, in milliseconds. Zero without a batch.
    pub(crate) fn created_millis(&self) -> u64 {
        self.safe_tx_builder
            .as_ref()
            .map_or(0, Batch::created_millis)
    }
}
