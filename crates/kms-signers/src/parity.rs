//! Services that sign hashes tell `r` and `s` only. With which parity the signature is the
//! account's has to be found out.
#![cfg(any(feature = "aws-kms", feature = "gcp-kms"))]

use alloy_primitives::{Address, B256, Signature};
use k256::ecdsa;
use tx_sender::SignError;

use crate::fault::Fault;

/// The signature as the account's, with the lower `s`. Where it is not the account's, the service
/// is asked (`now`) whose key it has under the name at present: another account's means that the
/// key was exchanged.
pub(crate) async fn of_account(
    signature: ecdsa::Signature,
    hash: &B256,
    account: Address,
    now: impl Future<Output = Result<Address, Fault>>,
) -> Result<Signature, SignError> {
    let signature = signature.normalize_s().unwrap_or(signature);
    let candidates = [false, true].map(|odd| Signature::from_signature_and_parity(signature, odd));
    let own = candidates.into_iter().find(|candidate| {
        let by = candidate.recover_address_from_prehash(hash);
        by.is_ok_and(|by| by == account)
    });
    if let Some(own) = own {
        return Ok(own);
    }
    match now.await? {
        observed if observed != account => Err(SignError::OtherAccount {
            expected: account,
            observed,
        }),
        _ => Err(SignError::Malformed),
    }
}
