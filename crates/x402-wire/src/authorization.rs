//! EIP-3009 authorizations, their typed data, and the key that identifies one.

use std::fmt;

use alloy_primitives::{Address, B256, U256, b256, keccak256};
use serde::{Deserialize, Serialize};

use crate::{Network, strict};

/// The message that a payer signs: EIP-3009 `TransferWithAuthorization`, as JSON in
/// `payload.authorization` (x402 `exact` scheme on EVM).
///
/// # Example
/// ```
/// use alloy_primitives::U256;
/// use x402_wire::Authorization;
///
/// let authorization: Authorization = serde_json::from_str(
///     r#"{"from":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
///         "to":"0x90F79bf6EB2c4f870365E785982E1f101E93b906",
///         "value":"2000","validAfter":"0","validBefore":"1795219500",
///         "nonce":"0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"}"#,
/// )?;
/// assert_eq!(authorization.value, U256::from(2_000));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Authorization {
    /// The payer.
    #[serde(with = "strict::address")]
    pub from: Address,
    /// The payee.
    #[serde(with = "strict::address")]
    pub to: Address,
    /// The amount in the asset's smallest unit.
    #[serde(with = "strict::decimal")]
    pub value: U256,
    /// The authorization is valid in blocks whose time, in Unix seconds, is later than this.
    #[serde(with = "strict::decimal")]
    pub valid_after: U256,
    /// The authorization is valid in blocks whose time, in Unix seconds, is earlier than this.
    #[serde(with = "strict::decimal")]
    pub valid_before: U256,
    /// 32 random bytes. The token accepts each nonce of a payer once.
    #[serde(with = "strict::word")]
    pub nonce: B256,
}

impl Authorization {
    /// Computes the EIP-712 digest that the payer signs, under a token's domain separator.
    ///
    /// # Example
    /// ```
    /// use alloy_primitives::{Address, B256, U256};
    /// use x402_wire::{Asset, Authorization, Network};
    ///
    /// let [usdt0, ..] = Asset::chain_196();
    /// let authorization = Authorization {
    ///     from: Address::repeat_byte(1),
    ///     to: Address::repeat_byte(2),
    ///     value: U256::from(2_000),
    ///     valid_after: U256::ZERO,
    ///     valid_before: U256::from(1_795_219_500),
    ///     nonce: B256::repeat_byte(3),
    /// };
    /// let digest = authorization.digest(usdt0.domain_separator(Network::evm(196)));
    /// assert_ne!(digest, authorization.digest(usdt0.domain_separator(Network::evm(1))));
    /// ```
    #[must_use]
    pub fn digest(&self, domain_separator: B256) -> B256 {
        let mut message = [0u8; 66];
        let (prefix, hashes) = message.split_at_mut(2);
        let (domain, structure) = hashes.split_at_mut(32);
        prefix.copy_from_slice(&[0x19, 0x01]);
        domain.copy_from_slice(domain_separator.as_slice());
        structure.copy_from_slice(self.hash_struct().as_slice());
        keccak256(message)
    }

    /// Computes `hashStruct` of EIP-712.
    fn hash_struct(&self) -> B256 {
        let mut encoded = [0u8; 7 * 32];
        let words = [
            TYPE_HASH,
            self.from.into_word(),
            self.to.into_word(),
            self.value.into(),
            self.valid_after.into(),
            self.valid_before.into(),
            self.nonce,
        ];
        for (slot, word) in encoded.chunks_exact_mut(32).zip(words) {
            slot.copy_from_slice(word.as_slice());
        }
        keccak256(encoded)
    }
}

/// Keccak-256 of the EIP-712 type `TransferWithAuthorization` of EIP-3009.
const TYPE_HASH: B256 = b256!("0x7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267");

/// The identity of an authorization: a token accepts a payer's nonce once.
///
/// # Example
/// ```
/// use alloy_primitives::{Address, B256};
/// use x402_wire::{AuthorizationKey, Network};
///
/// let key = AuthorizationKey {
///     network: Network::evm(196),
///     asset: Address::repeat_byte(1),
///     payer: Address::repeat_byte(2),
///     nonce: B256::repeat_byte(3),
/// };
/// assert!(key.to_string().starts_with("eip155:196/0x0101"));
/// assert_ne!(key.digest(), AuthorizationKey { nonce: B256::ZERO, ..key }.digest());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuthorizationKey {
    /// The network of the token.
    pub network: Network,
    /// The token.
    pub asset: Address,
    /// The payer.
    pub payer: Address,
    /// The authorization's nonce.
    pub nonce: B256,
}

impl AuthorizationKey {
    /// Computes Keccak-256 over chain id (8 bytes, big-endian), asset, payer and nonce.
    #[must_use]
    pub fn digest(&self) -> B256 {
        let mut packed = [0u8; 8 + 20 + 20 + 32];
        let (network, rest) = packed.split_at_mut(8);
        let (asset, rest) = rest.split_at_mut(20);
        let (payer, nonce) = rest.split_at_mut(20);
        network.copy_from_slice(&self.network.chain_id().to_be_bytes());
        asset.copy_from_slice(self.asset.as_slice());
        payer.copy_from_slice(self.payer.as_slice());
        nonce.copy_from_slice(self.nonce.as_slice());
        keccak256(packed)
    }
}

impl fmt::Display for AuthorizationKey {
    /// Writes `eip155:196/<asset>/<payer>/<nonce>`, for logs and operators.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}/{}/{}",
            self.network, self.asset, self.payer, self.nonce
        )
    }
}

#[cfg(test)]
mod tests {
    use alloy_sol_types::{SolStruct, sol};
    use proptest::prelude::*;

    use super::*;

    sol! {
        /// The type as EIP-3009 defines it.
        struct TransferWithAuthorization {
            address from;
            address to;
            uint256 value;
            uint256 validAfter;
            uint256 validBefore;
            bytes32 nonce;
        }
    }

    proptest! {
        #[test]
        fn a_struct_is_hashed_as_its_type_defines(
            from: [u8; 20],
            to: [u8; 20],
            numbers: [[u8; 32]; 3],
            nonce: [u8; 32],
        ) {
            let [value, valid_after, valid_before] = numbers.map(U256::from_be_bytes);
            let (from, to, nonce) = (from.into(), to.into(), nonce.into());
            let ours = Authorization { from, to, value, valid_after, valid_before, nonce };
            let typed = TransferWithAuthorization {
                from,
                to,
                value,
                validAfter: valid_after,
                validBefore: valid_before,
                nonce,
            };
            prop_assert_eq!(TYPE_HASH, typed.eip712_type_hash());
            prop_assert_eq!(ours.hash_struct(), typed.eip712_hash_struct());
        }
    }

    #[test]
    fn every_part_of_a_key_changes_its_digest() {
        let key = AuthorizationKey {
            network: Network::evm(196),
            asset: Address::repeat_byte(1),
            payer: Address::repeat_byte(2),
            nonce: B256::repeat_byte(3),
        };
        let others = [
            AuthorizationKey {
                network: Network::evm(1),
                ..key
            },
            AuthorizationKey {
                asset: Address::repeat_byte(9),
                ..key
            },
            AuthorizationKey {
                payer: Address::repeat_byte(9),
                ..key
            },
            AuthorizationKey {
                nonce: B256::repeat_byte(9),
                ..key
            },
        ];
        for other in others {
            assert_ne!(other.digest(), key.digest());
        }
    }
}
