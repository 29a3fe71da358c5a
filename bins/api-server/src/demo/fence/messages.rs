//! Makes the fence's signed messages without a server.

use std::time::{SystemTime, UNIX_EPOCH};

use alloy_signer_local::PrivateKeySigner;
use delegation_fence::{Message, Name, Signed};
use dev_chain::DevAccount;

use super::{EmbeddedPlans, FenceStage};
use crate::demo::DemoError;
use crate::demo::buyer::BuyerError;
use crate::demo::transcript::step;

/// Signs a message with the key of an account.
pub(super) fn sign<M: Message>(
    number: u8,
    message: M,
    by: DevAccount,
) -> Result<Signed<M>, DemoError> {
    let key = PrivateKeySigner::from_bytes(&by.key).map_err(|_| BuyerError::Sign)?;
    EmbeddedPlans::sign(message, &key)
        .map_err(|refusal| step(number, "a message of the fence", refusal))
}

/// The project that the stage's fence serves.
pub(super) fn project(number: u8) -> Result<Name, DemoError> {
    Name::new(FenceStage::PROJECT).map_err(|refusal| step(number, "a project", refusal))
}

/// This machine's time, in seconds.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
