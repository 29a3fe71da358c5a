//! Makes the fence's signed messages without a server.

use std::time::{SystemTime, UNIX_EPOCH};

use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use delegation_fence::{Domain, Message, Name, Signature, Signed, TypedData};
use dev_chain::{DevAccount, base};

use super::FenceStage;
use crate::demo::DemoError;
use crate::demo::buyer::BuyerError;
use crate::demo::transcript::step;

/// Signs a message with the key of an account.
pub(super) fn sign<M: Message>(
    number: u8,
    message: M,
    by: DevAccount,
) -> Result<Signed<M>, DemoError> {
    let domain = Domain::new(base::CHAIN_ID, FenceStage::SALT);
    let refused = |refusal| step(number, "a message of the fence", refusal);
    let typed_data = TypedData::new(domain, message).map_err(refused)?;
    let key = PrivateKeySigner::from_bytes(&by.key).map_err(|_| BuyerError::Sign)?;
    let signature = key
        .sign_hash_sync(&typed_data.digest())
        .map_err(|_| BuyerError::Sign)?;
    let signature = Signature::from_bytes(&signature.as_bytes()).map_err(refused)?;
    Ok(Signed::new(typed_data, signature))
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
