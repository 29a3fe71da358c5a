//! Signatures that only the chain can judge: those of contract wallets (EIP-1271), with or without
//! the wrapping of ERC-6492.

use alloy_primitives::{B256, Bytes, FixedBytes, b256};
use alloy_sol_types::SolValue;

use super::abi::Erc6492;

/// The value that `isValidSignature` returns for a valid signature.
pub(crate) const EIP1271_MAGIC: FixedBytes<4> = FixedBytes([0x16, 0x26, 0xba, 0x7e]);

/// The end of a signature that also contains the deployment of its wallet.
const ERC6492_SUFFIX: B256 =
    b256!("0x6492649264926492649264926492649264926492649264926492649264926492");

/// Returns the signature for the wallet itself. If it is wrapped, that is the inner one. The
/// deployment in the wrapping is never executed: an existing wallet needs none, and no factory is
/// trusted. `None` when the wrapping cannot be read.
pub(crate) fn unwrap_6492(signature: &Bytes) -> Option<Bytes> {
    let Some(wrapped) = signature.strip_suffix(ERC6492_SUFFIX.as_slice()) else {
        return Some(signature.clone());
    };
    Erc6492::abi_decode_params_validate(wrapped)
        .ok()
        .map(|parts| parts.signature)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Address;

    use super::*;

    #[test]
    fn the_inner_signature_is_found() {
        let inner = Bytes::from(vec![5; 97]);
        let parts = Erc6492 {
            factory: Address::repeat_byte(1),
            factoryCalldata: vec![2, 3].into(),
            signature: inner.clone(),
        };
        let wrapped = [parts.abi_encode_params(), ERC6492_SUFFIX.to_vec()].concat();
        assert_eq!(unwrap_6492(&wrapped.into()), Some(inner));
    }

    #[test]
    fn a_signature_without_wrapping_stays_as_it_is() {
        let plain = Bytes::from(vec![5; 130]);
        assert_eq!(unwrap_6492(&plain), Some(plain));
    }

    #[test]
    fn a_damaged_wrapping_is_refused() {
        let damaged = [vec![0xff; 64], ERC6492_SUFFIX.to_vec()].concat();
        assert_eq!(unwrap_6492(&damaged.into()), None);
    }
}
