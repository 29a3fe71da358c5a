//! The call that makes a payment.

use alloy_primitives::{B256, Bytes};
use alloy_sol_types::SolCall;
use x402_wire::{Authorization, Payment, SignatureStanding};

use super::abi::Eip3009;
use super::signature::unwrap_6492;

/// `transferWithAuthorization` for the payment: as `(v, r, s)` when the signature is the payer's
/// own key's, which every EIP-3009 token takes, and as `(bytes)` for a contract wallet's, of any
/// length: a token may recover `(v, r, s)` itself without ever asking the wallet. `None` when
/// nobody can have made the signature.
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
        // The token knows 27 and 28 only.
        v: if *v < 27 { v.saturating_add(27) } else { *v },
        r: B256::from_slice(r),
        s: B256::from_slice(s),
    };
    Some(call.abi_encode().into())
}
