//! The call that makes a payment.

use alloy_primitives::{B256, Bytes};
use alloy_sol_types::SolCall;
use x402_wire::{Authorization, Payment, SignatureStanding};

use super::abi::Eip3009;
use super::signature::unwrap_6492;

/// Encodes `transferWithAuthorization` for the payment. The signature of the payer's own key is
/// passed as `(v, r, s)`, which every EIP-3009 token accepts. The signature of a contract wallet
/// may have any length and is passed as `(bytes)`: with `(v, r, s)`, a token may recover a key
/// without asking the wallet. `None` when the signature is impossible.
pub(crate) fn calldata(payment: &Payment) -> Option<Bytes> {
    let Authorization {
        from,
        to,
        value,
        valid_after,
        valid_before,
        nonce,
    } = *payment.authorization();
    let signature = payment.wallet_signature()?;
    if payment.check_signature() != Ok(SignatureStanding::Recovered) {
        let call = Eip3009::transferWithAuthorization_1Call {
            from,
            to,
            value,
            validAfter: valid_after,
            validBefore: valid_before,
            nonce,
            signature: unwrap_6492(&signature)?,
        };
        return Some(call.abi_encode().into());
    }
    let [rs @ .., v] = <&[u8; 65]>::try_from(&signature[..]).ok()?;
    let (r, s) = rs.split_at(32);
    let call = Eip3009::transferWithAuthorization_0Call {
        from,
        to,
        value,
        validAfter: valid_after,
        validBefore: valid_before,
        nonce,
        // The token accepts only 27 and 28.
        v: if *v < 27 { v.saturating_add(27) } else { *v },
        r: B256::from_slice(r),
        s: B256::from_slice(s),
    };
    Some(call.abi_encode().into())
}
