//! Finds the parity of a signature. Services that sign hashes return only `r` and `s`, and the
//! right parity is the one with which the signature recovers the account.
#![cfg(any(feature = "aws-kms", feature = "gcp-kms"))]

use alloy_primitives::{Address, B256, Signature};
use k256::ecdsa;
use tx_sender::SignError;

use crate::fault::Fault;

/// Completes a signature of the account, with the lower `s`. When neither parity recovers the
/// account, asks the service (`now`) for the key's present address. If that is another account, the
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
